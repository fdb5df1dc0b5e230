import { type TSchema, Type } from '@sinclair/typebox'
import { int, Limit, list, orNull, text, Total } from './fields.js'

const itemsOf = <T extends TSchema>(item: T) => list(item, 'in the order of the read')

/** Returns the shape of a list with numbered pages. */
export const paged = <T extends TSchema>(item: T) =>
  Type.Object({ items: itemsOf(item), total: Total, page: int('number of the page, from 1'), limit: Limit })

/** Returns the shape of a paged list that can also be continued after its last item. */
export const continued = <T extends TSchema>(item: T) =>
  Type.Object({
    ...paged(item).properties,
    next_cursor: orNull(text('`cursor` of the request that continues this list; null at its end')),
  })

/** Returns the shape of a list by offset. */
export const windowed = <T extends TSchema>(item: T) =>
  Type.Object({ items: itemsOf(item), total: Total, limit: Limit, offset: int('items skipped') })

/** Returns the shape of a list that has only its newest items. */
export const listed = <T extends TSchema>(item: T) => Type.Object({ items: itemsOf(item), limit: Limit })
