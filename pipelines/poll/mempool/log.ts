import type { Network } from '../../chain/networks.js'
import { offsetOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { hexOf } from '../../chain/hash.js'
import { MempoolEvents, type MempoolStep } from '../../mempool/mempool-events.js'
import { mempoolTx } from '../../mempool/mempool-tx.js'
import { forwards } from '../chain/chain-log.js'
import { Mempool } from './mempool.js'

/** The mempool of the log. */
export interface MempoolState {
  readonly mempool: Mempool
  /** The position of the first part of the last complete snapshot; undefined for none. */
  readonly snapshotPosition: number | undefined
  /** The time at which that part was written, in Unix milliseconds. */
  readonly snapshotTime: number
  /** The number of deltas since. */
  readonly deltas: number
  /** The position of topic `chain` at which the mempool was observed last. */
  readonly chainPosition: number
}

/**
 * Rebuilds the mempool from the last complete snapshot in the log, the deltas after it, and the effects of later blocks.
 */
export async function readMempool(
  log: EventLog,
  logger: Logger,
  network: Network,
  expiryHours?: number,
): Promise<MempoolState> {
  const mempool = new Mempool(network, expiryHours)
  let state: MempoolState = {
    mempool,
    snapshotPosition: undefined,
    snapshotTime: 0,
    deltas: 0,
    chainPosition: -1,
  }
  for await (const step of new MempoolEvents(log, logger).stored()) state = applied(state, step)
  await applyBlocks(log, mempool, state.chainPosition, network)
  return state
}

function applied(state: MempoolState, step: MempoolStep): MempoolState {
  const { mempool } = state
  const chainPosition = step.seenAt
  if (step.kind === 'snapshot') {
    mempool.reset(BigInt(step.enteredBefore), BigInt(step.leftBefore))
    for (const entry of step.entries) mempool.put(mempoolTx(entry))
    return { mempool, snapshotPosition: step.position, snapshotTime: step.time, deltas: 0, chainPosition }
  }
  // Deltas of a snapshot that retention has dropped.
  if (state.snapshotPosition === undefined) return state
  for (const { left, passed, entered } of step.deltas) {
    for (const { txid } of left) mempool.leave(txid)
    mempool.pass(passed.length)
    for (const entry of entered) mempool.enter(mempoolTx(entry))
  }
  return { ...state, deltas: state.deltas + step.deltas.length, chainPosition }
}

/** Applies blocks that a previous poller wrote after it had observed the mempool last. */
async function applyBlocks(
  log: EventLog,
  mempool: Mempool,
  chainPosition: number,
  network: Network,
): Promise<void> {
  if (mempool.txs.size === 0) return
  const [from, last] = [offsetOf(chainPosition) + 1, await log.last('chain')]
  for await (const { event } of forwards(log, from, last, network)) {
    if (event.event.case === 'blockConnected') {
      const { hash, height, raw, prevouts } = event.event.value
      mempool.blockConnected({ hash: hexOf(hash), height, raw, prevouts })
    }
    if (event.event.case === 'blockDisconnected') mempool.blockDisconnected(hexOf(event.event.value.hash))
  }
}
