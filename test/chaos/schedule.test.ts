import { describe, expect, it } from 'vitest'
import { faultOfRound } from './chaos.js'
import { FAULTS } from './faults.js'

const names = (seed: number, rounds: number): string[] =>
  Array.from({ length: rounds }, (_, index) => faultOfRound(FAULTS, seed, index + 1).name)

describe('the schedule', () => {
  it('has every fault once before any comes again', () => {
    const twice = names(5, 2 * FAULTS.length)
    const all = FAULTS.map(({ name }) => name).sort()
    expect(twice.slice(0, FAULTS.length).sort()).toEqual(all)
    expect(twice.slice(FAULTS.length).sort()).toEqual(all)
  })

  it('is decided by the seed', () => {
    expect(names(5, 40)).toEqual(names(5, 40))
    expect(names(5, 40)).not.toEqual(names(6, 40))
  })
})
