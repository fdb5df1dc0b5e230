import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ShownTx } from '../../../../../../services/explorer/core/mempool/shown-tx.js'
import {
  decodePlace,
  encodePlace,
  type HistoryPlace,
  type HistorySlots,
  placeAfter,
  slotsAfter,
} from '../../../../../../services/explorer/core/reads/addresses/history-cursor.js'
import { slotsOf } from '../../../../../../services/explorer/core/reads/addresses/addresses.js'
import { NO_CHAIN } from '../../../../../../services/explorer/core/state/state.js'
import type { ScriptRow } from '../../../../../../services/explorer/core/tables/lookups.js'

type Sort = 'asc' | 'desc'

const rowOf = (ordinal: number): ScriptRow =>
  ({ ordinal, height: ordinal, blockTag: ordinal * 7 }) as unknown as ScriptRow
const txOf = (index: number, firstSeen: number): ShownTx =>
  ({ txid: (index * 40_503 + 1).toString(16).padStart(64, '0'), firstSeen }) as unknown as ShownTx
const newestFirst = (txs: readonly ShownTx[]): ShownTx[] =>
  [...txs].sort((one, other) => other.firstSeen - one.firstSeen || (one.txid < other.txid ? -1 : 1))

/** A history of a script: the number of its confirmed transactions, and the unconfirmed ones. */
interface History {
  readonly confirmed: number
  readonly inMempool: readonly ShownTx[]
}

/** The whole list: ordinals of confirmed transactions, txids of unconfirmed ones. */
function wholeOf({ confirmed, inMempool }: History, sort: Sort): (number | string)[] {
  const ordinals = Array.from({ length: confirmed }, (_, index) => confirmed - index)
  const all = [...newestFirst(inMempool).map(({ txid }) => txid), ...ordinals]
  return sort === 'desc' ? all : all.reverse()
}

/** Reads a page as the resolver does. @returns its items, and the place after it. */
function pageOf(
  { confirmed, inMempool: all }: History,
  sort: Sort,
  limit: number,
  before: HistoryPlace | undefined,
): { items: (number | string)[]; next: HistoryPlace | undefined } {
  const inMempool = newestFirst(all)
  let slots: HistorySlots
  if (before === undefined) {
    const { from, to, unconfirmedFrom, unconfirmedTo } = slotsOf({
      page: 1,
      limit,
      sort,
      confirmed,
      unconfirmed: inMempool.length,
    })
    slots = { from, to, unconfirmed: inMempool.slice(unconfirmedFrom, unconfirmedTo) }
  } else slots = slotsAfter(before, sort, { limit, confirmed, inMempool })
  const rows = Array.from({ length: Math.max(0, slots.to - slots.from + 1) }, (_, index) =>
    rowOf(slots.from + index),
  )
  const last = confirmed === 0 ? undefined : rowOf(confirmed)
  const ordinals = rows.map(({ ordinal }) => ordinal)
  const txids = slots.unconfirmed.map(({ txid }) => txid)
  const items = sort === 'desc' ? [...txids, ...ordinals.reverse()] : [...ordinals, ...txids.reverse()]
  return { items, next: placeAfter(sort, slots, { before, rows, last, inMempool }) }
}

/** Reads all pages. @param grow changes the history between two of them. */
function readAll(
  history: History,
  sort: Sort,
  limit: number,
  grow: (now: History) => History = (now) => now,
) {
  const items: (number | string)[] = []
  let now = history
  let place: HistoryPlace | undefined
  for (let pages = 0; pages < 200; pages++) {
    const { items: some, next } = pageOf(now, sort, limit, place)
    expect(some.length).toBeLessThanOrEqual(limit)
    items.push(...some)
    if (next === undefined) return { items, end: now }
    place = next
    now = grow(now)
  }
  throw new Error('the list has no end')
}

const histories = fc.record({
  confirmed: fc.nat(12),
  inMempool: fc
    .array(fc.integer({ min: 1, max: 4 }), { maxLength: 8 })
    .map((times) => times.map((time, index) => txOf(index, time))),
})
const sorts = fc.constantFrom<Sort>('asc', 'desc')

