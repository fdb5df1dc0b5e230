import { PoolLeft_Reason } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { parseTx } from '../../../pipelines/chain/transaction.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { recordsOf } from '../../../pipelines/log/records.js'
import type { Logger } from '../../../pipelines/logger.js'
import {
  MempoolEvents,
  type MempoolRemoval,
  type MempoolStep,
} from '../../../pipelines/mempool/mempool-events.js'
import type { MempoolEntry } from '../../../pipelines/mempool/mempool-tx.js'
import { type Cause, eventOf, transactionOf, type WebhookEvent } from './events.js'
import type { Hook } from '../hooks.js'
import type { HookSet, Match } from './matching.js'
import type { Store } from '../store.js'

const REASONS: Readonly<Record<PoolLeft_Reason, string>> = {
  [PoolLeft_Reason.UNSPECIFIED]: 'unknown',
  [PoolLeft_Reason.CONFIRMED]: 'confirmed',
  [PoolLeft_Reason.REPLACED]: 'replaced',
  [PoolLeft_Reason.EVICTED]: 'evicted',
  [PoolLeft_Reason.EXPIRED]: 'expired',
  [PoolLeft_Reason.UNKNOWN]: 'unknown',
}

/** The interval at which the cursor is stored if there are no events: after a crash, what follows it is read again. */
const STORE_EVERY_MS = 60_000

interface Step {
  readonly step: MempoolStep
  readonly cause: Cause
  /** Position of its last record in topic `node`. */
  readonly position: number
}

/** Queues events of unconfirmed transactions, from topic `node`. */
export class MempoolWatch {
  readonly #log: EventLog
  readonly #store: Store
  readonly #logger: Logger
  readonly #events: MempoolEvents
  #position: number
  /** The next step, if it was observed at a position that the chain has not reached. */
  #held: Step | undefined
  #storedAt = 0

  /** @param position the last position of the topic that was read. */
  constructor(parts: { log: EventLog; store: Store; logger: Logger }, position: number) {
    this.#log = parts.log
    this.#store = parts.store
    this.#logger = parts.logger
    this.#events = new MempoolEvents(parts.log, parts.logger)
    this.#position = position
  }

  /**
   * Queues the events of the steps that were observed at or before a position of topic `chain`.
   * @returns the number of events.
   */
  async follow(chainPosition: number, hooks: HookSet, active: ReadonlySet<string>): Promise<number> {
    let queued = 0
    if (this.#held !== undefined) {
      if (this.#held.step.seenAt > chainPosition) return 0
      queued += this.#apply(this.#held, hooks, active)
      this.#held = undefined
    }
    if ((await this.#log.last('node')) < this.#position) {
      this.#logger.warn(
        { position: this.#position },
        'topic node is shorter than before: continuing with its last snapshot',
      )
      this.#position = (await this.#events.findStart(chainPosition)).from - 1
    }
    const first = this.#position + 1
    for await (const record of recordsOf(this.#log, 'node', first)) {
      if (first > 0 && this.#position + 1 === first && record.position > first)
        this.#logger.warn(
          { from: first, to: record.position },
          'events of the mempool expired before they were read: unconfirmed transactions of that time are reported only if they are still in the mempool',
        )
      const cause = { position: `node ${String(record.position)}`, time: record.time }
      for (const step of this.#events.steps([record])) {
        const next = { step, cause, position: record.position }
        if (step.seenAt > chainPosition) {
          this.#position = record.position
          this.#held = next
          return queued
        }
        queued += this.#apply(next, hooks, active)
      }
      this.#position = record.position
    }
    if (performance.now() - this.#storedAt > STORE_EVERY_MS) this.#write(this.#position, () => undefined)
    return queued
  }

  /** Returns what hooks watch in the mempool at the end of the log. */
  async present(hooks: HookSet): Promise<Match[]> {
    const present = new Map<string, readonly Match[]>()
    for await (const step of new MempoolEvents(this.#log, this.#logger).stored()) {
      if (step.kind === 'snapshot') present.clear()
      for (const { left, entered } of step.kind === 'snapshot'
        ? [{ left: [], entered: step.entries }]
        : step.deltas) {
        for (const { txid } of left) present.delete(txid)
        for (const entry of entered) {
          const matches = matchesOf(entry, hooks)
          if (matches.length > 0) present.set(entry.txid, matches)
        }
      }
    }
    return [...present.values()].flat()
  }

  /** Returns the events of matches that were not reported yet, and notes them. Call within a transaction. */
  see(matches: readonly Match[], cause: Cause, active: ReadonlySet<string>): WebhookEvent[] {
    return matches.flatMap((match) => {
      const { hook, txid } = match
      if (!active.has(hook.id) || this.#store.seenBy(txid).includes(hook.id)) return []
      this.#store.addSeen(txid, hook.id)
      return eventOf(hook.id, 'transaction.seen', cause, txid, transactionOf(match))
    })
  }

  #apply({ step, cause, position }: Step, hooks: HookSet, active: ReadonlySet<string>): number {
    let queued = 0
    const queue = (events: readonly WebhookEvent[]): void => {
      this.#store.queue(events, Date.now())
      queued += events.length
    }
    if (step.kind === 'snapshot') {
      const matches = step.entries.flatMap((entry) => matchesOf(entry, hooks))
      const txids = new Set(step.entries.map(({ txid }) => txid))
      // They left while this was not known: blocks have reported those that they confirm.
      const gone = this.#store.seenTxids().filter((txid) => !txids.has(txid))
      if (matches.length + gone.length > 0)
        this.#write(position, () => {
          for (const txid of gone) this.#store.removeSeen(txid)
          queue(this.see(matches, cause, active))
        })
      return queued
    }
    for (const { left, entered } of step.deltas) {
      const known = left.filter(({ txid }) => this.#store.seenBy(txid).length > 0)
      const matches = entered.flatMap((entry) => matchesOf(entry, hooks))
      if (known.length + matches.length === 0) continue
      this.#write(position, () => {
        for (const removal of known) queue(this.#drop(removal, cause, active))
        queue(this.see(matches, cause, active))
      })
    }
    return queued
  }

  #drop({ txid, reason, by }: MempoolRemoval, cause: Cause, active: ReadonlySet<string>): WebhookEvent[] {
    const hooks = this.#store.seenBy(txid).filter((id) => active.has(id))
    this.#store.removeSeen(txid)
    if (reason === PoolLeft_Reason.CONFIRMED) return []
    const replaced_by = reason === PoolLeft_Reason.REPLACED && by !== '' ? by : null
    return hooks.map((id) =>
      eventOf(id, 'transaction.dropped', cause, txid, { txid, reason: REASONS[reason], replaced_by }),
    )
  }

  #write(position: number, action: () => void): void {
    this.#store.write(() => {
      action()
      this.#store.setNode(position)
    })
    this.#storedAt = performance.now()
  }
}

const wantsUnconfirmed = ({ confirmations }: Hook): boolean => confirmations.includes(0)

/** Returns what hooks that want unconfirmed transactions watch in an entry of the mempool; nothing for bytes that are no transaction. */
function matchesOf({ raw, txid }: MempoolEntry, hooks: HookSet): Match[] {
  if (!hooks.all.some(wantsUnconfirmed)) return []
  try {
    const tx = parseTx(raw)
    return tx.txid === txid ? hooks.of(tx, undefined).filter(({ hook }) => wantsUnconfirmed(hook)) : []
  } catch {
    return []
  }
}
