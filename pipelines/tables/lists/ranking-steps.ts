import { addressOf, isDilithiumScript } from '../../chain/address.js'
import { type BlockId, blockTag } from '../../chain/block.js'
import type { Network } from '../../chain/networks.js'
import type { Database } from '../clickhouse.js'
import { KEYS20 } from '../keys.js'
import { EncodedRows } from '../rowbinary.js'
import { RANKING_CHANGES, SCRIPTS } from '../schema.js'
import { Selection } from '../selection.js'
import { type Filter, newestRanking, type Ranking } from './ranking.js'
import { announce } from '../writers.js'

/**
 * The next phase of a build. `scripts` reads the last row of each script into `ranking_changes`, or else `base` copies the previous ranking and `changes` the later changes into it; `order`
 * sorts the resulting balances into `ranking_order`; `number` writes them with their ranks.
 */
type Phase = 'scripts' | 'base' | 'changes' | 'order' | 'number'

/** A ranking that is being built, with its progress: the newest row of `ranking_steps`. */
export interface Build extends BlockId {
  /** The ranking from which it is built. */
  readonly base: Ranking
  readonly step: number
  readonly phase: Phase
  /** Progress of the phase: the last range of scripts read, rank copied, height collected, range ordered, or rank assigned. */
  readonly done: number
  /** Number of rows in `ranking_changes`. */
  readonly collected: number
}

/** The tables that contain only steps of builds. */
export const STEP_TABLES = ['ranking_changes', 'ranking_order', 'ranking_steps'] as const

/**
 * Starts to build the ranking of the block at the end of the filter's chain.
 * @param db its `pinEngineRun` must have been called.
 * @throws DatabaseUnavailable, QueryRefused; Superseded if there is a newer writer.
 */
export async function beginBuild(db: Database, filter: Filter, at: BlockId, writer: bigint): Promise<Build> {
  const newest = await newestRanking(db, filter)
  const base = newest ?? { height: -1, hash: '', size: 0 }
  const phase = newest === undefined ? 'scripts' : base.size === 0 ? 'changes' : 'base'
  const done = phase === 'changes' ? base.height : 0
  const build: Build = { ...at, base, step: 0, phase, done, collected: 0 }
  await announce(db, progress(build), writer)
  return build
}

/** Returns the builds that were started and neither completed nor dropped, each at its newest step. */
export async function openBuilds(db: Database): Promise<Build[]> {
  type Row = Record<'at_height' | 'step', number> &
    Record<'hash' | 'done' | 'collected' | 'baseHeight' | 'baseHash' | 'baseSize', string> & { phase: Phase }
  const rows = await db.query<Row>(
    `SELECT at_height, lower(hex(at_hash)) AS hash, step, phase, done, collected, base_height AS baseHeight,
       lower(hex(base_hash)) AS baseHash, base_size AS baseSize
     FROM ranking_steps ORDER BY at_height, at_hash, ranking_steps.step DESC LIMIT 1 BY at_height, at_hash`,
  )
  return rows.map((row) => ({
    height: row.at_height,
    hash: row.hash,
    step: row.step,
    phase: row.phase,
    done: Number(row.done),
    collected: Number(row.collected),
    base: { height: Number(row.baseHeight), hash: row.baseHash, size: Number(row.baseSize) },
  }))
}

/**
 * Runs one step of a build: a query over at most `most` rows of a table. An interrupted step may be repeated: it writes the same
 * rows.
 * @param filter of a chain that contains the build's block.
 * @param on the number of the writer of that chain, and its network. A writer that was superseded neither announces nor records anything, even if
 *   it does not know it yet.
 * @returns the build after the step, or the announced ranking after the last one.
 * @throws DatabaseUnavailable, QueryRefused, Superseded; Error if rows are missing at the end: such a build must be dropped.
 */
export async function buildStep(
  db: Database,
  filter: Filter,
  build: Build,
  most: number,
  { writer, network }: { readonly writer: bigint; readonly network: Network },
): Promise<Build | Ranking> {
  const scripts: typeof takeBase = () => takeScripts(db, build, most, { filter, network })
  const steps = { scripts, base: takeBase, changes: takeChanges, order, number }
  const next = await steps[build.phase](db, build, most, filter)
  const result = 'phase' in next ? { ...next, step: build.step + 1 } : next
  await announce(db, 'phase' in result ? progress(result) : announcement(result), writer)
  return result
}

/** Returns whether a build is complete. */
export const isFinished = (step: Build | Ranking): step is Ranking => !('phase' in step)

/** Bits of a script hash that number its range. Ranges of equal length contain about equally many scripts. */
const RANGES_BITS = 32n
const RANGES = 1n << RANGES_BITS

/** Returns SQL for the scripts of a range. */
function within(from: bigint, to: bigint): string {
  const edge = (value: bigint): string =>
    `toFixedString(unhex('${value.toString(16).padStart(8, '0').padEnd(40, '0')}'), 20)`
  return `script_hash >= ${edge(from)} ${to >= RANGES ? '' : `AND script_hash < ${edge(to)}`}`
}

