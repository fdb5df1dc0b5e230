import { expect, it } from 'vitest'
import { Pace } from '../../pipelines/pace.js'

it('the remaining time follows from the mean rate, when it is known', () => {
  let now = 0
  const pace = new Pace(() => now)
  now = 999
  expect(pace.secondsLeft(5, 100)).toBeUndefined()
  now = 4_000
  expect(pace.secondsLeft(0, 100)).toBeUndefined()
  expect(pace.secondsLeft(10, 100)).toBe(36)
  expect(pace.secondsLeft(100, 100)).toBe(0)
})
