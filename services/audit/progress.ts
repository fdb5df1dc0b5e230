import type { WriteStream } from 'node:tty'

/** Plain lines are this far apart. */
const LINE_EVERY_MS = 5_000
const DRAW_EVERY_MS = 100

/** Tells how far a long job is: one live line on a terminal, plain lines now and then elsewhere. */
export class Progress {
  readonly #out: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }
  #name = ''
  #told = 0

  constructor(out: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }) {
    this.#out = out
  }

  readonly step = (name: string, done: number, total: number): void => {
    const isNew = name !== this.#name
    this.#name = name
    const every = this.#out.isTTY === true ? DRAW_EVERY_MS : LINE_EVERY_MS
    if (!isNew && Date.now() - this.#told < every) return
    this.#told = Date.now()
    const text = `${name}: ${String(done)} of ${String(total)}`
    this.#out.write(this.#out.isTTY === true ? `\r\u001b[K${text}` : `${text}\n`)
  }

  /** Leaves the terminal's line. */
  end(): void {
    if (this.#out.isTTY === true) this.#out.write('\r\u001b[K')
  }
}
