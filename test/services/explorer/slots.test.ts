import { describe, expect, it } from 'vitest'
import { slotsOf } from '../../../services/explorer/reads/addresses/addresses.js'

/** The page as slices of the whole list. */
function naive(asked: Parameters<typeof slotsOf>[0]): string[] {
  const confirmed = Array.from({ length: asked.confirmed }, (_, index) => `c${String(index + 1)}`)
  const inMempool = Array.from({ length: asked.unconfirmed }, (_, index) => `u${String(index)}`)
  const newestFirst = [...inMempool, ...confirmed.reverse()]
  const list = asked.sort === 'desc' ? newestFirst : newestFirst.reverse()
  return list.slice((asked.page - 1) * asked.limit, asked.page * asked.limit)
}

function bySlots(asked: Parameters<typeof slotsOf>[0]): string[] {
  const { from, to, unconfirmedFrom, unconfirmedTo } = slotsOf(asked)
  const inMempool = Array.from({ length: asked.unconfirmed }, (_, index) => `u${String(index)}`).slice(
    unconfirmedFrom,
    unconfirmedTo,
  )
  const confirmed = []
  for (let ordinal = from; ordinal <= to; ordinal++) confirmed.push(`c${String(ordinal)}`)
  return asked.sort === 'desc'
    ? [...inMempool, ...confirmed.reverse()]
    : [...confirmed, ...inMempool.reverse()]
}

describe('the page of an address', () => {
  it('is a slice of the whole list, for every mix of confirmed and unconfirmed', () => {
    for (const sort of ['asc', 'desc'] as const)
      for (const confirmed of [0, 1, 4, 7])
        for (const unconfirmed of [0, 1, 3])
          for (const limit of [1, 2, 5, 100])
            for (const page of [1, 2, 3, 4, 9, Number.MAX_SAFE_INTEGER]) {
              const asked = { page, limit, sort, confirmed, unconfirmed }
              expect(bySlots(asked), JSON.stringify(asked)).toEqual(naive(asked))
            }
  })
})
