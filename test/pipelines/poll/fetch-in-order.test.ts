import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { fetchInOrder, type FetchOrder } from '../../../pipelines/poll/fetch-in-order.js'

const never = new AbortController().signal

async function all<T>(order: FetchOrder<T>): Promise<T[]> {
  const found: T[] = []
  for await (const ready of fetchInOrder(order, never)) found.push(...ready)
  return found
}

describe('fetchInOrder', () => {
  it('yields in order what arrives out of order', async () => {
    let running = 0
    let most = 0
    const fetch = async (i: number): Promise<{ value: number; bytes: number }> => {
      most = Math.max(most, ++running)
      await sleep(Math.random() * 4)
      running--
      return { value: i, bytes: 1 }
    }
    const found = await all({ from: 3, to: 102, inFlight: 7, maxBytes: 1e9, fetch })
    expect(found).toEqual(Array.from({ length: 100 }, (_, i) => i + 3))
    expect(most).toBe(7)
  })

  it('buffers no more than its bytes behind a slow first answer', async () => {
    const pending = new Map<number, () => void>()
    const fetch = (i: number): Promise<{ value: number; bytes: number }> =>
      new Promise((resolve) => {
        pending.set(i, () => {
          resolve({ value: i, bytes: 100 })
        })
      })
    const answer = async (numbers: readonly number[]): Promise<void> => {
      for (const i of numbers) pending.get(i)?.()
      for (const i of numbers) pending.delete(i)
      // The effects of an answer have begun by then.
      await setImmediate()
    }
    const others = (): number[] => [...pending.keys()].filter((i) => i > 0)
    const fetches = fetchInOrder({ from: 0, to: 1000, inFlight: 4, maxBytes: 1000, fetch }, never)
    const first = fetches.next()
    let ahead = 0
    for (let now = others(); now.length > 0; now = others()) {
      ahead += now.length
      // It would never end.
      if (ahead > 100) break
      await answer(now)
    }
    // Nine wait: a tenth, and the first itself, would exceed the bytes. Those started while no size was known are in
    // addition.
    expect(ahead).toBeGreaterThanOrEqual(9)
    expect(ahead).toBeLessThanOrEqual(12)
    expect([...pending.keys()]).toEqual([0])
    await answer([0])
    expect((await first).value).toEqual(Array.from({ length: ahead + 1 }, (_, i) => i))
    // It continues.
    expect(others().length).toBeGreaterThan(0)
    await fetches.return(undefined)
  })

  it('yields an answer that is larger than the buffer', async () => {
    const fetch = (i: number): Promise<{ value: number; bytes: number }> =>
      Promise.resolve({ value: i, bytes: 5000 })
    expect(await all({ from: 0, to: 9, inFlight: 4, maxBytes: 1000, fetch })).toHaveLength(10)
  })

  it('rejects with the first error, after the results before it', async () => {
    const fetch = (i: number): Promise<{ value: number; bytes: number }> =>
      i === 5 ? Promise.reject(new Error('five')) : Promise.resolve({ value: i, bytes: 1 })
    const fetches = fetchInOrder({ from: 0, to: 9, inFlight: 3, maxBytes: 1e9, fetch }, never)
    const found: number[] = []
    const reading = (async () => {
      for await (const ready of fetches) found.push(...ready)
    })()
    await expect(reading).rejects.toThrow('five')
    expect(found).toEqual([0, 1, 2, 3, 4])
  })

  it('cancels pending requests when the consumer stops', async () => {
    const aborted: number[] = []
    const fetch = async (i: number, signal: AbortSignal): Promise<{ value: number; bytes: number }> => {
      signal.addEventListener('abort', () => aborted.push(i))
      await sleep(i === 0 ? 0 : 60_000, undefined, { signal })
      return { value: i, bytes: 1 }
    }
    const order = { from: 0, to: 9, inFlight: 3, maxBytes: 1e9, fetch }
    for await (const ready of fetchInOrder(order, never)) {
      expect(ready).toEqual([0])
      break
    }
    expect(aborted).toEqual([0, 1, 2, 3])
  })

  it('cancels pending requests when the signal aborts', async () => {
    const stop = new AbortController()
    const fetch = async (i: number, signal: AbortSignal): Promise<{ value: number; bytes: number }> => {
      await sleep(60_000, undefined, { signal })
      return { value: i, bytes: 1 }
    }
    const fetches = fetchInOrder({ from: 0, to: 9, inFlight: 3, maxBytes: 1e9, fetch }, stop.signal)
    const next = fetches.next()
    stop.abort()
    await expect(next).rejects.toThrow()
  })

  it('ends at once if there is nothing to fetch', async () => {
    expect(
      await all({
        from: 5,
        to: 4,
        inFlight: 3,
        maxBytes: 1,
        fetch: () => Promise.reject(new Error('asked')),
      }),
    ).toEqual([])
  })
})
