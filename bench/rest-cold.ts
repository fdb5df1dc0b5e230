import { freePort } from '../services/process/ports.js'
import { Cache } from './cache.js'
import { type ChainSize, frozenTables, type LargeChain, largeChain, shuffled, Supply } from './large-chain.js'
import { type LoadTool, loadTool } from './load-tool.js'
import {
  becomeIdle,
  chainHeight,
  engineOf,
  explorerOf,
  settled,
  withPeakSize,
  withProcesses,
} from './processes.js'
import { comparison, rateOf, repeated } from './repetitions.js'
import type { Figure } from './report.js'

export interface RestColdOptions extends ChainSize {
  readonly cacheDir: string
  readonly repetitions: number
  /** Seconds of each load of transactions. */
  readonly seconds: number
}

const CONNECTIONS = 256
/** Seconds of each load of addresses, for which those of the chain suffice up to 9,000 requests per second. */
const ADDRESS_SECONDS = 1
/** A load of one connection takes no more of the keys than this, as a share of those of all connections. */
const SINGLE_SHARE = 1 / 6

/**
 * Measures reads of random transactions and addresses of a large chain, each requested once, so that no cache has the answer. The
 * baseline is the same chain in the frozen tables, with the queries that an answer takes, one after the other on one connection.
 * The two alternate, so that other load on the machine affects both.
 */
export function restCold(options: RestColdOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const cache = new Cache(options.cacheDir, process.cwd())
    const chain = await largeChain(start, cache, options)
    const env = { DATA_DIR: chain.index, NODE_RPC_URL: `http://127.0.0.1:${String(await freePort())}` }
    await engineOf(start, env)
    const { url, explorer } = await explorerOf(start, env)
    await settled(async () => (await chainHeight(url)) === chain.blocks, 120_000, [explorer])
    // It writes its transaction store.
    await becomeIdle([explorer])
    const frozen = await frozenTables(start, chain)
    try {
      const load = loadTool(folder)
      const keys = keysOf(chain, options.repetitions)
      const measure = async (): Promise<Figure[]> => {
        const { txids, addresses } = keys
        const tx = await read(load, url, 'tx', txids.take(keys.txsOfLoad), CONNECTIONS, options.seconds)
        const frozenTx = await rateOf(() => frozen.tx(txids.next()), options.seconds)
        const single = await read(load, url, 'tx', txids.take(keys.txsOfSingle), 1, options.seconds)
        const lookup = await rateOf(() => frozen.body(txids.next()), options.seconds)
        const names = addresses.take(keys.addressesOfLoad).map(({ address }) => address)
        const address = await read(load, url, 'address', names, CONNECTIONS, ADDRESS_SECONDS)
        const script = (): Promise<unknown> => frozen.script(addresses.next().scriptHash)
        const frozenAddress = await rateOf(script, ADDRESS_SECONDS)
        return [
          comparison('tx_256_connections', 'requests/s', tx.requestsPerSecond, frozenTx),
          { name: 'tx_256_connections_p99', value: tx.p99Ms, unit: 'ms' },
          comparison('address_256_connections', 'requests/s', address.requestsPerSecond, frozenAddress),
          { name: 'address_256_connections_p99', value: address.p99Ms, unit: 'ms' },
          {
            ...comparison('tx_1_connection', 'ms', 1000 / single.requestsPerSecond, 1000 / lookup),
            maxRatio: 3,
          },
        ]
      }
      return await withPeakSize(explorer, () => repeated(options.repetitions, measure))
    } finally {
      frozen.close()
    }
  })
}

/** Divides the chain's keys among the loads, with a share for the baseline. */
function keysOf({ lists }: LargeChain, repetitions: number) {
  const share = (count: number): number => Math.floor(count / (repetitions + 1))
  const txsOfLoad = share(lists.txids.length)
  return {
    txids: new Supply(shuffled(lists.txids)),
    addresses: new Supply(shuffled(lists.addresses)),
    txsOfLoad: Math.floor(txsOfLoad * (1 - SINGLE_SHARE)),
    txsOfSingle: Math.floor(txsOfLoad * SINGLE_SHARE),
    addressesOfLoad: share(lists.addresses.length),
  }
}

async function read(
  load: LoadTool,
  url: string,
  kind: 'tx' | 'address',
  keys: readonly string[],
  connections: number,
  seconds: number,
) {
  const paths = keys.map((key) => `/api/v1/${kind}/${key}`)
  return load({ url, paths, once: true, connections, seconds: Math.ceil(seconds) })
}
