import { codeOf } from '../../pipelines/errors.js'
import type { Health } from '../metrics/observation.js'
import { MetricSet } from '../metrics/prometheus.js'
import { Vitals } from '../metrics/vitals.js'
import type { Outcome } from './delivery/sender.js'

/** The deliveries of the hooks of the file that are not disabled. */
export interface QueueState {
  readonly waiting: number
  readonly dead: number
  /** The time at which the oldest waiting delivery was queued, in Unix milliseconds; undefined for none. */
  readonly oldest: number | undefined
}

export interface WebhooksSources {
  readonly height: () => number | undefined
  readonly queue: () => QueueState
  readonly isFileRefused: () => boolean
}

/** The metrics of the webhooks and their answer to `/health`. */
export class WebhooksMetrics extends MetricSet {
  readonly #sources: WebhooksSources
  readonly #vitals = new Vitals()
  readonly #queued = this.count('queued_total', 'Deliveries that were queued.')
  readonly #attempts = this.seconds('attempt_duration_seconds', 'Time of an attempt, by outcome.', 'outcome')
  readonly #dead = this.count('given_up_total', 'Deliveries that were given up.')
  readonly #errors = this.count(
    'errors_total',
    'Failed steps in reading the log, by code; each was retried.',
    'code',
  )

  constructor(sources: WebhooksSources) {
    super('headwater_webhooks_')
    this.#sources = sources
    const { queue } = sources
    this.gauge('height', 'Height of the block up to which events are queued.', sources.height)
    this.gauge('waiting', 'Deliveries that wait for their receivers.', () => queue().waiting)
    this.gauge('dead', 'Deliveries that were given up and are kept for the operator.', () => queue().dead)
    this.gauge('oldest_seconds', 'Age of the oldest delivery that waits.', () => {
      const { oldest } = queue()
      return oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000)
    })
    this.gauge(
      'file_refused',
      'Whether WEBHOOKS_FILE has an error, so that an earlier version is used.',
      () => Number(sources.isFileRefused()),
    )
  }

  /** Records a step in reading the log. @param queued the number of deliveries that it has queued. */
  worked(queued: number): void {
    this.#vitals.worked()
    this.#queued.inc(queued)
  }

  failed(error: unknown): void {
    this.#vitals.failed(error)
    this.#errors.inc({ code: codeOf(error) })
  }

  readonly attempted = (outcome: Outcome['kind'], seconds: number, dead: number): void => {
    this.#attempts.observe({ outcome }, seconds)
    this.#dead.inc(dead)
  }

  /** Returns 503 with reasons if nothing could be read for long. Receivers that fail are no reason: a restart does not help. */
  health(): Health {
    const reasons = this.#vitals.reasons()
    const isWell = reasons.length === 0
    const { waiting, dead } = this.#sources.queue()
    const height = this.#sources.height() ?? -1
    const state = { height, waiting, dead, fileRefused: this.#sources.isFileRefused() }
    return { isWell, body: { status: isWell ? 'ok' : 'degraded', service: 'webhooks', reasons, ...state } }
  }
}
