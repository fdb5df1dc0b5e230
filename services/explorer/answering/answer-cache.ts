import { createHash } from 'node:crypto'
import type { Freshness } from '../reads/read.js'

/** The bytes of a good answer and the tag that names them. */
export interface CachedAnswer {
  readonly body: Buffer
  readonly etag: string
  /** As the read's `emptyFrom` has it. */
  readonly emptyFrom?: number | undefined
}

/** What answers depend on: other values, other answers. */
export interface Moment {
  /** Position of the head. */
  readonly position: number
  readonly tipHash: string
  readonly poolVersion: number
  /** Of labels and mining pools. */
  readonly definitions: number
}

const MOST_BYTES = 24 * 2 ** 20
/** What an entry takes beside its body. */
const ENTRY_BYTES = 300

interface Shelf {
  readonly answers: Map<string, CachedAnswer>
  bytes: number
}

/** Keeps the bytes of answers for as long as they are true: head-fresh ones until the next head, pool-fresh ones until either changes. */
export class AnswerCache {
  readonly #shelves: Readonly<Record<'head' | 'pool', Shelf>> = {
    head: { answers: new Map(), bytes: 0 },
    pool: { answers: new Map(), bytes: 0 },
  }
  #moment: Moment = { position: -1, tipHash: '', poolVersion: -1, definitions: -1 }

  get(fresh: Freshness, key: string, now: Moment): CachedAnswer | undefined {
    this.#advance(now)
    return !isKept(fresh) ? undefined : this.#shelves[fresh].answers.get(key)
  }

  /** Keeps an answer made of `then`, unless that is over. */
  keep(fresh: Freshness, key: string, answer: CachedAnswer, then: Moment): void {
    if (!isKept(fresh) || !isSame(fresh, then, this.#moment)) return
    const shelf = this.#shelves[fresh]
    const bytes = answer.body.length + key.length * 2 + ENTRY_BYTES
    if (bytes > MOST_BYTES / 8 || shelf.answers.has(key)) return
    if (shelf.bytes + bytes > MOST_BYTES / 2) empty(shelf)
    shelf.answers.set(key, answer)
    shelf.bytes += bytes
  }

  #advance(now: Moment): void {
    if (!isSame('head', now, this.#moment)) empty(this.#shelves.head)
    if (!isSame('pool', now, this.#moment)) empty(this.#shelves.pool)
    this.#moment = now
  }
}

const isKept = (fresh: Freshness): fresh is 'head' | 'pool' => fresh === 'head' || fresh === 'pool'

function isSame(fresh: 'head' | 'pool', one: Moment, other: Moment): boolean {
  if (one.position !== other.position || one.tipHash !== other.tipHash) return false
  if (one.definitions !== other.definitions) return false
  return fresh === 'head' || one.poolVersion === other.poolVersion
}

function empty(shelf: Shelf): void {
  shelf.answers.clear()
  shelf.bytes = 0
}

/** Serialises an answer; its tag names the state that it is of as well as its bytes. */
export function toBytes(answer: unknown, tipHash: string): CachedAnswer {
  const body = Buffer.from(JSON.stringify(answer))
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 16)
  return { body, etag: `"${tipHash.slice(-16)}-${digest}"` }
}

/** Whether a client's If-None-Match holds the tag; `*` and weak tags match as RFC 9110 has it. */
export function matchesTag(header: string, etag: string): boolean {
  return header.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tag === etag
  })
}
