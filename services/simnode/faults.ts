export const FAULT_KINDS = ['slow', '503', 'truncate', 'reset', 'workqueue'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Fault {
  readonly kind: FaultKind
  /** How long `slow` is. */
  readonly ms: number
  /** Only requests of this method; undefined for all. */
  readonly method: string | undefined
}

/** Faults on order: each spoils so many of the next requests. */
export class Faults {
  readonly #queue: { readonly fault: Fault; left: number }[] = []

  order(fault: Fault, count: number): void {
    this.#queue.push({ fault, left: count })
  }

  /** The fault for a request of this method, which is then used up; undefined if it is spared. */
  take(method: string): Fault | undefined {
    const at = this.#queue.findIndex(({ fault }) => fault.method === undefined || fault.method === method)
    const found = this.#queue[at]
    if (found === undefined) return undefined
    if (--found.left <= 0) this.#queue.splice(at, 1)
    return found.fault
  }

  /** How many requests are still to be spoilt. */
  get pending(): number {
    return this.#queue.reduce((sum, { left }) => sum + left, 0)
  }

  clear(): void {
    this.#queue.length = 0
  }
}
