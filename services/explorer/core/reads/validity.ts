/** Records, while an answer is made, how long it is valid. */
export class Validity {
  readonly #objects = new Set<string>()
  #finalFrom: number | undefined
  #untilMs: number | undefined

  /** Records a block, transaction or script that the answer of a read with `fresh: 'objects'` depends on, by its hash. */
  dependsOn(hash: string): void {
    this.#objects.add(hash)
  }

  /**
   * Records the height of a block without which the answer would be different. When all recorded heights are final, the answer of a
   * read with `fresh: 'objects'` does not change any more.
   * @param height infinite if blocks yet to come may change the answer.
   */
  finalFrom(height: number): void {
    this.#finalFrom = Math.max(this.#finalFrom ?? 0, height)
  }

  /** Records a time in Unix milliseconds at which the answer becomes outdated; infinite if time alone does not change it. */
  until(ms: number): void {
    this.#untilMs = Math.min(this.#untilMs ?? Number.POSITIVE_INFINITY, ms)
  }

  get objects(): ReadonlySet<string> {
    return this.#objects
  }

  /** The height from which on the answer is final; infinite if none was recorded. */
  get finalHeight(): number {
    return this.#finalFrom ?? Number.POSITIVE_INFINITY
  }

  /** The earliest recorded time; undefined if none was recorded. */
  get untilMs(): number | undefined {
    return this.#untilMs
  }
}
