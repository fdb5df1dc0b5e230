import { describe, expect, it } from 'vitest'
import { Alarm } from '../../../../pipelines/poll/announce/alarm.js'

/** Longer than any test: only an announcement or a signal ends such a pause. */
const HOUR = 3_600_000

const never = (): AbortSignal => new AbortController().signal

describe('a pause between polls', () => {
  it('ends when a block is announced', async () => {
    const alarm = new Alarm()
    const paused = alarm.pause(HOUR, never())
    alarm.block()
    expect(await paused).toBe(true)
  })

  it('ends when transactions are announced', async () => {
    const alarm = new Alarm()
    const paused = alarm.pause(HOUR, never())
    alarm.mempool()
    alarm.mempool()
    expect(await paused).toBe(true)
  })

  it('ends when its time is over', async () => {
    expect(await new Alarm().pause(1, never())).toBe(false)
  })

  it('ends when the signal aborts, before and during it', async () => {
    const stop = new AbortController()
    const alarm = new Alarm()
    const paused = alarm.pause(HOUR, stop.signal)
    stop.abort()
    expect(await paused).toBe(false)
    expect(await alarm.pause(HOUR, stop.signal)).toBe(false)
  })

  it('does not begin if a block was announced during the poll', async () => {
    const alarm = new Alarm()
    alarm.polling()
    alarm.block()
    expect(await alarm.pause(HOUR, never())).toBe(true)
  })

  it('is not shortened by what was announced before the poll', async () => {
    const alarm = new Alarm()
    alarm.block()
    alarm.mempool()
    alarm.polling()
    expect(await alarm.pause(1, never())).toBe(false)
  })
})

describe('a source that waits for a level log', () => {
  it('continues when it is level, and not while it is behind', async () => {
    const alarm = new Alarm()
    let continued = 0
    const wait = async (): Promise<void> => {
      await alarm.untilLevel(never())
      continued++
    }
    const first = wait()
    await new Promise(setImmediate)
    expect(continued).toBe(0)
    alarm.level()
    await first
    await wait()
    alarm.behind()
    const third = wait()
    await new Promise(setImmediate)
    expect(continued).toBe(2)
    alarm.level()
    await third
  })

  it('continues when the signal aborts', async () => {
    const stop = new AbortController()
    const waiting = new Alarm().untilLevel(stop.signal)
    stop.abort()
    await waiting
  })
})
