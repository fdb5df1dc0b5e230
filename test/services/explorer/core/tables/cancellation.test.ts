import { describe, expect, it } from 'vitest'
import { Cancellation } from '../../../../../services/explorer/core/tables/cancellation.js'

describe('a cancellation', () => {
  it('calls each listener once, and has the first reason', () => {
    const cancellation = new Cancellation()
    const called: string[] = []
    cancellation.addEventListener('abort', () => called.push(`one: ${String(cancellation.aborted)}`))
    cancellation.addEventListener('abort', () => called.push('other'))
    cancellation.throwIfAborted()
    expect([cancellation.aborted, cancellation.reason]).toEqual([false, undefined])
    const [first, second] = [new Error('first'), new Error('second')]
    cancellation.abort(first)
    cancellation.abort(second)
    expect(called).toEqual(['one: true', 'other'])
    expect(cancellation.reason).toBe(first)
    expect(() => {
      cancellation.throwIfAborted()
    }).toThrow(first)
  })

  it('does not call a removed listener', () => {
    const cancellation = new Cancellation()
    const listener = (): void => {
      throw new Error('called')
    }
    cancellation.addEventListener('abort', listener)
    cancellation.removeEventListener('abort', listener)
    cancellation.abort(new Error('ended'))
    expect(cancellation.aborted).toBe(true)
  })
})
