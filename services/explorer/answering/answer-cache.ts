import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Freshness } from '../reads/read.js'

/** The bytes of an answer. */
export interface Encoded {
  readonly body: Buffer
  /** Names them; empty where the transport has no use for it. */
  readonly etag: string
}

/** How a transport writes answers. */
export interface Encoding {
  readonly name: 'json' | 'protobuf'
  /** @param tipHash of the state that the answer is of. */
  readonly encode: (answer: unknown, tipHash: string) => Encoded
}

/** A good answer as one encoding has it. */
export interface CachedAnswer extends Encoded {
  /** As the read's `emptyFrom` has it. */
  readonly emptyFrom?: number | undefined
}

/** What answers depend on: other values, other answers. */
export interface Moment {
  /** Position of the head. */
  readonly position: number
  readonly tipHash: string
  readonly mempoolVersion: number
  /** Of labels and mining pools. */
  readonly definitions: number
}

/** Of all answers of one freshness. */
const MOST_BYTES = 12 * 2 ** 20
const MOST_ENTRY_BYTES = 3 * 2 ** 20
/** What an entry takes beside its body. */
const ENTRY_BYTES = 300

const emptyShelf = () =>
  new LRUCache<string, CachedAnswer>({
    maxSize: MOST_BYTES,
    maxEntrySize: MOST_ENTRY_BYTES,
    sizeCalculation: ({ body }, key) => body.length + key.length * 2 + ENTRY_BYTES,
  })

/** Keeps the bytes of answers for as long as they are true: head-fresh ones until the next head, pool-fresh ones until either changes. */
export class AnswerCache {
  readonly #shelves = { head: emptyShelf(), mempool: emptyShelf() }
  #moment: Moment = { position: -1, tipHash: '', mempoolVersion: -1, definitions: -1 }

  get(fresh: Freshness, key: string, now: Moment): CachedAnswer | undefined {
    if (!isSame('head', now, this.#moment)) this.#shelves.head.clear()
    if (!isSame('mempool', now, this.#moment)) this.#shelves.mempool.clear()
    this.#moment = now
    return isKept(fresh) ? this.#shelves[fresh].get(key) : undefined
  }

  /** Keeps an answer made of `then`, unless that is over. */
  keep(fresh: Freshness, key: string, answer: CachedAnswer, then: Moment): void {
    if (isKept(fresh) && isSame(fresh, then, this.#moment)) this.#shelves[fresh].set(key, answer)
  }
}

const isKept = (fresh: Freshness): fresh is 'head' | 'mempool' => fresh === 'head' || fresh === 'mempool'

function isSame(fresh: 'head' | 'mempool', one: Moment, other: Moment): boolean {
  if (one.position !== other.position || one.tipHash !== other.tipHash) return false
  if (one.definitions !== other.definitions) return false
  return fresh === 'head' || one.mempoolVersion === other.mempoolVersion
}

/** JSON; the tag names the state that the answer is of as well as its bytes. */
export const JSON_ENCODING: Encoding = {
  name: 'json',
  encode: (answer, tipHash) => {
    const body = Buffer.from(JSON.stringify(answer))
    const digest = createHash('sha256').update(body).digest('base64url').slice(0, 16)
    return { body, etag: `"${tipHash.slice(-16)}-${digest}"` }
  },
}

/** Whether a client's If-None-Match holds the tag; `*` and weak tags match as RFC 9110 has it. */
export function matchesTag(header: string, etag: string): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tag === etag
  })
}
