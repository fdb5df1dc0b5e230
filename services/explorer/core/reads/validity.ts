import type { ChainState } from '../state/state.js'

/** The block as of which an answer describes the chain. */
export type PastState = Pick<ChainState, 'height' | 'tipHash'>

/** Records, while an answer is made, how long it is valid. */
export class Validity {
  readonly #objects = new Set<string>()
  #finalFrom: number | undefined
  #untilMs: number | undefined
  #past: PastState | undefined

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

  /** Records the block as of which the answer describes the chain, if it is not the newest one: it depends on nothing else. */
  asOf(past: PastState): void {
    this.#past = past
  }

  /** The block that was recorded by `asOf`. */
  get past(): PastState | undefined {
    return this.#past
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
