import { describe, expect, it } from 'vitest'
import { Vitals } from '../../../services/metrics/vitals.js'

/** Vitals on a clock that the test moves, in seconds. */
function onClock(intervalMs = 0): { vitals: Vitals; pass: (seconds: number) => void } {
  let now = 1000
  return { vitals: new Vitals(intervalMs, () => now), pass: (seconds) => void (now += seconds * 1000) }
}

describe('vitals', () => {
  it('are healthy while work is done, and for half a minute after', () => {
    const { vitals, pass } = onClock()
    pass(30)
    expect(vitals.reasons()).toEqual([])
    vitals.worked()
    pass(30)
    expect(vitals.reasons()).toEqual([])
    pass(1)
    expect(vitals.reasons()).toEqual(['no progress for 31 s: still waiting for an answer'])
    vitals.worked()
    expect(vitals.reasons()).toEqual([])
  })

  it('name the last obstacle, and drop it when the process works again', () => {
    const { vitals, pass } = onClock()
    vitals.failed(new Error('the disk is full'))
    vitals.failed(new Error('no answer from the node'))
    expect(vitals.reasons()).toEqual([])
    pass(31)
    expect(vitals.reasons()).toEqual(['no progress for 31 s: no answer from the node'])
    vitals.worked()
    pass(31)
    expect(vitals.reasons()).toEqual(['no progress for 31 s: still waiting for an answer'])
  })

  it('allow three intervals to a process that works rarely', () => {
    const { vitals, pass } = onClock(60_000)
    pass(180)
    expect(vitals.reasons()).toEqual([])
    pass(1)
    expect(vitals.reasons()).toHaveLength(1)
  })

  it('are healthy while the process waits for its turn, until the waiting fails', () => {
    const { vitals, pass } = onClock()
    vitals.waits()
    pass(86_400)
    expect(vitals.reasons()).toEqual([])
    vitals.failed(new Error('the log is unavailable'))
    expect(vitals.reasons()).toEqual([])
    pass(31)
    expect(vitals.reasons()).toEqual(['no progress for 31 s: the log is unavailable'])
  })

  it('are unhealthy at once after it has stopped, until it works', () => {
    const { vitals, pass } = onClock()
    vitals.stopped('offset 7: a gap')
    expect(vitals.isStopped).toBe(true)
    expect(vitals.reasons()).toEqual(['stopped: offset 7: a gap'])
    pass(60)
    vitals.failed(new Error('something else'))
    expect(vitals.reasons()).toEqual(['stopped: offset 7: a gap'])
    vitals.worked()
    expect(vitals.isStopped).toBe(false)
    expect(vitals.reasons()).toEqual([])
  })
})
