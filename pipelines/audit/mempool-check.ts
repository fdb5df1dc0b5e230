import { coinsToBaseUnits } from '../chain/amount.js'
import { PoolEvents } from '../mempool/mempool-events.js'
import { type AuditContext, type CheckResult, Findings, persisting } from './audit.js'

const READ_AT_ONCE = 256

/**
 * The unconfirmed transactions and their fees, as the log's events add up, are the node's. Transactions come and go all the
 * time: what counts is one that differs at every look.
 */
export function poolCheck(context: AuditContext): Promise<CheckResult> {
  const { node, signal } = context
  return persisting(context, async (before) => {
    const suspected = before && new Set(before.differences.map(({ what }) => what))
    const found = new Findings('mempool')
    const told = await node.pool(signal)
    const indexed = await poolOf(context)
    found.checked = Object.keys(told).length
    for (const txid of new Set([...indexed.keys(), ...Object.keys(told)])) {
      const entry = told[txid]
      const fee = entry === undefined ? 'not in the pool' : coinsToBaseUnits(entry.fees.base)
      const what = `fee of unconfirmed ${txid}`
      if (suspected?.has(what) !== false) found.expect(what, indexed.get(txid) ?? 'missing', fee)
    }
    return found.result()
  })
}

/** Fees by txid. */
async function poolOf({ log, logger }: AuditContext): Promise<Map<string, bigint>> {
  const events = new PoolEvents(log, logger)
  const pool = new Map<string, bigint>()
  const start = await events.findStart(Number.MAX_SAFE_INTEGER)
  for (let next = start.from; next <= start.last;) {
    const records = await log.read('node', next, READ_AT_ONCE)
    const last = records.at(-1)
    if (last === undefined) break
    for (const step of events.steps(records)) {
      if (step.kind === 'snapshot') pool.clear()
      const changes = step.kind === 'snapshot' ? [{ left: [], entered: step.entries }] : step.deltas
      for (const { left, entered } of changes) {
        for (const { txid } of left) pool.delete(hex(txid))
        for (const { txid, fee } of entered) pool.set(hex(txid), fee)
      }
    }
    next = last.position + 1
  }
  return pool
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
