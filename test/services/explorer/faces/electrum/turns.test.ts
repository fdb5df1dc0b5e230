import { expect, it } from 'vitest'
import { Turns } from '../../../../../services/explorer/faces/electrum/turns.js'

/** Works that end on request, and the order in which they began. */
class Works {
  readonly begun: string[] = []
  readonly #ends = new Map<string, () => void>()

  start(turns: Turns, name: string, weight: number): Promise<void> {
    return turns.during(weight, () => {
      this.begun.push(name)
      return new Promise((resolve) => this.#ends.set(name, resolve))
    })
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

it('begins answers in the order of their requests, as many as there is room for', async () => {
  const turns = new Turns(3)
  const works = new Works()
  const all = [
    works.start(turns, 'a', 2),
    works.start(turns, 'b', 2),
    // It fits beside `a`, but does not overtake `b`.
    works.start(turns, 'c', 1),
    works.start(turns, 'd', 5),
    works.start(turns, 'e', 1),
  ]
  expect(works.begun).toEqual(['a'])
  await works.end('a')
  expect(works.begun).toEqual(['a', 'b', 'c'])
  await works.end('b')
  // One that is larger than the room waits until it is alone.
  expect(works.begun).toEqual(['a', 'b', 'c'])
  await works.end('c')
  expect(works.begun).toEqual(['a', 'b', 'c', 'd'])
  await works.end('d')
  await works.end('e')
  await Promise.all(all)
})

it('makes room again after an error', async () => {
  const turns = new Turns(1)
  const failed = turns.during(1, () => Promise.reject(new Error('no')))
  const next = turns.during(1, () => Promise.resolve('yes'))
  await expect(failed).rejects.toThrow('no')
  await expect(next).resolves.toBe('yes')
})