/** The number of rows of histories read at once. This process computes the addresses, and must not be busy for long. */
const HISTORY_ROWS = 10_000
const SCRIPT = new Selection(SCRIPTS.columns)

/** The chain of a ranking that is built from histories. */
interface HistoryChain {
  readonly filter: Filter
  readonly network: Network
}

/** Collects the balances of the next range of scripts at the build's block from their histories. */
async function takeScripts(db: Database, build: Build, most: number, chain: HistoryChain): Promise<Build> {
  const [all] = await db.query<{ rows: string }>('SELECT count() AS rows FROM script_txs')
  const lengthOf = (rows: number): bigint =>
    (BigInt(rows) << RANGES_BITS) / BigInt(Math.max(rows, Number(all?.rows)))
  const from = BigInt(build.done)
  const end = from + lengthOf(most)
  const to = end < RANGES ? end : RANGES
  const length = lengthOf(Math.min(most, HISTORY_ROWS))
  const changes = new EncodedRows(RANKING_CHANGES)
  for (let at = from; at < to; at += length)
    await addBalances(db, build, within(at, at + length < to ? at + length : to), chain, changes)
  await db.insert(changes)
  const collected = build.collected + changes.length
  return to >= RANGES
    ? { ...build, phase: 'order', done: 0, collected }
    : { ...build, done: Number(to), collected }
}

/** Adds the balances of the scripts in a range at the build's block. */
async function addBalances(
  db: Database,
  build: Build,
  range: string,
  { filter, network }: HistoryChain,
  changes: EncodedRows<typeof RANKING_CHANGES.columns>,
): Promise<void> {
  type Last = { hash: string; received: string; sent: string; txs: number; dilithium: number }
  const last = await db.query<Last>(
    `SELECT lower(hex(script_hash)) AS hash,
       (argMax((total_received, total_sent, script_txs.ordinal, bitAnd(spend_kinds, 1)), script_txs.ordinal) AS newest).1 AS received,
       newest.2 AS sent, newest.3 AS txs, newest.4 AS dilithium
     FROM script_txs WHERE ${range} AND has_address = 1 AND height <= ${String(build.height)} AND ${filter}
     GROUP BY script_hash HAVING received > sent SETTINGS optimize_aggregation_in_order = 1`,
  )
  const hashes = last.map(({ hash }) => hash)
  const scriptRows = await SCRIPT.queryByKeys(db, `FROM scripts WHERE script_hash IN ${KEYS20}`, hashes)
  const scripts = new Map(scriptRows.map(({ scriptHash, script }) => [scriptHash, script]))
  for (const { hash, received, sent, txs, dilithium } of last) {
    const script = scripts.get(hash)
    const address = script === undefined ? undefined : addressOf(script, network)
    if (script === undefined || address === undefined) throw new Error(`script ${hash} is missing`)
    changes.add({
      at_height: build.height,
      at_hash: build.hash,
      script_hash: hash,
      height: build.height,
      address,
      balance: BigInt(received) - BigInt(sent),
      tx_count: txs,
      is_dilithium: dilithium === 1 || isDilithiumScript(script, network),
    })
  }
}

async function takeBase(db: Database, build: Build, most: number): Promise<Build> {
  const { base, done } = build
  const last = Math.min(done + most, base.size)
  await db.command(
    `INSERT INTO ranking_changes (at_height, at_hash, script_hash, height, address, balance, tx_count, is_dilithium)
     SELECT ${nameOf(build)}, script_hash, ${String(base.height)}, address, balance, tx_count, is_dilithium FROM ranked_balances
     WHERE at_height = ${String(base.height)} AND at_hash = ${literal(base.hash)}
       AND rank BETWEEN ${String(done + 1)} AND ${String(last)}`,
  )
  const collected = build.collected + last - done
  return last < base.size
    ? { ...build, done: last, collected }
    : { ...build, phase: 'changes', done: base.height, collected }
}

async function takeChanges(db: Database, build: Build, most: number, filter: Filter): Promise<Build> {
  const { done, height } = build
  const above = `height > ${String(done)} AND height <= ${String(height)} AND ${filter}`
  const [edge] = await db.query<{ last: number; rows: string }>(
    `SELECT max(height) AS last, count() AS rows FROM (SELECT height FROM script_balances WHERE ${above}
     ORDER BY height LIMIT ${String(most)})`,
  )
  const rows = Number(edge?.rows ?? 0)
  if (edge !== undefined && rows > 0)
    await db.command(
      `INSERT INTO ranking_changes (at_height, at_hash, script_hash, height, address, balance, tx_count, is_dilithium)
       SELECT ${nameOf(build)}, script_hash, max(script_balances.height), any(script_balances.address),
         argMax(script_balances.balance, script_balances.height), argMax(script_balances.tx_count, script_balances.height),
         argMax(script_balances.is_dilithium, script_balances.height)
       FROM script_balances WHERE ${above} AND height <= ${String(edge.last)} GROUP BY script_hash`,
    )
  const collected = build.collected + rows
  return edge !== undefined && rows === most
    ? { ...build, done: edge.last, collected }
    : { ...build, phase: 'order', done: 0, collected }
}

