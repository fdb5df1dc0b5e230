import { describe, expect, it } from 'vitest'
import { faultOfRound } from './chaos.js'
import { CONDITIONS, conditionsOf } from './conditions.js'
import { CONTROLS } from './controls.js'
import { FAULTS } from './faults.js'

const names = (seed: number, rounds: number): string[] =>
  Array.from({ length: rounds }, (_, index) => faultOfRound(FAULTS, seed, index + 1).name)

describe('the schedule', () => {
  it('contains every fault once before any is repeated', () => {
    const twice = names(5, 2 * FAULTS.length)
    const all = FAULTS.map(({ name }) => name).sort()
    expect(twice.slice(0, FAULTS.length).sort()).toEqual(all)
    expect(twice.slice(FAULTS.length).sort()).toEqual(all)
  })

  it('is decided by the seed', () => {
    expect(names(5, 40)).toEqual(names(5, 40))
    expect(names(5, 40)).not.toEqual(names(6, 40))
  })

  it('has each condition alone for one of eight seeds, all conditions for another, and none for the others', () => {
    for (const first of [1, 42, 2026]) {
      const eight = Array.from({ length: 8 }, (_, index) => conditionsOf(first + index).join())
      const names = Object.keys(CONDITIONS)
      expect(eight.sort()).toEqual([...names, names.join(), '', '', '', ''].sort())
    }
  })

  // The first draws of a seed must not decide whether a control is missed.
  it.each(Object.entries(CONTROLS))(
    'contains the fault that %s protects from in every round of its control',
    (_, faults) => {
      const drawn = FAULTS.filter(({ name }) => (faults as readonly string[]).includes(name))
      expect(drawn.map(({ name }) => name)).toEqual(faults)
      expect(drawn).toHaveLength(1)
      expect(drawn.every(({ needs }) => needs === undefined)).toBe(true)
    },
  )
})
