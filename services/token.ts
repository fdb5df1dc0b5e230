import { createHash, timingSafeEqual } from 'node:crypto'

/** A secret that a request has to name, as `Authorization: Bearer <secret>` or as a header of its own. */
export class Token {
  readonly #digest: Buffer

  constructor(secret: string) {
    this.#digest = digestOf(secret)
  }

  /** Takes the same time whatever is wrong with what was said. */
  isIn(authorization: string): boolean {
    return this.is(/^bearer +(.*)$/i.exec(authorization)?.[1] ?? '')
  }

  /** Takes the same time whatever is said instead. */
  is(said: string): boolean {
    return timingSafeEqual(digestOf(said), this.#digest)
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