async function order(db: Database, build: Build, most: number): Promise<Build> {
  const size = (BigInt(most) << RANGES_BITS) / BigInt(Math.max(build.collected, most))
  const from = BigInt(build.done)
  const to = from + size
  const isLast = to >= RANGES
  await db.command(
    `INSERT INTO ranking_order (at_height, at_hash, below, address, script_hash, tx_count, is_dilithium)
     SELECT ${nameOf(build)}, bitNot((argMax((balance, tx_count, is_dilithium), height) AS newest).1), any(address),
       script_hash, newest.2, newest.3
     FROM ranking_changes WHERE ${isOf(build)} AND ${within(from, to)}
     GROUP BY script_hash HAVING newest.1 > 0 SETTINGS optimize_aggregation_in_order = 1`,
  )
  return isLast ? { ...build, phase: 'number', done: 0 } : { ...build, done: Number(to) }
}

async function number(db: Database, build: Build, most: number): Promise<Build | Ranking> {
  const { done, height, hash } = build
  const last = `SELECT bitNot(balance) AS below, address, hex(script_hash) AS script FROM ranked_balances
    WHERE ${isOf(build)} AND rank = ${String(done)} LIMIT 1`
  type Edge = { below: string; address: string; script: string }
  const [edge] = done === 0 ? [] : await db.query<Edge>(last)
  if (done > 0 && edge === undefined)
    throw new Error(`rank ${String(done)} of the ranking of ${hash} is missing`)
  const after =
    edge === undefined
      ? '1'
      : `(below > {below:UInt64} OR (below = {below:UInt64} AND (address > {address:String}
           OR (address = {address:String} AND script_hash > unhex({script:String})))))`
  await db.command(
    `INSERT INTO ranked_balances (at_height, at_hash, rank, script_hash, address, balance, tx_count, is_dilithium)
     SELECT ${nameOf(build)}, ${String(done)} + row_number() OVER (ORDER BY below, address, script_hash) AS place,
       script_hash, address, bitNot(below), tx_count, is_dilithium
     FROM (SELECT below, address, script_hash, tx_count, is_dilithium FROM ranking_order WHERE ${isOf(build)} AND ${after}
       ORDER BY below, address, script_hash LIMIT 1 BY below, address, script_hash LIMIT ${String(most)})`,
    { ...edge },
  )
  const [row] = await db.query<{ rows: string; last: string }>(
    `SELECT uniqExact(rank) AS rows, max(rank) AS last FROM ranked_balances
     WHERE ${isOf(build)} AND rank > ${String(done)} AND rank <= ${String(done + most)}`,
  )
  const rows = Number(row?.rows ?? 0)
  if (rows > 0 && Number(row?.last) !== done + rows) throw new Error(`the ranking of ${hash} is incomplete`)
  if (rows === most) return { ...build, done: done + rows }
  return { height, hash, size: await assertComplete(db, build, done + rows) }
}

/** @throws Error if the block has another number of funded addresses: steps were lost. */
async function assertComplete(db: Database, { height, hash }: Build, size: number): Promise<number> {
  const [block] = await db.query<{ funded: string }>(
    `SELECT funded_addresses AS funded FROM blocks WHERE height = ${String(height)} AND hash = ${literal(hash)} LIMIT 1`,
  )
  if (Number(block?.funded) === size) return size
  throw new Error(
    `the ranking of ${hash} has ${String(size)} addresses, but the block has ${block?.funded ?? 'none'}`,
  )
}

/** Returns the row that announces a ranking. */
const announcement = ({ height, hash, size }: Ranking): string =>
  `INSERT INTO rankings (height, block_hash, block_tag, size, built_at)
   SELECT ${String(height)}, ${literal(hash)}, ${String(blockTag(hash))}, ${String(size)}, now64(3)`

/** Returns the row that notes how far a ranking is built. */
const progress = ({ height, hash, base, step, phase, done, collected }: Build): string =>
  `INSERT INTO ranking_steps (at_height, at_hash, step, phase, done, collected, base_height, base_hash, base_size)
   SELECT ${nameOf({ height, hash })}, ${String(step)}, '${phase}', ${String(done)}, ${String(collected)}, ${String(base.height)},
     ${literal(base.hash)}, ${String(base.size)}`

/** Returns SQL for a hash as the tables contain it: 32 zero bytes for none. */
const literal = (hash: string): string =>
  `toFixedString(unhex('${hash === '' ? '00'.repeat(32) : hash}'), 32)`

const nameOf = ({ height, hash }: Pick<Build, 'height' | 'hash'>): string =>
  `${String(height)}, ${literal(hash)}`

const isOf = ({ height, hash }: Build): string =>
  `at_height = ${String(height)} AND at_hash = ${literal(hash)}`
