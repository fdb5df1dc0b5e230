import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { assertSame, chainOfTables } from '../../pipelines/materialize/one-chain.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { identityOf } from '../../pipelines/node/recognition.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import type { Config } from '../config.js'
import { presentNodeUrl } from '../process/discovery.js'
import { createLogger } from '../process/logger.js'

/** The number of blocks and of scripts that are compared one by one. */
const SAMPLE = 200

/** Checks of an audit that need an index that follows the node. */
const { tip: _tip, mempool: _mempool, ...AT_THE_TIP } = CHECKS
/** Checks for which the node may be ahead of the index: it reports unspent outputs only as of its tip. */
const { supply: _supply, addresses: _addresses, ...BELOW_THE_TIP } = AT_THE_TIP

interface Comparison {
  readonly differences: number
  readonly message: string
}

/**
 * Compares a restored index with the node, if one is configured, responds, and has the index's newest block.
 * @returns the number of differences, and what an operator learns.
 * @throws WrongChainError if the node is of another chain; DatabaseUnavailable.
 */
export async function compareWithNode({
  config,
  db,
  log,
  head,
}: {
  readonly config: Config
  readonly db: Database
  readonly log: EventLog
  readonly head: { readonly height: number; readonly hash: string }
}): Promise<Comparison> {
  const url = await presentNodeUrl(config)
  if (url === undefined) return notCompared('no node is configured')
  const node = new NodeClient(url, { maxAttempts: 3, timeoutMs: 120_000 })
  try {
    const info = await node.chainInfo().catch((error: unknown) => error as Error)
    if (info instanceof Error) return notCompared(info.message)
    const { network, genesisHash } = await identityOf(node, info, config.chain)
    assertSame(await chainOfTables(db), {
      where: `the node at ${node.address}`,
      name: network.name,
      genesisHash,
    })
    if ((await node.hashAt(head.height)) !== head.hash)
      return notCompared(
        `the chain of the node, which is at block ${String(info.blocks)}, does not have block ${String(head.height)} of the snapshot`,
      )
    const checks = info.bestblockhash === head.hash ? AT_THE_TIP : BELOW_THE_TIP
    const { signal } = new AbortController()
    const logger = createLogger('snapshot', 'warn')
    const seed = String(Date.now())
    const result = await audit(
      { db, log, node, logger, signal, patienceMs: 0 },
      { sample: SAMPLE, seed, checks },
    )
    return { differences: result.differences, message: described(result) }
  } finally {
    node.close()
  }
}

function described({ differences, checks, seed }: Awaited<ReturnType<typeof audit>>): string {
  const names = checks.map(({ name }) => name).join(', ')
  if (differences === 0) return `compared with the node: no difference (${names}; seed ${seed})`
  const found = checks.flatMap((check) =>
    check.differences.map(
      ({ what, indexed, expected }) => `${check.name}: ${what}: indexed ${indexed}, expected ${expected}`,
    ),
  )
  return [`compared with the node: ${String(differences)} differences`, ...found.slice(0, 20)].join('\n')
}

function notCompared(why: string): Comparison {
  return {
    differences: 0,
    message: `not compared with a node: ${why}; when npm start has caught up, npm run audit compares them`,
  }
}