describe('the pages of a history after each other', () => {
  it('are the whole list', () => {
    fc.assert(
      fc.property(histories, sorts, fc.integer({ min: 1, max: 6 }), (history, sort, limit) => {
        expect(readAll(history, sort, limit).items).toEqual(wholeOf(history, sort))
      }),
      { numRuns: 1_000, seed: 3 },
    )
  })

  it('repeat and leave out nothing confirmed when blocks confirm what is unconfirmed, and new transactions arrive', () => {
    const changes = fc.array(fc.record({ confirms: fc.nat(3), enters: fc.nat(2) }), { maxLength: 6 })
    fc.assert(
      fc.property(histories, sorts, fc.integer({ min: 1, max: 4 }), changes, (history, sort, limit, made) => {
        const left = [...made]
        /** The ordinals under which transactions were confirmed that were unconfirmed before. */
        const ordinals = new Map<string, number>()
        let fresh = 100
        const { items } = readAll(history, sort, limit, (now) => {
          const change = left.shift()
          if (change === undefined) return now
          const oldest = newestFirst(now.inMempool).reverse().slice(0, change.confirms)
          for (const [index, { txid }] of oldest.entries()) ordinals.set(txid, now.confirmed + index + 1)
          const entered = Array.from({ length: change.enters }, () => txOf(fresh++, 9))
          return {
            confirmed: now.confirmed + oldest.length,
            inMempool: [...now.inMempool.filter((tx) => !oldest.includes(tx)), ...entered],
          }
        })
        const confirmed = items.filter((item) => typeof item === 'number')
        expect(new Set(confirmed).size).toBe(confirmed.length)
        for (let ordinal = 1; ordinal <= history.confirmed; ordinal++) expect(confirmed).toContain(ordinal)
        // What was in the list at its start was seen: as it was, or confirmed by now.
        for (const { txid } of history.inMempool)
          expect(items.includes(txid) || confirmed.includes(ordinals.get(txid) ?? 0), txid).toBe(true)
      }),
      { numRuns: 2_000, seed: 5 },
    )
  })

  it('have places that survive their encoding, and fit to one list only', () => {
    const chain = {
      ...NO_CHAIN,
      height: 9,
      blocks: {
        has: (height: number, tag: number) => tag === height * 7,
      } as unknown as typeof NO_CHAIN.blocks,
    }
    const list = { scriptHash: 'ab'.repeat(20), sort: 'desc' } as const
    const places: HistoryPlace[] = [
      { ordinal: 5, newest: { height: 8, blockTag: 56 }, unconfirmedTx: undefined },
      { ordinal: 0, newest: undefined, unconfirmedTx: { firstSeen: 1_771_804_800, txid: 'cd'.repeat(32) } },
      {
        ordinal: 5,
        newest: { height: 8, blockTag: 56 },
        unconfirmedTx: { firstSeen: 7, txid: 'cd'.repeat(32) },
      },
    ]
    for (const place of places) {
      const cursor = encodePlace(list, place)
      expect(cursor).toMatch(/^[0-9A-Za-z_-]{8,200}$/)
      expect(decodePlace(list, cursor, chain)).toEqual(place)
      for (const other of [
        { ...list, sort: 'asc' as const },
        { ...list, scriptHash: 'ac'.repeat(20) },
      ])
        expect(() => decodePlace(other, cursor, chain)).toThrow('cursor must be ')
      for (const damaged of [cursor.slice(1), `${cursor}A`, cursor.toLowerCase()])
        expect(() => decodePlace(list, damaged, chain)).toThrow('cursor must be ')
    }
    const gone = encodePlace(list, {
      ordinal: 5,
      newest: { height: 8, blockTag: 1 },
      unconfirmedTx: undefined,
    })
    expect(() => decodePlace(list, gone, chain)).toThrow('A reorganisation has removed items')
    const ahead = encodePlace(list, {
      ordinal: 5,
      newest: { height: 10, blockTag: 70 },
      unconfirmedTx: undefined,
    })
    expect(() => decodePlace(list, ahead, chain)).toThrow('has not reached the block')
  })
})
