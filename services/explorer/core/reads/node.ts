import { percentOf } from '../../../../pipelines/chain/decimal.js'
import { declareRead } from './read.js'
import { NodeHealth } from './shapes.js'

/** The health of the node itself: available while the database is unreachable; 503 while the node is. */
export const nodeHealth = declareRead({
  name: 'nodeHealth',
  about: 'The state of the node; requires a token if one is configured.',
  path: '/node/health',
  fresh: 'outside',
  needsToken: true,
  args: {},
  answer: NodeHealth,
  async resolve({ node }) {
    const { blockchainSize, dataDir, mempool, network, uptime } = await node.health()
    const { size, bytes, usage, maxmempool, mempoolminfee, unbroadcastcount } = mempool
    const { connections, connections_in, connections_out } = network
    return {
      disk: {
        blockchain_size: blockchainSize,
        datadir_free_bytes: dataDir?.freeBytes ?? null,
        datadir_total_bytes: dataDir?.totalBytes ?? null,
        datadir_free_pct:
          dataDir === undefined
            ? null
            : Number(percentOf(BigInt(dataDir.freeBytes), BigInt(dataDir.totalBytes), 2)),
      },
      mempool: { size, bytes, usage, maxmempool, mempoolminfee, unbroadcastcount },
      peers: { connections, connections_in, connections_out },
      uptime,
    }
  },
})
