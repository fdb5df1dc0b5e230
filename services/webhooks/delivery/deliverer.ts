import type { Logger } from '../../../pipelines/logger.js'
import type { Hook } from '../hooks.js'
import type { Outcome, Send } from './sender.js'
import type { Delivery, Store } from '../store.js'

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]
/** The pauses after consecutive failures of a hook, as Standard Webhooks recommends, in milliseconds. The last one repeats. */
export const RETRY_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
/** Pauses vary by this share, so that the receivers of one server do not all return at the same time. */
const JITTER = 0.1
/** The number of deliveries in progress. A receiver that does not answer occupies one for seconds. */
const MAX_IN_PROGRESS = 64
/** The longest time between two checks of the queue: a command of the operator may have changed it. */
const CHECK_MS = 2_000

export interface DelivererParts {
  readonly store: Store
  readonly logger: Logger
  readonly send: Send
  readonly hooks: () => readonly Hook[]
  /** Called after each attempt. @param dead the number of deliveries that were given up because of it. */
  readonly attempted: (outcome: Outcome['kind'], seconds: number, dead: number) => void
  readonly retryMs?: readonly number[]
  /** Returns the time in Unix milliseconds. */
  readonly now?: () => number
}

/**
 * Delivers what is queued: to each hook in order, one at a time, so that a receiver that fails holds up only its own deliveries.
 * Delivery: at least once, with the same id; a delivery is given up when it has waited for the sum of all pauses and its hook has failed
 * as often as there are pauses.
 */
export class Deliverer {
  readonly #parts: DelivererParts
  readonly #retryMs: readonly number[]
  readonly #now: () => number
  readonly #inProgress = new Map<string, Promise<void>>()
  /** The index of the hook that is checked first: all get their turn, even if some have always something to send. */
  #first = 0
  #wake: () => void = () => undefined

  constructor(parts: DelivererParts) {
    this.#parts = parts
    this.#retryMs = parts.retryMs ?? RETRY_MS
    this.#now = parts.now ?? Date.now
  }

  /** Delivers until the signal aborts, and returns when no attempt is in progress. @throws errors of the store. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => {
      this.#wake()
    })
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      const timer = setTimeout(this.#wake, this.#startDue(signal))
      await woken
      clearTimeout(timer)
    }
    await Promise.all(this.#inProgress.values())
  }

  /** Checks the queue at once. Call it after events were queued. */
  wake(): void {
    this.#wake()
  }

  /** Starts the deliveries that are due. @returns the time until the next one, in milliseconds. */
  #startDue(signal: AbortSignal): number {
    const { store } = this.#parts
    const hooks = this.#parts.hooks()
    let waitMs = CHECK_MS
    for (let count = 0; count < hooks.length && this.#inProgress.size < MAX_IN_PROGRESS; count++) {
      const hook = hooks[(this.#first + count) % hooks.length] as Hook
      if (this.#inProgress.has(hook.id)) continue
      const state = store.hook(hook.id)
      if (state === undefined || state.disabledUrl === hook.url) continue
      const delivery = store.next(hook.id)
      if (delivery === undefined) continue
      const dueMs = state.due - this.#now()
      if (dueMs > 0) waitMs = Math.min(waitMs, dueMs)
      else this.#start(hook, delivery, state.failures, signal)
    }
    this.#first++
    return waitMs
  }

  #start(hook: Hook, delivery: Delivery, failures: number, signal: AbortSignal): void {
    const done = this.#deliver(hook, delivery, failures, signal).finally(() => {
      this.#inProgress.delete(hook.id)
      this.#wake()
    })
    this.#inProgress.set(hook.id, done)
  }

  async #deliver(hook: Hook, delivery: Delivery, failures: number, signal: AbortSignal): Promise<void> {
    const { store, logger, send, attempted } = this.#parts
    const began = performance.now()
    const outcome = await send(hook, delivery, signal)
    // An attempt that was ended by the stop says nothing about the receiver.
    if (signal.aborted && outcome.kind === 'failed') return
    const seconds = (performance.now() - began) / 1000
    const about = { hook: hook.id, id: delivery.id, type: delivery.type }
    if (outcome.kind === 'delivered') {
      store.delivered(delivery)
      if (failures > 0) logger.info(about, 'webhook accepted again')
      attempted(outcome.kind, seconds, 0)
      return
    }
    if (outcome.kind === 'gone') {
      store.disable(hook.id, hook.url)
      logger.error(about, 'webhook disabled: its receiver has answered 410')
      attempted(outcome.kind, seconds, 0)
      return
    }
    const { error } = outcome
    const pauseMs = this.#retryMs[Math.min(failures, this.#retryMs.length - 1)] ?? 0
    const now = this.#now()
    const due = Math.round(now + pauseMs * (1 + JITTER * (2 * Math.random() - 1)))
    const isLast = failures + 1 > this.#retryMs.length
    const deadBefore = isLast ? now - this.#retryMs.reduce((sum, each) => sum + each, 0) : 0
    const dead = store.failed(hook.id, { due, error, deadBefore })
    logger.warn(
      { ...about, failures: failures + 1, due: new Date(due).toISOString() },
      `webhook not accepted: ${error}`,
    )
    if (dead > 0)
      logger.error(
        { hook: hook.id, dead },
        'webhook deliveries given up; npm run webhooks -- --retry sends them again',
      )
    attempted(outcome.kind, seconds, dead)
  }
}
