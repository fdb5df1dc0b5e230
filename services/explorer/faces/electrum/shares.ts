/** The most that all clients, and each of them, may have of something. */
interface Bounds {
  readonly all: number
  readonly each: number
}

/** The addresses of this machine: a proxy that serves many clients may run on it. */
const isLocal = (client: string): boolean => client.startsWith('127.') || client === LOOPBACK_NETWORK
/** The first 64 bits of `::1`. */
const LOOPBACK_NETWORK = '0000000000000000'

/** Counts what clients have of something that they share, so that none takes it from the others. */
export class Shares {
  readonly #bounds: Bounds
  readonly #counts = new Map<string, number>()
  #total = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get total(): number {
    return this.#total
  }

  /** Counts one more for a client. @returns false, without counting it, if it would be too many. */
  take(client: string): boolean {
    const { all, each } = this.#bounds
    const count = this.#counts.get(client) ?? 0
    if (this.#total >= all || (count >= each && !isLocal(client))) return false
    this.#total++
    this.#counts.set(client, count + 1)
    return true
  }

  /** Counts so many less for a client, which it had taken. */
  give(client: string, count: number): void {
    this.#total -= count
    const left = (this.#counts.get(client) ?? 0) - count
    if (left > 0) this.#counts.set(client, left)
    else this.#counts.delete(client)
  }
}
