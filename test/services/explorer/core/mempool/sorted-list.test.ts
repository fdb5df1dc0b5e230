import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SortedList } from '../../../../../services/explorer/core/mempool/sorted-list.js'

interface Item {
  readonly key: number
  readonly version: number
}

const sumOf = (items: readonly Item[]): number => items.reduce((sum, each) => sum + each.version, 0)
const compare = (one: Item, other: Item): number => one.key - other.key
const item = fc.record({ key: fc.nat(3_000), version: fc.nat(3) })
const change = fc.record({
  removed: fc.array(item, { maxLength: 400 }),
  added: fc.array(item, { maxLength: 900 }),
})

describe('a sorted list', () => {
  it('has the items of a map that is changed in the same way, in order, and earlier versions never change', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(item, { selector: ({ key }) => key, maxLength: 2_000 }),
        fc.array(change),
        (first, changes) => {
          let map = new Map(first.map((each) => [each.key, each]))
          let list = SortedList.of([...first].sort(compare), compare)
          const versions = [{ map, list }]
          for (const { removed, added } of changes) {
            map = new Map(map)
            for (const { key } of removed) map.delete(key)
            for (const each of added) map.set(each.key, each)
            list = list.changed(removed, added)
            versions.push({ map, list })
          }
          for (const { map: expected, list: made } of versions) {
            const sorted = [...expected.values()].sort(compare)
            expect([...made]).toEqual(sorted)
            expect(made.first(600)).toEqual(sorted.slice(0, 600))
            const parts = [...made.parts(sumOf)]
            expect(parts.flatMap(({ items }) => items)).toEqual(sorted)
            for (const { items, summary } of parts) expect(summary).toBe(sumOf(items))
            expect(made.size).toBe(sorted.length)
            for (const { key } of sorted.slice(0, 50))
              expect(made.find((each) => each.key - key)).toBe(expected.get(key))
            expect(made.find((each) => each.key - 3_001)).toBeUndefined()
            for (const key of [0, 700, 1_500, 3_001]) {
              const before = sorted.filter((each) => each.key < key)
              const sum = before.reduce((total, each) => total + each.version, 0)
              expect(made.before((each) => each.key - key, sumOf)).toEqual({ count: before.length, sum })
            }
          }
          const [last, before] = [versions.at(-1)!, versions.at(Math.max(-2, -versions.length))!]
          const missing: Item[] = []
          last.list.forEachNotIn(before.list, (each) => missing.push(each))
          expect(missing).toEqual(
            [...last.map.values()].filter((each) => before.map.get(each.key) !== each).sort(compare),
          )
        },
      ),
      { numRuns: 60 },
    )
  })
})
