import { fromBinary } from '@bufbuild/protobuf'
import {
  NodeEventSchema,
  type NodeEvent,
  type PoolEntry,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { isAfter } from '../log/written.js'
import { forwards, hexOf } from './chain-log.js'
import { Pool, poolTx } from './pool.js'
import type { PoolTx } from './pool-delta.js'

/** Where the pool stands in the log. */
export interface PoolState {
  readonly pool: Pool
  /** Of the last whole snapshot's first part; undefined where the log has none. */
  readonly snapshotPosition: number | undefined
  /** Unix milliseconds at which that was written. */
  readonly snapshotTime: number
  /** Events of the pool since. */
  readonly deltas: number
  /** Of topic `chain`: where the pool was looked at last. */
  readonly chainPosition: number
}

const CHUNK = 64

/**
 * Rebuilds the pool from the last snapshot in the log and what came after, and what the blocks since have done to it.
 */
export async function readPool(log: EventLog): Promise<PoolState> {
  const pool = new Pool()
  const last = await log.last('node')
  const begin = await lastSnapshot(log, last)
  if (begin === undefined) {
    return { pool, snapshotPosition: undefined, snapshotTime: 0, deltas: 0, chainPosition: -1 }
  }
  let state: PoolState = { pool, snapshotPosition: begin, snapshotTime: 0, deltas: 0, chainPosition: -1 }
  let newest: NodeEvent | undefined
  for await (const record of records(log, begin, last)) {
    const event = decodeNode(record)
    // As every consumer: what a superseded poller wrote late is dropped, and what came before.
    if (event === undefined || (newest !== undefined && !isAfter(event, newest))) continue
    newest = event
    state = applied(state, record, event)
  }
  await applyBlocks(log, pool, state.chainPosition)
  return state
}

function applied(state: PoolState, record: LogRecord, { event, chainPosition }: NodeEvent): PoolState {
  const { pool } = state
  if (event.case === 'poolSnapshot') {
    const { part, enteredBefore, entries } = event.value
    if (part === 0) pool.reset(enteredBefore)
    for (const each of entries) pool.put(txOf(each))
    const began =
      part === 0 ? { snapshotPosition: record.position, snapshotTime: record.time, deltas: 0 } : {}
    return { ...state, ...began, chainPosition: Number(chainPosition) }
  }
  if (event.case !== 'poolDelta') return state
  for (const { txid } of event.value.left) pool.leave(hexOf(txid))
  for (const each of event.value.entered) pool.enter(txOf(each))
  return { ...state, deltas: state.deltas + 1, chainPosition: Number(chainPosition) }
}

/** Blocks that were written after the last look at the pool, by a poller that then ended. */
async function applyBlocks(log: EventLog, pool: Pool, chainPosition: number): Promise<void> {
  if (pool.txs.size === 0) return
  for await (const { event } of forwards(log, chainPosition + 1, await log.last('chain'))) {
    if (event.event.case === 'blockConnected')
      pool.blockConnected(hexOf(event.event.value.hash), event.event.value.raw)
    if (event.event.case === 'blockDisconnected') pool.blockDisconnected(hexOf(event.event.value.hash))
  }
}

/**
 * Heartbeats are passed over; every other event of the topic tells where the snapshot is, and the newest that was written is
 * believed: it need not be the last, where a retry or a superseded poller wrote after it.
 */
async function lastSnapshot(log: EventLog, last: number): Promise<number | undefined> {
  const first = await log.first('node')
  for (let end = last; end >= first; end -= CHUNK) {
    let newest: NodeEvent | undefined
    let begin: number | undefined
    for await (const record of records(log, Math.max(first, end - CHUNK + 1), end)) {
      const event = decodeNode(record)
      if (event === undefined) continue
      const told = snapshotPosition(record.position, event)
      if (told === undefined || (newest !== undefined && !isAfter(event, newest))) continue
      newest = event
      begin = told
    }
    if (begin !== undefined) return begin < first ? undefined : begin
  }
  return undefined
}

function snapshotPosition(position: number, { event }: NodeEvent): number | undefined {
  if (event.case === 'poolDelta') return Number(event.value.snapshotPosition)
  return event.case === 'poolSnapshot' ? position - event.value.part : undefined
}

async function* records(log: EventLog, start: number, end: number): AsyncGenerator<LogRecord> {
  for (let next = start; next <= end;) {
    const found = await log.read('node', next, Math.min(CHUNK, end - next + 1))
    const last = found.at(-1)
    if (last === undefined) return
    yield* found.filter(({ position }) => position <= end)
    next = last.position + 1
  }
}

/** Undefined for a record that no poller wrote: what it stands in for, the next look at the node's pool brings. */
function decodeNode({ value }: LogRecord): NodeEvent | undefined {
  try {
    return fromBinary(NodeEventSchema, value)
  } catch {
    return undefined
  }
}

/** The bytes are copied: a view would keep the whole record in memory. */
function txOf({ txid, raw, fee, firstSeen }: PoolEntry): PoolTx {
  return poolTx(hexOf(txid), Buffer.from(raw), fee, firstSeen)
}
