import { expect, it } from 'vitest'
import { Alarm } from '../../../pipelines/poll/announce/alarm.js'
import { SignalAnnouncements } from '../../../services/poller/signal-announcements.js'

it('a signal ends the pause between two polls', async () => {
  const stop = new AbortController()
  const alarm = new Alarm()
  const before = process.listenerCount('SIGUSR1')
  const running = new SignalAnnouncements().run(alarm, stop.signal)
  alarm.polling()
  const pause = alarm.pause(600_000, stop.signal)
  process.kill(process.pid, 'SIGUSR1')
  await pause
  stop.abort()
  await running
  expect(process.listenerCount('SIGUSR1')).toBe(before)
})
