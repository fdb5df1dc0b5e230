import { DAY_SECONDS, dayOf } from '../../../../pipelines/chain/time.js'
import type { ChainView } from '../../../../pipelines/tables/chain-view.js'
import type { BlockRow } from '../tables/blocks.js'
import type { Tables } from '../tables/tables.js'

/** The figures of the chain's blocks whose timestamps lie in one UTC day. */
export interface Day {
  /** Days since 1970-01-01. */
  readonly day: number
  readonly blocks: number
  readonly txs: number
  readonly dilithiumTxs: number
  /** Base units. */
  readonly fees: bigint
  /** Base units, without coinbases. */
  readonly output: bigint
  readonly activeAddresses: number
  readonly newAddresses: number
  /** The sum of the difficulties of its blocks. */
  readonly difficulties: number
  /** The expected number of hashes to find its blocks. */
  readonly work: bigint
  /** Addresses ever seen, as of the day's last block. */
  readonly addresses: number
  readonly dilithiumAddresses: number
}

type Queries = Pick<Tables, 'query'>

/** All days on which the chain has a block, newest first. */
export type Days = readonly Day[]

/**
 * Derives the days of a view from the days of an earlier view: sums again only the days between blocks that differ.
 * @param times of the blocks that only one of the two chains contains (unix seconds); undefined if not all are known.
 */
export async function nextDays(
  tables: Queries,
  before: Days,
  view: ChainView,
  times: readonly number[] | undefined,
): Promise<Days> {
  if (view.head.tipHeight < 0) return []
  if (times === undefined) return sorted(await daysBetween(tables, view, 0, 0xffff_ffff))
  if (times.length === 0) return before
  const [first, last] = [startOf(least(times)), endOf(most(times))]
  const again = await daysBetween(tables, view, first, last)
  const unchanged = before.filter(({ day }) => day < dayOf(first) || day > dayOf(last))
  return sorted([...unchanged, ...again])
}

/**
 * Returns the days of a chain that has grown, without a query.
 * @param before the days of the chain below the blocks.
 * @param blocks lowest first.
 */
export function grownDays(before: Days, blocks: readonly BlockRow[]): Days {
  const days = new Map(before.map((each) => [each.day, each]))
  for (const block of blocks) {
    const day = dayOf(block.time)
    days.set(day, withBlock(days.get(day) ?? emptyDay(day), block))
  }
  return sorted([...days.values()])
}

/** Returns the days of a view from a day on, newest first. */
export async function daysFrom(tables: Queries, view: ChainView, first: number): Promise<Days> {
  return sorted(await daysBetween(tables, view, first * DAY_SECONDS, 0xffff_ffff))
}

const emptyDay = (day: number): Day => ({
  day,
  blocks: 0,
  txs: 0,
  dilithiumTxs: 0,
  fees: 0n,
  output: 0n,
  activeAddresses: 0,
  newAddresses: 0,
  difficulties: 0,
  work: 0n,
  addresses: 0,
  dilithiumAddresses: 0,
})

/** Adds a block that is higher than all others of the day. */
const withBlock = (day: Day, block: BlockRow): Day => ({
  day: day.day,
  blocks: day.blocks + 1,
  txs: day.txs + block.txCount,
  dilithiumTxs: day.dilithiumTxs + block.dilithiumTxCount,
  fees: day.fees + block.totalFees,
  output: day.output + block.totalOutput,
  activeAddresses: day.activeAddresses + block.activeAddresses,
  newAddresses: day.newAddresses + block.newAddresses,
  difficulties: day.difficulties + block.difficulty,
  work: day.work + block.work,
  addresses: Number(block.addresses),
  dilithiumAddresses: Number(block.dilithiumAddresses),
})

const sorted = (days: Day[]): Days => days.sort((one, other) => other.day - one.day)
const least = (times: readonly number[]): number => times.reduce((one, other) => Math.min(one, other))
const most = (times: readonly number[]): number => times.reduce((one, other) => Math.max(one, other))
const startOf = (time: number): number => dayOf(time) * DAY_SECONDS

const endOf = (time: number): number => (dayOf(time) + 1) * DAY_SECONDS - 1

/** Sums the days between two times (unix seconds, both inclusive). */
async function daysBetween(tables: Queries, view: ChainView, first: number, last: number): Promise<Day[]> {
  const columns = 'height, time, tx_count, dilithium_tx_count, total_fees, total_output, active_addresses'
  const sql = `SELECT intDiv(time, ${String(DAY_SECONDS)}) AS day, count() AS blocks, toString(sum(tx_count)) AS txs,
      toString(sum(dilithium_tx_count)) AS dilithiumTxs, toString(sum(toUInt128(total_fees))) AS fees,
      toString(sum(toUInt128(total_output))) AS output, toString(sum(active_addresses)) AS active,
      toString(sum(new_addresses)) AS fresh, sum(difficulty) AS difficulties, toString(sum(work)) AS allWork,
      toString(argMax(addresses, height)) AS seen, toString(argMax(dilithium_addresses, height)) AS dilithiumSeen
    FROM (SELECT ${columns}, new_addresses, difficulty, work, addresses, dilithium_addresses FROM blocks
      WHERE time BETWEEN {first:UInt32} AND {last:UInt32} AND height <= {tip:UInt32} AND ${view.sqlFilter('height', 'hash')}
      ORDER BY height LIMIT 1 BY height)
    GROUP BY day`
  type Text =
    | 'txs'
    | 'dilithiumTxs'
    | 'fees'
    | 'output'
    | 'active'
    | 'fresh'
    | 'allWork'
    | 'seen'
    | 'dilithiumSeen'
  type Row = Record<Text, string> & { day: number; blocks: string; difficulties: number }
  const rows = await tables.query<Row>(sql, { first, last, tip: view.head.tipHeight })
  return rows.map((row) => ({
    day: row.day,
    blocks: Number(row.blocks),
    txs: Number(row.txs),
    dilithiumTxs: Number(row.dilithiumTxs),
    fees: BigInt(row.fees),
    output: BigInt(row.output),
    activeAddresses: Number(row.active),
    newAddresses: Number(row.fresh),
    difficulties: row.difficulties,
    work: BigInt(row.allWork),
    addresses: Number(row.seen),
    dilithiumAddresses: Number(row.dilithiumSeen),
  }))
}
