import { coinsToBaseUnits } from '../chain/amount.js'
import { MempoolEvents } from '../mempool/mempool-events.js'
import { type AuditContext, type Findings, persisting } from './audit.js'

/**
 * Compares the unconfirmed transactions and fees that result from the events of the log with the node's mempool. Because the
 * mempool changes all the time, only a transaction that differs in every comparison counts.
 */
export function mempoolCheck(context: AuditContext, all: Findings): Promise<void> {
  const { node, signal } = context
  return persisting(context, all, async (findings, before) => {
    const suspected = before && new Set(before.differences.map(({ what }) => what))
    const reported = await node.mempool(signal)
    const indexed = await mempoolOf(context)
    findings.checked = Object.keys(reported).length
    for (const txid of new Set([...indexed.keys(), ...Object.keys(reported)])) {
      const entry = reported[txid]
      const fee = entry === undefined ? 'not in the mempool' : coinsToBaseUnits(entry.fees.base)
      const what = `fee of unconfirmed ${txid}`
      if (suspected?.has(what) !== false) findings.expect(what, indexed.get(txid) ?? 'missing', fee)
    }
  })
}

/** Returns the fees of the mempool in the log, by txid. */
async function mempoolOf({ log, logger }: AuditContext): Promise<Map<string, bigint>> {
  const mempool = new Map<string, bigint>()
  for await (const step of new MempoolEvents(log, logger).stored()) {
    if (step.kind === 'snapshot') mempool.clear()
    const changes = step.kind === 'snapshot' ? [{ left: [], entered: step.entries }] : step.deltas
    for (const { left, entered } of changes) {
      for (const { txid } of left) mempool.delete(txid)
      for (const { txid, fee } of entered) mempool.set(txid, fee)
    }
  }
  return mempool
}
