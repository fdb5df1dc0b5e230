import { at, heightOrHash, limit, page, witness } from '../arguments.js'
import { findBlock, toBlock } from './block-rows.js'
import type { ChainState } from '../../state/state.js'
import { assertOnChain, cursor, decodeCursor, encodeCursor, numberIn } from '../cursor.js'
import { declareRead, NO_BLOCK, NotFound } from '../read.js'
import { continued, paged } from '../lists.js'
import { Block, Transaction } from '../shapes.js'
import { blocksBetween } from '../../tables/blocks.js'
import { blockTxsIn } from '../../tables/transactions.js'
import { transactionsAt } from './transaction-rows.js'
import { writtenList } from '../written-answer.js'

export const blocks = declareRead({
  name: 'blocks',
  about: 'Blocks of the chain, newest first.',
  path: '/blocks',
  fresh: 'head',
  args: { page, limit: limit(20, 100), cursor, at },
  answer: continued(Block),
  notFound: [NO_BLOCK],
  emptyFrom: ({ page, limit }, { items }) => (items.length === 0 ? (page - 1) * limit : undefined),
  async resolve({ chain, tables, definitions }, { page, limit, cursor }) {
    const total = chain.height + 1
    const after = cursor === undefined ? undefined : placeOf(cursor, chain)
    const to = after === undefined ? chain.height - (page - 1) * limit : after.height - 1
    const { blocks, network } = chain
    if (network === undefined || to < 0) return { items: [], total, page, limit, next_cursor: null }
    const rows = await blocksBetween(tables.unchecked, Math.max(0, to - limit + 1), to)
    // A Map, because a row may be there twice.
    const visible = new Map(
      rows.filter((row) => blocks.hashAt(row.height) === row.hash).map((row) => [row.height, row]),
    )
    const visibleRows = [...visible.values()]
    const newest = after?.newest ?? visibleRows[0]
    const lowest = visibleRows.at(-1)
    const isLast = newest === undefined || lowest === undefined || lowest.height === 0
    const next_cursor = isLast ? null : encodeCursor(LIST, [newest.height, newest.blockTag, lowest.height])
    const items = visibleRows.map((row) => toBlock({ row, canonical: true }, network, definitions))
    return { items, total, page, limit, next_cursor }
  },
})

/** The list of all blocks, for its cursors. */
const LIST = 'blocks'

/** Returns the place of a cursor: the newest block of the pages before it, and the height of their last block. */
function placeOf(cursor: string, chain: ChainState) {
  const [top, tag, height] = decodeCursor(LIST, cursor)
  const newest = { height: numberIn(top), blockTag: numberIn(tag) }
  assertOnChain(chain, newest.height, newest.blockTag)
  return { newest, height: Math.min(newest.height, numberIn(height)) }
}

export const tip = declareRead({
  name: 'tip',
  about: 'The newest block.',
  path: '/blocks/tip',
  fresh: 'head',
  args: {},
  answer: Block,
  notFound: [NO_BLOCK],
  resolve({ chain, definitions }) {
    if (chain.tip === undefined || chain.network === undefined) throw new NotFound(NO_BLOCK)
    return toBlock({ row: chain.tip, canonical: true }, chain.network, definitions)
  },
})

export const block = declareRead({
  name: 'block',
  about: 'A block by height or hash; by hash also one that a reorganisation replaced.',
  path: '/block/:heightOrHash',
  fresh: 'objects',
  args: { heightOrHash, at },
  answer: Block,
  notFound: [NO_BLOCK],
  async resolve({ chain, tables, definitions, validity }, args) {
    const match = await findBlock(tables, chain, args.heightOrHash)
    if (match === undefined || chain.network === undefined) throw noBlock(args.heightOrHash)
    validity.dependsOn(match.row.hash)
    validity.finalFrom(match.row.height)
    return toBlock(match, chain.network, definitions)
  },
})

export const blockTransactions = declareRead({
  name: 'blockTransactions',
  about: 'The transactions of a block, in its order.',
  path: '/block/:heightOrHash/txs',
  fresh: 'objects',
  args: { heightOrHash, page, limit: limit(25, 100), witness, at },
  answer: paged(Transaction),
  notFound: [NO_BLOCK],
  async resolve(context, { heightOrHash, page, limit, witness }) {
    const { chain, tables, validity } = context
    const match = await findBlock(tables, chain, heightOrHash)
    if (match === undefined) throw noBlock(heightOrHash)
    const { height, hash, time, txCount: total } = match.row
    validity.dependsOn(hash)
    validity.finalFrom(height)
    const from = (page - 1) * limit
    if (from >= total) return { items: [], total, page, limit }
    const located = await blockTxsIn(tables, match.row, from, from + limit - 1)
    const items = await transactionsAt(located, context, witness, { hash, time })
    return writtenList(items, { total, page, limit })
  },
})

/** Returns the error for a missing block. @param which a height in decimal, or a hash in hex, whose height is unknown. */
export function noBlock(which: string): NotFound {
  return new NotFound(NO_BLOCK, which.length === 64 ? 0 : Number(which))
}
