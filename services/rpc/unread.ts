/** A call whose response waits for its client. */
interface Unread {
  readonly bytes: number
  /** Milliseconds of `performance.now()`. */
  readonly since: number
  /** Ends the call without its response. */
  readonly end: () => void
}

/** The bytes that may wait for all clients together: a fraction of the memory of an explorer, like the limit of the feed. */
const MAX_BYTES = 64 * 2 ** 20
/** The size up to which a response is always sent: clients that do not read large ones must not keep others from small ones. */
const MAX_UNCOUNTED_BYTES = 16 * 1024
/** The time after which a response that was not read may be dropped for others: its client does not read, or hardly. */
const MIN_AGE_MS = 1_000

/**
 * Limits the bytes of responses that wait for all clients of a server together. HTTP/2 lets a client of any number of connections
 * request responses and read none of them. Node's own limit (`maxSessionMemory`) is of no use: it counts what was written to
 * streams that the client has cancelled, so that a connection is stuck after some of them.
 */
export class UnreadResponses {
  /** Oldest first. */
  readonly #calls = new Set<Unread>()
  #bytes = 0

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /**
   * Counts a response that is about to be sent. If there are too many bytes, ends the calls that have waited longest.
   * @param end ends its call.
   * @returns the function to call when the call is closed; undefined if the response must not be sent.
   */
  add(bytes: number, end: () => void): (() => void) | undefined {
    if (bytes <= MAX_UNCOUNTED_BYTES) return () => undefined
    const now = performance.now()
    for (const call of this.#calls) {
      if (this.#bytes + bytes <= this.maxBytes || now - call.since < MIN_AGE_MS) break
      this.#remove(call)
      call.end()
    }
    // One that is larger than the limit is sent if nothing else waits.
    if (this.#bytes > 0 && this.#bytes + bytes > this.maxBytes) return undefined
    const call = { bytes, since: now, end }
    this.#calls.add(call)
    this.#bytes += bytes
    return () => {
      this.#remove(call)
    }
  }

  #remove(call: Unread): void {
    if (this.#calls.delete(call)) this.#bytes -= call.bytes
  }
}
