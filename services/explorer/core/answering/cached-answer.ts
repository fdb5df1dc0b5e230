import { type Coding, compress } from '../../../compression.js'
import type { PastState } from '../reads/validity.js'
import type { Encoded, Encoding } from './encoding.js'

/** The bytes of an answer in one content coding. */
export class Representation implements Encoded {
  /** The answer that a transport has prepared from these bytes. */
  prepared: object | undefined

  /** @param coding undefined for the body as it is. */
  constructor(
    readonly coding: Coding | undefined,
    readonly body: Buffer,
    readonly etag: string,
  ) {}
}

/** The properties of an answer beside its bytes. */
export interface AnswerFacts {
  /** The path of its read, as declared. */
  readonly path: string
  /** The result of the read's `emptyFrom`. */
  readonly emptyFrom?: number | undefined
  /** The answer does not change any more once this height is final; infinite if it may always change. */
  readonly finalFrom: number
  /** The `media` of its encoding. */
  readonly media?: Encoding['media'] | undefined
  /** True if it must not be kept, except by the client. */
  readonly isPrivate?: boolean | undefined
  /** The block as of which it describes the chain. Not set: the newest one of each state in which it is valid. */
  readonly past?: PastState | undefined
}

/** A successful answer in one encoding. */
export class CachedAnswer implements AnswerFacts {
  readonly path: string
  readonly identity: Representation
  readonly emptyFrom: number | undefined
  readonly finalFrom: number
  readonly media: Encoding['media'] | undefined
  readonly isPrivate: boolean
  readonly past: PastState | undefined
  readonly #coded: Partial<Record<Coding, Representation>> = {}
  readonly #compressing: Partial<Record<Coding, Promise<Representation>>> = {}

  constructor(
    { body, etag }: Encoded,
    { path, emptyFrom, finalFrom, media, isPrivate = false, past }: AnswerFacts,
  ) {
    this.path = path
    this.identity = new Representation(undefined, body, etag)
    this.emptyFrom = emptyFrom
    this.finalFrom = finalFrom
    this.media = media
    this.isPrivate = isPrivate
    this.past = past
  }

  get body(): Buffer {
    return this.identity.body
  }

  async #compress(coding: Coding, grow: (bytes: number) => void): Promise<Representation> {
    const body = await compress(this.body, coding)
    const representation = new Representation(coding, body, `${this.identity.etag.slice(0, -1)}-${coding}"`)
    this.#coded[coding] = representation
    grow(body.length)
    return representation
  }

  /** Returns the representation in a coding, undefined if it has not been made yet. */
  inCoding(coding: Coding | undefined): Representation | undefined {
    return coding === undefined ? this.identity : this.#coded[coding]
  }

  /** Compresses the body, once however many clients wait for it. @param grow is called with the number of bytes. */
  compressed(coding: Coding, grow: (bytes: number) => void): Promise<Representation> {
    return (this.#compressing[coding] ??= this.#compress(coding, grow))
  }
}
