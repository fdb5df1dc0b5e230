import type { WriteStream } from 'node:tty'

/** Plain lines are this far apart. */
const LINE_EVERY_MS = 5_000
const DRAW_EVERY_MS = 100
const BAR = 24

/** Tells how far a long job is, how fast, and how long it will take: one live line on a terminal, plain lines now and then elsewhere. */
export class Progress {
  readonly #out: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }
  readonly #now: () => number
  #name = ''
  #beganAt = 0
  #first = 0
  #toldAt = 0

  constructor(out: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }, now: () => number = Date.now) {
    this.#out = out
    this.#now = now
  }

  /** @param done of `total`; the first call of a name is where its rate is counted from. */
  readonly step = (name: string, done: number, total: number): void => {
    const now = this.#now()
    if (name !== this.#name) {
      this.#name = name
      this.#beganAt = now
      this.#first = done
      this.#toldAt = 0
    }
    const isTerminal = this.#out.isTTY === true
    if (done < total && now - this.#toldAt < (isTerminal ? DRAW_EVERY_MS : LINE_EVERY_MS)) return
    this.#toldAt = now
    const text = `${name}: ${String(done)} of ${String(total)}${this.#pace(done, total, now)}`
    this.#out.write(isTerminal ? `\r\u001b[K${bar(done, total)} ${text}` : `${text}\n`)
  }

  /** Leaves the terminal's line. */
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
