import { combined, countersOf, type MetricSnapshot, textOf } from '../../../metrics/prometheus.js'

/**
 * The metrics of all processes as the metrics of one process. Counters never fall: the counters of a process that has exited stay
 * included, as they were when they were last read.
 */
export class CombinedMetrics<Process> {
  readonly #last = new Map<Process, MetricSnapshot>()
  /** The counters of processes that have exited. */
  #exited: MetricSnapshot[] = []

  read(from: Process, metrics: MetricSnapshot): void {
    this.#last.set(from, metrics)
  }

  /** Keeps the counters of a process that has exited. */
  exited(from: Process): void {
    const last = this.#last.get(from)
    this.#last.delete(from)
    if (last !== undefined) this.#exited.push(countersOf(last))
  }

  /** Returns the metrics as text. @param own the metrics of the primary. */
  async text(own: MetricSnapshot): Promise<{ text: string; type: string }> {
    const exited = this.#exited
    if (exited.length > 1) this.#exited = [await combined(exited), ...this.#exited.slice(exited.length)]
    return textOf(await combined([...this.#last.values(), ...this.#exited, own]))
  }
}
