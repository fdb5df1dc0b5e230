import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Freshness } from '../reads/read.js'

/** The bytes of an answer. */
export interface Encoded {
  readonly body: Buffer
  /** Identifies the bytes; empty if the transport does not use it. */
  readonly etag: string
}

/** The format of a transport's answers. */
export interface Encoding {
  readonly name: 'json' | 'protobuf'
  /** Encodes an answer. @param tipHash the tip of the state that the answer describes. */
  readonly encode: (answer: unknown, tipHash: string) => Encoded
}

/** A successful answer in one encoding. */
export interface CachedAnswer extends Encoded {
  /** The result of the read's `emptyFrom`. */
  readonly emptyFrom?: number | undefined
}

/** The versions that answers depend on: an answer is valid while they are unchanged. */
export interface Moment {
  /** Position of the head. */
  readonly position: number
  readonly tipHash: string
  readonly mempoolVersion: number
  /** Version of labels and mining pools. */
  readonly definitions: number
}

/** The maximum number of bytes of all answers of one freshness. */
const MAX_BYTES = 12 * 2 ** 20
const MAX_ENTRY_BYTES = 3 * 2 ** 20
/** The overhead of an entry beside its body and key. */
const ENTRY_BYTES = 300

const newCache = () =>
  new LRUCache<string, CachedAnswer>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: ({ body }, key) => body.length + key.length * 2 + ENTRY_BYTES,
  })

/** Caches encoded answers while they are valid: those of the head until the next head, those of the mempool until either changes. */
export class AnswerCache {
  readonly #caches = { head: newCache(), mempool: newCache() }
  #moment: Moment = { position: -1, tipHash: '', mempoolVersion: -1, definitions: -1 }

  get(fresh: Freshness, key: string, now: Moment): CachedAnswer | undefined {
    if (!isSame('head', now, this.#moment)) this.#caches.head.clear()
    if (!isSame('mempool', now, this.#moment)) this.#caches.mempool.clear()
    this.#moment = now
    return isKept(fresh) ? this.#caches[fresh].get(key) : undefined
  }

  /** Stores an answer that was computed at `then`, unless it is outdated. */
  keep(fresh: Freshness, key: string, answer: CachedAnswer, then: Moment): void {
    if (isKept(fresh) && isSame(fresh, then, this.#moment)) this.#caches[fresh].set(key, answer)
  }
}

const isKept = (fresh: Freshness): fresh is 'head' | 'mempool' => fresh === 'head' || fresh === 'mempool'

function isSame(fresh: 'head' | 'mempool', one: Moment, other: Moment): boolean {
  if (one.position !== other.position || one.tipHash !== other.tipHash) return false
  if (one.definitions !== other.definitions) return false
  return fresh === 'head' || one.mempoolVersion === other.mempoolVersion
}

/** JSON. The ETag identifies both the state and the bytes of the answer. */
export const JSON_ENCODING: Encoding = {
  name: 'json',
  encode: (answer, tipHash) => {
    const body = Buffer.from(JSON.stringify(answer))
    const digest = createHash('sha256').update(body).digest('base64url').slice(0, 16)
    return { body, etag: `"${tipHash.slice(-16)}-${digest}"` }
  },
}

/** Returns whether an If-None-Match header contains the tag; `*` and weak tags match as RFC 9110 defines. */
export function matchesTag(header: string, etag: string): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tag === etag
  })
}
