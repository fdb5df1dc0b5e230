/** A response whose client has not read its body to the end yet. */
export interface Waiting {
  readonly body: Buffer
  /** Milliseconds, as of `performance.now`. */
  readonly began: number
  /** Returns the number of bytes of the body that the client has read. */
  readonly read: () => number
  /** Disconnects the client. */
  readonly close: () => void
}

/** The part of a response of uWebSockets by which a body is handed over. */
interface Response {
  getWriteOffset(): number
  tryEnd(chunk: Buffer, totalBytes: number): [isTaken: boolean, isDone: boolean]
  onWritable(handler: (offset: number) => boolean): unknown
  close(): unknown
}

/**
 * The size of a body up to which uWebSockets copies what the client has not read yet: little more than the system takes. Larger
 * bodies are handed over as they are read, and shared by all their clients.
 */
export const MAX_COPIED_BYTES = 64 * 1024

/** The bytes that may wait for all clients together: a fraction of the memory that the manifests give an explorer. */
const MAX_BYTES = 64 * 2 ** 20
/** The time for which a client is not disconnected, however slowly it reads. */
const GRACE_MS = 1_000

/**
 * Limits the bytes of answers that wait for clients. A body is counted once, however many clients read it. If too many bytes wait,
 * the clients of the body that is read most slowly are disconnected.
 */
export class WaitingBodies {
  readonly #readers = new Map<Buffer, Set<Waiting>>()
  #bytes = 0

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** The bytes that wait. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Sends a body after the headers of its response.
   * @param onDisconnect registers a callback for the disconnect of the client, called at once if it has disconnected.
   */
  send(res: Response, body: Buffer, onDisconnect: (callback: () => void) => void): void {
    const start = res.getWriteOffset()
    const [, isDone] = res.tryEnd(body, body.length)
    if (isDone) return
    let read = 0
    const close = (): void => {
      res.close()
    }
    const end = this.add({ body, began: performance.now(), read: () => read, close })
    onDisconnect(end)
    res.onWritable((offset) => {
      read = offset - start
      const [isTaken, isDoneNow] = res.tryEnd(body.subarray(read), body.length)
      if (isDoneNow) end()
      return isTaken
    })
  }

  /** Adds a response. @returns a function to call when the client has read it or has disconnected. */
  add(waiting: Waiting): () => void {
    const { body } = waiting
    const readers = this.#readers.get(body) ?? new Set()
    if (readers.size === 0) {
      this.#readers.set(body, readers)
      this.#bytes += body.length
    }
    readers.add(waiting)
    this.check()
    return () => {
      if (!readers.delete(waiting) || readers.size > 0) return
      this.#readers.delete(body)
      this.#bytes -= body.length
    }
  }

  /** Disconnects the slowest clients while too many bytes wait. Call at times: those that have just begun are spared. */
  check(): void {
    const now = performance.now()
    while (this.#bytes > this.maxBytes) {
      let slowest: { readonly rate: number; readonly readers: ReadonlySet<Waiting> } | undefined
      for (const readers of this.#readers.values()) {
        const rate = rateOf(readers, now)
        if (rate !== undefined && (slowest === undefined || rate < slowest.rate)) slowest = { rate, readers }
      }
      if (slowest === undefined) return
      const before = this.#bytes
      for (const { close } of [...slowest.readers]) close()
      // Closing a connection ends its response at once.
      if (this.#bytes === before) return
    }
  }
}

/** Returns the bytes per second of the fastest reader; undefined if a reader has just begun. */
function rateOf(readers: ReadonlySet<Waiting>, now: number): number | undefined {
  let fastest = 0
  for (const { began, read } of readers) {
    if (now - began < GRACE_MS) return undefined
    fastest = Math.max(fastest, (read() * 1_000) / (now - began))
  }
  return fastest
}

/** Returns the parts of a body. @param read receives the number of bytes of the parts before each one. */
export async function* slicesOf(body: Buffer, read: (bytes: number) => void): AsyncGenerator<Buffer> {
  for (let at = 0; at < body.length; at += MAX_COPIED_BYTES) {
    read(at)
    yield await Promise.resolve(body.subarray(at, at + MAX_COPIED_BYTES))
  }
}
