import type { Network } from '../../chain/networks.js'
import { offsetOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { hexOf } from '../../chain/hash.js'
import { MempoolEvents, type MempoolStep } from '../../mempool/mempool-events.js'
import { mempoolTx } from '../../mempool/mempool-tx.js'
import { forwards } from '../chain/chain-log.js'
import { Mempool } from './mempool.js'

/** Where the pool stands in the log. */
export interface MempoolState {
  readonly pool: Mempool
  /** Of the last whole snapshot's first part; undefined where the log has none. */
  readonly snapshotPosition: number | undefined
  /** Unix milliseconds at which that was written. */
  readonly snapshotTime: number
  /** Events of the pool since. */
  readonly deltas: number
  /** Of topic `chain`: where the pool was looked at last. */
  readonly chainPosition: number
}

/**
 * Rebuilds the pool from the last whole snapshot in the log and what came after, and what the blocks since have done to it.
 */
export async function readMempool(log: EventLog, logger: Logger, network: Network): Promise<MempoolState> {
  const pool = new Mempool()
  let state: MempoolState = {
    pool,
    snapshotPosition: undefined,
    snapshotTime: 0,
    deltas: 0,
    chainPosition: -1,
  }
  for await (const step of new MempoolEvents(log, logger).stored()) state = applied(state, step)
  await applyBlocks(log, pool, state.chainPosition, network)
  return state
}

function applied(state: MempoolState, step: MempoolStep): MempoolState {
  const { pool } = state
  const chainPosition = step.seenAt
  if (step.kind === 'snapshot') {
    pool.reset(BigInt(step.enteredBefore))
    for (const entry of step.entries) pool.put(mempoolTx(entry))
    return { pool, snapshotPosition: step.position, snapshotTime: step.time, deltas: 0, chainPosition }
  }
  // Of a snapshot that retention has dropped.
  if (state.snapshotPosition === undefined) return state
  for (const { left, entered } of step.deltas) {
    for (const { txid } of left) pool.leave(txid)
    for (const entry of entered) pool.enter(mempoolTx(entry))
  }
  return { ...state, deltas: state.deltas + step.deltas.length, chainPosition }
}

/** Blocks that were written after the last look at the pool, by a poller that then ended. */
async function applyBlocks(
  log: EventLog,
  pool: Mempool,
  chainPosition: number,
  network: Network,
): Promise<void> {
  if (pool.txs.size === 0) return
  const [from, last] = [offsetOf(chainPosition) + 1, await log.last('chain')]
  for await (const { event } of forwards(log, from, last, network)) {
    if (event.event.case === 'blockConnected')
      pool.blockConnected(hexOf(event.event.value.hash), event.event.value.raw)
    if (event.event.case === 'blockDisconnected') pool.blockDisconnected(hexOf(event.event.value.hash))
  }
}
