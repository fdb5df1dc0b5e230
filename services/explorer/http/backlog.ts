/** A client for which bytes may wait because it reads slowly. */
export interface Backlogged {
  getBufferedAmount(): number
  close(): void
}

/** The bytes that may wait for all clients together: a fraction of the memory that the manifests give an explorer. */
const MAX_BYTES = 64 * 2 ** 20

/**
 * Limits the bytes that wait for all clients together: the limit of each one alone would allow a few hundred clients that do not
 * read to exhaust the memory of the explorer, and with it the service of all others.
 */
export class Backlog {
  readonly #maxBytes: number
  #before = new Map<Backlogged, number>()

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
  }

  /**
   * Disconnects clients while too many bytes wait: those that have read nothing since the previous check, the largest backlog
   * first. Clients that are only behind stay connected.
   */
  check(clients: Iterable<Backlogged>): void {
    const now = new Map<Backlogged, number>()
    let total = 0
    for (const client of clients) {
      const bytes = client.getBufferedAmount()
      if (bytes > 0) now.set(client, bytes)
      total += bytes
    }
    if (total > this.#maxBytes) {
      const stalled = [...now]
        .filter(([client, bytes]) => bytes >= (this.#before.get(client) ?? Number.POSITIVE_INFINITY))
        .sort(([, one], [, other]) => other - one)
      for (const [client, bytes] of stalled) {
        if (total <= this.#maxBytes) break
        total -= bytes
        now.delete(client)
        client.close()
      }
    }
    this.#before = now
  }
}
