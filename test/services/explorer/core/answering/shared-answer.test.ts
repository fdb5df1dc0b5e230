import { describe, expect, it, vi } from 'vitest'
import { SharedAnswer } from '../../../../../services/explorer/core/answering/shared-answer.js'
import type { CancelSignal } from '../../../../../services/explorer/core/tables/cancellation.js'

describe('an answer that several clients share', () => {
  it('ends once, whenever its clients disconnect', async () => {
    const ended = vi.fn()
    const leave: (() => void)[] = []
    const answer = new SharedAnswer(() => Promise.resolve('made'), 1_000, ended)
    const joined = [0, 1].map(() => answer.join((callback) => leave.push(callback)))
    expect(await Promise.all(joined)).toEqual(['made', 'made'])
    // While they read it.
    for (const each of leave) each()
    expect(ended).toHaveBeenCalledTimes(1)
  })

  it('is cancelled when the last client disconnects before it is made', async () => {
    const ended = vi.fn()
    const leave: (() => void)[] = []
    let signal: CancelSignal | undefined
    const answer = new SharedAnswer(
      (own) => {
        signal = own
        return new Promise<never>(() => undefined)
      },
      1_000,
      ended,
    )
    const joined = [0, 1].map(() => answer.join((callback) => leave.push(callback)))
    leave[0]?.()
    expect(signal?.aborted).toBe(false)
    leave[1]?.()
    expect(signal?.aborted).toBe(true)
    for (const each of joined) await expect(each).rejects.toThrow('disconnected')
    expect(ended).toHaveBeenCalledTimes(1)
  })
})
