import { createHash, timingSafeEqual } from 'node:crypto'

/** A secret that a request must contain, as `Authorization: Bearer <secret>` or in a header of its own. */
export class Token {
  readonly #digest: Buffer

  constructor(secret: string) {
    this.#digest = digestOf(secret)
  }

  /** Checks a header `Authorization`, in a time that does not depend on where it differs. */
  isIn(authorization: string): boolean {
    return this.is(/^bearer +(.*)$/i.exec(authorization)?.[1] ?? '')
  }

  /** Compares a value with the secret, in a time that does not depend on where they differ. */
  is(candidate: string): boolean {
    return timingSafeEqual(digestOf(candidate), this.#digest)
  }
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
