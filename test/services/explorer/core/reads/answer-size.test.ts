import { describe, expect, it } from 'vitest'
import {
  AnswerSize,
  AnswerTooLarge,
  MakingMemory,
} from '../../../../../services/explorer/core/reads/answer-size.js'
import { Cancellation } from '../../../../../services/explorer/core/tables/cancellation.js'

const MB = 1_000_000

/** Returns whether a promise is settled after what waits in memory. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  await new Promise((resolve) => setImmediate(resolve))
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

describe('the size of an answer', () => {
  const size = (max?: number) => new AnswerSize(new MakingMemory(), new Cancellation(), max)

  it('has room for 3,000,000 characters of what may be left out, each byte being two', () => {
    const own = size()
    expect([1_400_000, 200_000, 100_000, 1].map(own.takes)).toEqual([true, false, true, false])
    own.reset()
    expect(own.takes(1_500_000)).toBe(true)
  })

  it('is refused beyond the maximum, but not for a single item', () => {
    const own = size(100)
    own.add(1_000)
    expect(() => own.add(1)).toThrow(AnswerTooLarge)
    const several = size(100)
    several.add(60)
    several.add(40)
    expect(() => several.add(1)).toThrow(/lower limit/)
  })
})

describe('the memory of answers in the making', () => {
  it('is given to one after another, in order, and at once to small ones', async () => {
    const memory = new MakingMemory(10 * MB)
    const answers = Array.from({ length: 3 }, () => new AnswerSize(memory, new Cancellation()))
    const [first, second, third] = answers as [AnswerSize, AnswerSize, AnswerSize]
    await first.reserve(6 * MB)
    const waiting = [second.reserve(6 * MB), third.reserve(1 * MB)]
    expect(await isDone(Promise.race(waiting))).toBe(false)
    await new AnswerSize(memory, new Cancellation()).reserve(1_000)
    first.release()
    first.release()
    await Promise.all(waiting)
  })

  it('is given to one that is larger than all of it, alone', async () => {
    const memory = new MakingMemory(1 * MB)
    const [first, second] = [0, 1].map(() => new AnswerSize(memory, new Cancellation()))
    await first?.reserve(8 * MB)
    const waiting = second?.reserve(8 * MB) ?? Promise.resolve()
    expect(await isDone(waiting)).toBe(false)
    first?.release()
    await waiting
  })

  it('is not waited for while an answer holds some: two that need more cannot block each other', async () => {
    const memory = new MakingMemory(10 * MB)
    const [first, second] = [0, 1].map(() => new AnswerSize(memory, new Cancellation()))
    await first?.reserve(5 * MB)
    await second?.reserve(5 * MB)
    const both = [first?.reserve(8 * MB), second?.reserve(8 * MB)]
    await both[0]
    first?.release()
    await both[1]
  })

  it('is given back for all reads of an operation, which reserve it at the same time', async () => {
    const memory = new MakingMemory(10 * MB)
    for (let count = 0; count < 50; count++) {
      const operation = new AnswerSize(memory, new Cancellation())
      await Promise.all([operation.reserve(1 * MB), operation.reserve(2 * MB), operation.reserve(1_000)])
      operation.release()
    }
    // All of it is free.
    const whole = new AnswerSize(memory, new Cancellation())
    await whole.reserve(10 * MB)
    const late = new AnswerSize(memory, new Cancellation())
    const waiting = late.reserve(1 * MB)
    late.release()
    whole.release()
    await waiting
    await memory.take(10 * MB, new Cancellation())
  })

  it('is the sum of what the reads of an operation need', async () => {
    const memory = new MakingMemory(10 * MB)
    const operation = new AnswerSize(memory, new Cancellation())
    for (let count = 0; count < 6; count++) await operation.reserve(1 * MB)
    const other = new AnswerSize(memory, new Cancellation()).reserve(5 * MB)
    expect(await isDone(other)).toBe(false)
    operation.release()
    await other
  })

  it('is waited for by others if several reads of a cancelled operation waited for it', async () => {
    const memory = new MakingMemory(2 * MB)
    await memory.take(2 * MB, new Cancellation())
    const cancelled = new Cancellation()
    const gone = [memory.take(1 * MB, cancelled), memory.take(1 * MB, cancelled)]
    const other = memory.take(1 * MB, new Cancellation())
    cancelled.abort(new Error('the client has disconnected'))
    for (const each of gone) await expect(each).rejects.toThrow('the client has disconnected')
    memory.give(2 * MB)
    await other
  })

  it('is not waited for by an answer that was cancelled', async () => {
    const memory = new MakingMemory(1 * MB)
    await memory.take(1 * MB, new Cancellation())
    const cancelled = new Cancellation()
    const waiting = memory.take(1 * MB, cancelled)
    const next = memory.take(1 * MB, new Cancellation())
    cancelled.abort(new Error('the client has disconnected'))
    await expect(waiting).rejects.toThrow('the client has disconnected')
    memory.give(1 * MB)
    await next
  })
})
