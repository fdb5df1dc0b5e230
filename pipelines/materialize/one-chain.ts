import { hexOf } from '../chain/hash.js'
import { findNetwork, NETWORKS } from '../chain/networks.js'
import { WrongChainError } from '../errors.js'
import { decodeChainEvent } from '../events/chain-event.js'
import type { EventLog } from '../log/port.js'
import type { Database } from '../tables/clickhouse.js'
import { isCreated } from '../tables/schema-version.js'

/** A chain that a log or tables contain. */
export interface ContainedChain {
  /** Name of the log or the tables in messages. */
  readonly where: string
  /** Name of the network; of an earlier version, or of a later one, which this version does not know. */
  readonly name: string
  /** Hash of block 0; empty if that is not known. */
  readonly genesisHash: string
}

/** Returns the chain of a log's first epoch; undefined for an empty log, and for one whose first event is damaged. */
export async function chainOfLog(log: Pick<EventLog, 'first' | 'read'>): Promise<ContainedChain | undefined> {
  const [record] = await log.read('chain', await log.first('chain'), 1)
  if (record === undefined) return undefined
  try {
    const { event } = decodeChainEvent(record.value)
    if (event.case !== 'epochStarted') return undefined
    const { chain: name, genesisHash } = event.value
    return { where: 'the log', name, genesisHash: hexOf(genesisHash) }
  } catch {
    return undefined
  }
}

/** Returns the chain of the tables of a database; undefined before the first head. */
export async function chainOfTables(db: Database): Promise<ContainedChain | undefined> {
  // Of the columns only these: the tables may be those of another version.
  if (!(await isCreated(db))) return undefined
  const [head] = await db.query<{ chain: string }>('SELECT chain FROM heads ORDER BY position DESC LIMIT 1')
  if (head === undefined) return undefined
  const sql = 'SELECT lower(hex(hash)) AS hash FROM blocks WHERE height = 0 LIMIT 1'
  const [block] = await db.query<{ hash: string }>(sql)
  return { where: `database ${db.name}`, name: head.chain, genesisHash: block?.hash ?? '' }
}

/**
 * Checks that a contained chain is known, and is the one that `CHAIN` names.
 * @param named the name in `CHAIN`; undefined for any chain.
 * @throws WrongChainError
 */
export function assertNamed(chain: ContainedChain | undefined, named: string | undefined): void {
  if (chain === undefined) return
  const { where, name } = chain
  const network = findNetwork(name)
  if (network === undefined)
    throw new WrongChainError(
      `${where} contains chain ${name}, which this version does not know (known: ${[...NETWORKS.keys()].join(', ')}): run the version that wrote it, or use another DATA_DIR, or LOG_URL and CLICKHOUSE_DATABASE`,
    )
  if (named === undefined || findNetwork(named) === network) return
  throw new WrongChainError(
    `${where} contains ${spelled(chain)}, CHAIN is ${named}: correct CHAIN, or use another DATA_DIR, or LOG_URL and CLICKHOUSE_DATABASE`,
  )
}

/** Checks that two contained chains are the same one, as far as both are known. @throws WrongChainError */
export function assertSame(one: ContainedChain | undefined, other: ContainedChain | undefined): void {
  if (one === undefined || other === undefined) return
  const isSame = findNetwork(one.name) === findNetwork(other.name)
  const hashes = new Set([one.genesisHash, other.genesisHash].filter((hash) => hash !== ''))
  if (isSame && hashes.size <= 1) return
  throw new WrongChainError(
    `${one.where} contains ${spelled(one)}, ${other.where} ${spelled(other)}: all must be of one chain: ` +
      'correct NODE_RPC_URL, LOG_URL, CLICKHOUSE_DATABASE or DATA_DIR; another chain needs a log and a database of its own',
  )
}

/**
 * Checks that log and tables contain the same chain, as far as they contain any, and that it is the one that `CHAIN` names.
 * @throws WrongChainError
 */
export async function assertOneChain(
  { db, log }: { readonly db: Database; readonly log: EventLog },
  named: string | undefined,
): Promise<void> {
  const [ofLog, ofTables] = [await chainOfLog(log), await chainOfTables(db)]
  assertNamed(ofLog, named)
  assertNamed(ofTables, named)
  assertSame(ofLog, ofTables)
}

function spelled({ name, genesisHash }: ContainedChain): string {
  const block = genesisHash === '' ? '' : ` (block 0 ${genesisHash})`
  return `${findNetwork(name)?.name ?? name}${block}`
}
