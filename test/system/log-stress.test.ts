import { describe, expect, it } from 'vitest'
import { stress } from '../log-stress/stress.js'

/** `npm run check:long` sets 15 minutes. */
const SECONDS = Number(process.env['LOG_STRESS_SECONDS'] ?? 8)
/** The control ends at the first violation, long before. */
const CONTROL_SECONDS = 60
/** In CI, other tests need the processors, and use them. */
const BUSY_LOOPS = process.env['LOG_STRESS_SECONDS'] === undefined ? 0 : 4
const SLACK_MS = 5 * 60_000

describe('the embedded log under several processes, with little processor time and disk bandwidth', () => {
  it(
    'neither loses, duplicates nor reorders acknowledged records',
    { timeout: SECONDS * 1000 + SLACK_MS },
    async () => {
      const { wrong, failures, ...counts } = await stress({ seconds: SECONDS, busyLoops: BUSY_LOOPS })
      process.stdout.write(`ok   log stress: ${JSON.stringify(counts)}\n`)
      expect(wrong.slice(0, 10)).toEqual([])
      expect(failures.slice(0, 10)).toEqual([])
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0)
    },
  )

  it(
    'fails the test if writers do not exclude each other',
    { timeout: CONTROL_SECONDS * 1000 + SLACK_MS },
    async () => {
      const { wrong } = await stress({ seconds: CONTROL_SECONDS, busyLoops: 0, unprotected: true })
      expect(wrong.join('\n')).toMatch(/was acknowledged as|does not hold what was appended/)
    },
  )
})
