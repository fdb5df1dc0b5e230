import { blockTag } from '../../../../pipelines/chain/block.js'
import {
  assertOnChain,
  CursorOutdated,
  decodeCursor,
  encodeCursor,
  integerIn,
  numberIn,
} from '../../core/reads/cursor.js'
import { BadArgument, type Read, type ReadContext } from '../../core/reads/read.js'
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
  /** The place that the page follows, undefined for a page that was selected by its number. */
  readonly before?: readonly string[]
}

/** A list as it is now. */
interface List {
  readonly total: number
  readonly first: Fields | undefined
  readonly read: ReadItems
  readonly context: ReadContext
}

/**
 * A way to name the place between two items of a list by a cursor, so that a client that continues misses none and gets none twice, whatever
 * has arrived.
 */
interface CursorKind {
  /** Returns the place after the last item of a page. */
  readonly after: (page: Page, context: ReadContext) => readonly (string | number)[]
  /** Returns the index of the first item after a place. @throws CursorOutdated, NotBuiltYet. */
  readonly start: (place: readonly string[], list: List) => number | Promise<number>
}

/** The transactions of a block never change: the place is counted from the first transaction, and belongs to the block. */
const OF_BLOCK: CursorKind = {
  after: ({ start, answer }) => [start + answer.items.length, String(answer.items[0]?.['block_hash'])],
  start: ([index, hash], { first }) => {
    const start = numberIn(index)
    if (first?.['block_hash'] !== hash) throw new CursorOutdated()
    return start
  },
}

/** New items come first: the place is counted from the end, and belongs to a chain with the block of the newest item so far. */
const OF_CHAIN: CursorKind = {
  after: ({ start, answer, before }, { chain: { blocks } }) => {
    const height = Number(answer.items[0]?.['block_height'])
    const newest = before?.slice(1) ?? [height, blockTag(blocks.hashAt(height))]
    return [answer.total - start - answer.items.length, ...newest]
  },
  start: ([rest, height, tag], { total, context }) => {
    assertOnChain(context.chain, numberIn(height), numberIn(tag))
    return Math.max(0, total - numberIn(rest))
  },
}

/** A value by which a list is ordered: numbers from the highest, texts in alphabetical order. */
type Key = readonly (bigint | string)[]

/** Items come and go anywhere in the list, which is sorted by their keys: the place is the key of the last item. */
function ordered(keyOf: (item: Fields) => Key): CursorKind {
  return {
    after: ({ start, answer }) => {
      const last = answer.items.at(-1)
      const rest = answer.total - start - answer.items.length
      return [rest, ...(last === undefined ? [] : keyOf(last).map(String))]
    },
    start: ([rest, ...texts], list) => {
      const isBehind = (item: Fields): boolean => {
        const key = keyOf(item)
        const place = key.map((each, index) =>
          typeof each === 'bigint' ? integerIn(texts[index]) : (texts[index] ?? ''),
        )
        return compare(key, place) > 0
      }
      return firstBehind(isBehind, list, list.total - numberIn(rest))
    },
  }
}

function compare(one: Key, other: Key): number {
  for (const [index, value] of one.entries()) {
    const another = other[index] ?? ''
    if (value === another) continue
    const isFirst = typeof value === 'bigint' ? value > BigInt(another) : value < another
    return isFirst ? -1 : 1
  }
  return 0
}

/** Returns the index of the first item behind a place, by bisection. @param guess where it is if no item behind it has gone or come. */
async function firstBehind(
  isBehind: (item: Fields) => boolean,
  { total, read }: List,
  guess: number,
): Promise<number> {
  let [from, to] = [0, total]
  const probe = async (at: number, count: number): Promise<void> => {
    const { items } = await read(at, count)
    for (const [index, item] of items.entries()) {
      if (isBehind(item)) to = Math.min(to, at + index)
      else from = Math.max(from, at + index + 1)
    }
    // There is no such item: the answer is as long as the list.
    if (items.length === 0) to = Math.min(to, at)
  }
  if (guess > 0 && guess <= total) await probe(guess - 1, 2)
  while (from < to) await probe(Math.floor((from + to) / 2), 1)
  return from
}

const UNSPENT = ordered(({ block_height: height, txid, vout }) => [
  BigInt(Number(height)),
  String(txid),
  String(vout).padStart(10, '0'),
])
const RICH = ordered(({ balance, address }) => [BigInt(String(balance)), String(address)])

const KINDS: Readonly<Record<string, CursorKind>> = {
  blockTransactions: OF_BLOCK,
  opReturns: OF_CHAIN,
  addressUtxos: UNSPENT,
  richList: RICH,
}

/** Returns whether a list takes `first` and `after`: as the cursor of the read itself, or as a cursor of this file. */
export const hasCursor = ({ name, args }: Read): boolean => 'cursor' in args || Object.hasOwn(KINDS, name)

/**
 * Returns the kind of the cursors that a list has beside its own arguments; undefined if the read itself has a cursor, or for a list
 * without an order that lasts.
 */
export function kindOf({ name }: Read, args: Fields): CursorKind | undefined {
  return args['mempool'] === true ? undefined : KINDS[name]
}

/** The arguments that select a part of a list. */
const PARTS = ['page', 'limit', 'offset']

/** Identifies a list, with everything that selects and orders its items. */
function idOf({ name }: Read, args: Fields): string {
  const own = Object.entries(args).filter(([argument]) => !PARTS.includes(argument))
  return `${name} ${JSON.stringify(own)}`
}

/** A list that a client requests. */
export interface Requested {
  readonly read: Read
  readonly args: Fields
  readonly kind: CursorKind
  readonly context: ReadContext
}

/** Reads the part of a list after a cursor. @throws BadArgument for an invalid cursor; CursorOutdated; NotBuiltYet. */
export async function readAfter(requested: Requested, cursor: string, read: ReadItems): Promise<ListAnswer> {
  const { args, context, kind } = requested
  const before = decodeCursor(idOf(requested.read, args), cursor)
  // The total is needed before the place is known.
  const { total, items } = await read(0, 1)
  const start = await kind.start(before, { total, first: items[0], read, context })
  return withCursor(requested, { start, before, answer: await read(start, Number(args['limit'])) })
}

/** Returns an answer with the cursor of what follows, null at the end. */
export function withCursor({ read, args, kind, context }: Requested, page: Page): ListAnswer {
  const { start, answer } = page
  const isEnd = answer.items.length === 0 || start + answer.items.length >= answer.total
  return {
    ...answer,
    next_cursor: isEnd ? null : encodeCursor(idOf(read, args), kind.after(page, context)),
  }
}

/** Checks that no page or offset is requested together with a cursor. @throws BadArgument. */
export function assertNoPage({ page = 1, offset = 0 }: Readonly<Record<string, unknown>>): void {
  if (page !== 1 || offset !== 0) throw new BadArgument('after cannot be combined with page or offset')
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
