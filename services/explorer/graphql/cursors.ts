import { requestedScript } from '../reads/addresses/script.js'
import { BadArgument, type ReadContext } from '../reads/read.js'
import type { AddressTransaction } from '../reads/shapes.js'
import type { Fields } from './links.js'

/** The answer of a list. */
export interface ListAnswer extends Fields {
  readonly items: readonly Fields[]
  readonly total: number
}

/** Reads `count` items from an index on. */
export type ReadItems = (start: number, count: number) => Promise<ListAnswer>

interface Page {
  readonly start: number
  readonly answer: ListAnswer
}

/**
 * How a cursor names the place between two items of a list, so that a client that continues misses none, whatever has arrived.
 * Cursors are opaque to clients.
 */
interface CursorKind {
  /** Returns the cursor after the last item of a page. */
  readonly after: (page: Page, args: Fields) => string
  /** Returns the index of the first item after a cursor. @param total the current number of items. */
  readonly start: (cursor: string, total: number, args: Fields, context: ReadContext) => number | undefined
}

/** Items are added at the end, or never: the place is counted from the beginning. */
const APPENDED: CursorKind = {
  after: ({ start, answer }) => `a${String(start + answer.items.length)}`,
  start: (cursor) => numberIn('a', cursor),
}

/** Items are added at the beginning: the place is counted from the end. */
const PREPENDED: CursorKind = {
  after: ({ start, answer }) => `p${String(answer.total - start - answer.items.length)}`,
  start: (cursor, total) => {
    const rest = numberIn('p', cursor)
    return rest === undefined ? undefined : Math.max(0, total - rest)
  },
}

/**
 * The history of an address. Unconfirmed transactions may confirm in any order, so after one of them the place is named by its time
 * and txid: what has been confirmed meanwhile follows it.
 */
const HISTORY: CursorKind = {
  after: (page, args) => {
    const last = page.answer.items.at(-1) as AddressTransaction | undefined
    if (args['sort'] === 'asc') {
      const confirmed = page.answer.items.findIndex(({ block_height: height }) => height === null)
      return `a${String(page.start + (confirmed < 0 ? page.answer.items.length : confirmed))}`
    }
    if (last?.block_height !== null) return PREPENDED.after(page, args)
    return `u${String(Date.parse(last.timestamp) / 1000)}.${last.txid}`
  },
  start: (cursor, total, { address }, context) => {
    const [, time, txid = ''] = /^u(\d{1,12})\.([0-9a-f]{64})$/.exec(cursor) ?? []
    if (time === undefined) return numberIn('a', cursor) ?? PREPENDED.start(cursor, total, {}, context)
    const { scriptHash } = requestedScript(context, String(address))
    const isBefore = (tx: { firstSeen: number; txid: string }): boolean =>
      tx.firstSeen > Number(time) || (tx.firstSeen === Number(time) && tx.txid <= txid)
    return context.mempool.ofScript(scriptHash).filter(isBefore).length
  },
}

function numberIn(kind: string, cursor: string): number | undefined {
  const [, digits] = new RegExp(`^${kind}(\\d{1,15})$`).exec(cursor) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** The lists that take `first` and `after`, by the name of their read. */
export const CURSORS: Readonly<Record<string, CursorKind>> = {
  blocks: PREPENDED,
  blockTransactions: APPENDED,
  addressTransactions: HISTORY,
  addressUtxos: PREPENDED,
  opReturns: PREPENDED,
  richList: APPENDED,
}

/**
 * Reads the part of a list that a client requests with `first` and `after`.
 * @throws BadArgument for an invalid cursor.
 */
export async function readAfter(
  kind: CursorKind,
  args: Fields,
  context: ReadContext,
  read: ReadItems,
): Promise<ListAnswer> {
  const { after } = args
  const count = Number(args['limit'])
  let start = 0
  let first: ListAnswer | undefined
  if (typeof after === 'string') {
    const cursor = Buffer.from(after, 'base64url').toString('latin1')
    // The total is needed before the place is known.
    first = await read(0, 1)
    const found = kind.start(cursor, first.total, args, context)
    if (found === undefined) throw new BadArgument('after must be a next_cursor of this list')
    start = found
  }
  return withCursor(kind, { start, answer: await read(start, count) }, args)
}

/** Returns an answer with the cursor of what follows, null at the end. */
export function withCursor(kind: CursorKind, page: Page, args: Fields): ListAnswer {
  const { start, answer } = page
  const isEnd = start + answer.items.length >= answer.total
  const cursor = isEnd ? null : Buffer.from(kind.after(page, args), 'latin1').toString('base64url')
  return { ...answer, next_cursor: cursor }
}

/**
 * Returns the items from an index on, of a list that is read by pages.
 * @param readPage reads a page, from 1, of `count` items.
 */
export async function itemsFrom(
  readPage: (page: number) => Promise<ListAnswer>,
  start: number,
  count: number,
): Promise<ListAnswer> {
  const [page, skipped] = [Math.floor(start / count) + 1, start % count]
  if (skipped === 0) return readPage(page)
  const [one, other] = await Promise.all([readPage(page), readPage(page + 1)])
  return { ...one, items: [...one.items, ...other.items].slice(skipped, skipped + count) }
}
