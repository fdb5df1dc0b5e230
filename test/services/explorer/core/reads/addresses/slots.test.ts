import { describe, expect, it } from 'vitest'
import { slotsOf } from '../../../../../../services/explorer/core/reads/addresses/addresses.js'

/** The page as slices of the whole list. */
function naive(requested: Parameters<typeof slotsOf>[0]): string[] {
  const confirmed = Array.from({ length: requested.confirmed }, (_, index) => `c${String(index + 1)}`)
  const inMempool = Array.from({ length: requested.unconfirmed }, (_, index) => `u${String(index)}`)
  const newestFirst = [...inMempool, ...confirmed.reverse()]
  const list = requested.sort === 'desc' ? newestFirst : newestFirst.reverse()
  return list.slice((requested.page - 1) * requested.limit, requested.page * requested.limit)
}

function bySlots(requested: Parameters<typeof slotsOf>[0]): string[] {
  const { from, to, unconfirmedFrom, unconfirmedTo } = slotsOf(requested)
  const inMempool = Array.from({ length: requested.unconfirmed }, (_, index) => `u${String(index)}`).slice(
    unconfirmedFrom,
    unconfirmedTo,
  )
  const confirmed = []
  for (let ordinal = from; ordinal <= to; ordinal++) confirmed.push(`c${String(ordinal)}`)
  return requested.sort === 'desc'
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
              const requested = { page, limit, sort, confirmed, unconfirmed }
              expect(bySlots(requested), JSON.stringify(requested)).toEqual(naive(requested))
            }
  })
})
