interface Waiting {
  readonly weight: number
  readonly begin: () => void
}

/**
 * Limits the answers that are made at once. Further ones wait for their turn in the order of their requests: when all clients connect again
 * after a restart, each is answered after a while, and none is refused.
 */
export class Turns {
  readonly #most: number
  readonly #waiting = new Set<Waiting>()
  #used = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Calls a function when its turn has come. @param weight the number of answers that it counts as. */
  async during<T>(weight: number, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.size > 0 || !this.#hasRoom(weight))
      await new Promise<void>((begin) => this.#waiting.add({ weight, begin }))
    else this.#used += weight
    try {
      return await work()
    } finally {
      this.#used -= weight
      this.#next()
    }
  }

  #hasRoom(weight: number): boolean {
    return this.#used === 0 || this.#used + weight <= this.#most
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (!this.#hasRoom(waiting.weight)) return
      this.#waiting.delete(waiting)
      this.#used += waiting.weight
      waiting.begin()
    }
  }
}
