import type { Network } from '../../chain/networks.js'
import { offsetOf } from '../../events/positions.js'
import type { EventLog } from '../../log/port.js'
import type { Logger } from '../../logger.js'
import { hexOf } from '../../chain/hash.js'
import { MempoolEvents, type MempoolStep } from '../../mempool/mempool-events.js'
import { mempoolTx } from '../../mempool/mempool-tx.js'
import { forwards } from '../chain/chain-log.js'
import { Mempool } from './mempool.js'

/** Where the mempool stands in the log. */
export interface MempoolState {
  readonly mempool: Mempool
  /** Of the last whole snapshot's first part; undefined where the log has none. */
  readonly snapshotPosition: number | undefined
  /** Unix milliseconds at which that was written. */
  readonly snapshotTime: number
  /** Events of the mempool since. */
  readonly deltas: number
  /** Of topic `chain`: where the mempool was looked at last. */
  readonly chainPosition: number
}

/**
 * Rebuilds the mempool from the last whole snapshot in the log and what came after, and what the blocks since have done to it.
 */
export async function readMempool(log: EventLog, logger: Logger, network: Network): Promise<MempoolState> {
  const mempool = new Mempool()
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
    mempool.reset(BigInt(step.enteredBefore))
    for (const entry of step.entries) mempool.put(mempoolTx(entry))
    return { mempool, snapshotPosition: step.position, snapshotTime: step.time, deltas: 0, chainPosition }
  }
  // Of a snapshot that retention has dropped.
  if (state.snapshotPosition === undefined) return state
  for (const { left, entered } of step.deltas) {
    for (const { txid } of left) mempool.leave(txid)
    for (const entry of entered) mempool.enter(mempoolTx(entry))
  }
  return { ...state, deltas: state.deltas + step.deltas.length, chainPosition }
}

/** Blocks that were written after the last look at the mempool, by a poller that then ended. */
async function applyBlocks(
  log: EventLog,
  mempool: Mempool,
  chainPosition: number,
  network: Network,
): Promise<void> {
  if (mempool.txs.size === 0) return
  const [from, last] = [offsetOf(chainPosition) + 1, await log.last('chain')]
  for await (const { event } of forwards(log, from, last, network)) {
    if (event.event.case === 'blockConnected')
      mempool.blockConnected(hexOf(event.event.value.hash), event.event.value.raw)
    if (event.event.case === 'blockDisconnected') mempool.blockDisconnected(hexOf(event.event.value.hash))
  }
}
