import { vi } from 'vitest'

/** What happens when the time of an answer or a query is up, which is when a test says so: no clock ends anything here. */
export const deadlines: (() => void)[] = []
const DEADLINE_MS = 5_000

export function holdDeadlines(): void {
  vi.restoreAllMocks()
  const begin = globalThis.setTimeout
  // fetch's own timers have arguments.
  const held = (callback: (...args: never[]) => void, ms?: number, ...args: never[]): NodeJS.Timeout => {
    if (ms !== DEADLINE_MS) return begin(callback, ms, ...args)
    deadlines.push(callback)
    return begin(() => undefined, 0)
  }
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(held)
}
