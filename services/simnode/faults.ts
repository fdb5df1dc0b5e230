export const FAULT_KINDS = ['slow', '503', 'truncate', 'reset', 'workqueue'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Fault {
  readonly kind: FaultKind
  /** The delay of `slow`. */
  readonly ms: number
  /** The method whose requests fail; undefined for all methods. */
  readonly method: string | undefined
}

/** A queue of faults, each of which applies to a number of requests. */
export class Faults {
  readonly #queue: { readonly fault: Fault; left: number }[] = []

  order(fault: Fault, count: number): void {
    this.#queue.push({ fault, left: count })
  }

  /** Returns the fault for a request of this method and counts it as used; undefined if there is none. */
  take(method: string): Fault | undefined {
    const at = this.#queue.findIndex(({ fault }) => fault.method === undefined || fault.method === method)
    const next = this.#queue[at]
    if (next === undefined) return undefined
    if (--next.left <= 0) this.#queue.splice(at, 1)
    return next.fault
  }

  /** The number of requests that are still to fail. */
  get pending(): number {
    return this.#queue.reduce((sum, { left }) => sum + left, 0)
  }

  clear(): void {
    this.#queue.length = 0
  }
}
