import { vi } from 'vitest'

/** Deadlines of answers and queries pass when the test says so: no clock ends anything here. */
export const deadlines: (() => void)[] = []
const DEADLINE_MS = 5_000

export function holdDeadlines(): void {
  vi.restoreAllMocks()
  const begin = globalThis.setTimeout
  // Timers of fetch itself have arguments.
  const held = (callback: (...args: never[]) => void, ms?: number, ...args: never[]): NodeJS.Timeout => {
    if (ms !== DEADLINE_MS) return begin(callback, ms, ...args)
    deadlines.push(callback)
    return begin(() => undefined, 0)
  }
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(held)
}
