import type { WriteStream } from 'node:tty'

/** The interval between lines if the output is not a terminal. */
const LINE_EVERY_MS = 5_000
const DRAW_EVERY_MS = 100
const BAR = 24

/** Reports progress, rate and remaining time of a long job: as one live line on a terminal, as separate lines elsewhere. */
export class Progress {
  readonly #out: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }
  readonly #now: () => number
  #name = ''
  #beganAt = 0
  #first = 0
  #reportedAt = 0

  constructor(out: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }, now: () => number = Date.now) {
    this.#out = out
    this.#now = now
  }

  /** Reports `done` of `total` units of a step. The rate is measured from the first call with this name. */
  readonly step = (name: string, done: number, total: number): void => {
    const now = this.#now()
    if (name !== this.#name) {
      this.#name = name
      this.#beganAt = now
      this.#first = done
      this.#reportedAt = 0
    }
    const isTerminal = this.#out.isTTY === true
    if (done < total && now - this.#reportedAt < (isTerminal ? DRAW_EVERY_MS : LINE_EVERY_MS)) return
    this.#reportedAt = now
    const text = `${name}: ${String(done)} of ${String(total)}${this.#pace(done, total, now)}`
    this.#out.write(isTerminal ? `\r\u001b[K${bar(done, total)} ${text}` : `${text}\n`)
  }

  /** Clears the live line. */
  end(): void {
    if (this.#out.isTTY === true) this.#out.write('\r\u001b[K')
  }

  #pace(done: number, total: number, now: number): string {
    const seconds = (now - this.#beganAt) / 1000
    const rate = (done - this.#first) / seconds
    if (seconds < 1 || !(rate > 0)) return ''
    const left = Math.ceil((total - done) / rate)
    return `, ${rate.toFixed(rate < 10 ? 1 : 0)}/s, ${String(Math.floor(left / 60))} min ${String(left % 60)} s left`
  }
}

function bar(done: number, total: number): string {
  const filled = total === 0 ? BAR : Math.round((BAR * Math.min(done, total)) / total)
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`
}
