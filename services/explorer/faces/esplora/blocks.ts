import { Type } from '@sinclair/typebox'
import { serializeBlock, serializeHeader } from '../../../../pipelines/chain/block.js'
import { exactDifficulty } from '../../../../pipelines/chain/difficulty.js'
import { bytesOf } from '../../core/reads/chain/raw-transaction.js'
import { findBlock } from '../../core/reads/chain/block-rows.js'
import { BadArgument, declareRead, NEVER, NotFound, type ReadContext } from '../../core/reads/read.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { type BlockRow, blocksBetween } from '../../core/tables/blocks.js'
import { blockTxsIn, storedOf, transactionAt } from '../../core/tables/transactions.js'
import { hashIn, numberIn, text } from './arguments.js'
import { PAGE } from './histories.js'
import { transactionsOfBlocks } from './transaction-rows.js'

/** The number of blocks of a list. */
const BLOCKS = 10
/** About the bytes of a txid in a list. */
const TXID_CHARACTERS = 67
const NOT_FOUND = 'Block not found'

const args = { hash: text('hash of the block') }

/** Returns a block as the API has it. */
export function blockOf(row: BlockRow) {
  return {
    id: row.hash,
    height: row.height,
    version: row.version,
    timestamp: row.time,
    tx_count: row.txCount,
    size: row.size,
    weight: row.weight,
    merkle_root: row.merkleRoot,
    previousblockhash: row.height === 0 ? null : row.prevHash,
    mediantime: row.medianTime,
    nonce: row.nonce,
    bits: row.bits,
    difficulty: exactDifficulty(row.bits),
  }
}

/** Finds a block of the chain by its hash; a block that a reorganisation has replaced is not found. @throws NotFound. */
export async function blockIn(context: ReadContext, argument: string): Promise<BlockRow> {
  const { tables, chain, validity } = context
  const match = await findBlock(tables, chain, hashIn(argument))
  if (match?.canonical !== true) throw new NotFound(NOT_FOUND)
  validity.dependsOn(match.row.hash)
  validity.finalFrom(match.row.height)
  return match.row
}

export const tipHeight = declareRead({
  name: 'esploraTipHeight',
  path: '/blocks/tip/height',
  fresh: 'head',
  args: {},
  answer: Type.String(),
  resolve({ chain }) {
    if (chain.height < 0) throw new NotFound(NOT_FOUND)
    return String(chain.height)
  },
})

export const tipHash = declareRead({
  name: 'esploraTipHash',
  path: '/blocks/tip/hash',
  fresh: 'head',
  args: {},
  answer: Type.String(),
  resolve({ chain }) {
    if (chain.height < 0) throw new NotFound(NOT_FOUND)
    return chain.tipHash
  },
})

/** Returns the blocks of the chain between two heights (inclusive), highest first. */
export async function rowsBetween(
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  from: number,
  to: number,
): Promise<BlockRow[]> {
  const rows = await blocksBetween(tables.unchecked, from, to)
  // A row may be there twice.
  const visible = new Map(
    rows.filter((row) => chain.blocks.hashAt(row.height) === row.hash).map((row) => [row.height, row]),
  )
  return [...visible.values()]
}

/** Returns the blocks of the chain from a height downwards. @throws NotFound. */
async function blocksFrom(context: ReadContext, to: number) {
  if (to < 0 || to > context.chain.height) throw new NotFound(NOT_FOUND, Math.max(0, to))
  return (await rowsBetween(context, Math.max(0, to - BLOCKS + 1), to)).map(blockOf)
}

export const blocks = declareRead({
  name: 'esploraBlocks',
  path: '/blocks',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => blocksFrom(context, context.chain.height),
})

export const blocksBelow = declareRead({
  name: 'esploraBlocksBelow',
  path: '/blocks/:height',
  fresh: 'head',
  args: { height: text('height of the first block') },
  answer: Type.Unknown(),
  resolve: (context, { height }) => blocksFrom(context, numberIn(height)),
})

export const blockHash = declareRead({
  name: 'esploraBlockHash',
  path: '/block-height/:height',
  fresh: 'head',
  args: { height: text('height of the block') },
  answer: Type.String(),
  resolve({ chain }, { height: argument }) {
    const height = numberIn(argument)
    if (height > chain.height) throw new NotFound(NOT_FOUND, height)
    return chain.blocks.hashAt(height)
  },
})

export const block = declareRead({
  name: 'esploraBlock',
  path: '/block/:hash',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  resolve: async (context, { hash }) => blockOf(await blockIn(context, hash)),
})

export const blockHeader = declareRead({
  name: 'esploraBlockHeader',
  path: '/block/:hash/header',
  fresh: 'objects',
  args,
  answer: Type.String(),
  resolve: async (context, { hash }) => serializeHeader(await blockIn(context, hash)).toString('hex'),
})

export const blockStatus = declareRead({
  name: 'esploraBlockStatus',
  path: '/block/:hash/status',
  fresh: 'head',
  args,
  answer: Type.Object({ in_best_chain: Type.Boolean() }),
  emptyFrom: (_, answer) => (answer.in_best_chain ? undefined : 0),
  async resolve({ tables, chain }, { hash }) {
    const match = await findBlock(tables, chain, hashIn(hash))
    if (match?.canonical !== true) return { in_best_chain: false, height: null, next_best: null }
    const { height } = match.row
    const next = height < chain.height ? chain.blocks.hashAt(height + 1) : null
    return { in_best_chain: true, height, next_best: next }
  },
})

export const blockTxids = declareRead({
  name: 'esploraBlockTxids',
  path: '/block/:hash/txids',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  async resolve(context, { hash }) {
    const row = await blockIn(context, hash)
    await context.size.reserve(TXID_CHARACTERS * row.txCount)
    const located = await blockTxsIn(context.tables, row, 0, row.txCount - 1)
    return new WrittenAnswer(`[${located.map(({ txid }) => `"${txid}"`).join(',')}]`)
  },
})

export const blockTxid = declareRead({
  name: 'esploraBlockTxid',
  path: '/block/:hash/txid/:index',
  fresh: 'objects',
  args: { ...args, index: text('index of the transaction in its block') },
  answer: Type.String(),
  async resolve(context, { hash, index: argument }) {
    const hashText = hashIn(hash)
    const index = numberIn(argument)
    const row = await blockIn(context, hashText)
    const [at] = index < row.txCount ? await blockTxsIn(context.tables, row, index, index) : []
    if (at === undefined) throw new NotFound('tx index out of range', NEVER)
    return at.txid
  },
})

/** Returns a page of the transactions of a block. @throws NotFound, BadArgument. */
async function txsFrom(context: ReadContext, hash: string, from: number): Promise<WrittenAnswer<unknown>> {
  const row = await blockIn(context, hash)
  if (from >= row.txCount) throw new NotFound('start index out of range', NEVER)
  if (from % PAGE !== 0) throw new BadArgument(`start index must be a multiple of ${String(PAGE)}`)
  const located = await blockTxsIn(context.tables, row, from, from + PAGE - 1)
  return new WrittenAnswer(`[${(await transactionsOfBlocks(located, context)).join(',')}]`)
}

export const blockTxs = declareRead({
  name: 'esploraBlockTxs',
  path: '/block/:hash/txs',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  resolve: (context, { hash }) => txsFrom(context, hash, 0),
})

export const blockTxsAfter = declareRead({
  name: 'esploraBlockTxsFrom',
  path: '/block/:hash/txs/:start',
  fresh: 'objects',
  args: { ...args, start: text('index of the first transaction') },
  answer: Type.Unknown(),
  resolve: (context, { hash, start }) => txsFrom(context, hashIn(hash), numberIn(start)),
})

export const blockRaw = declareRead({
  name: 'esploraBlockRaw',
  path: '/block/:hash/raw',
  fresh: 'objects',
  args,
  answer: Type.Unknown(),
  async resolve(context, { hash }) {
    const row = await blockIn(context, hash)
    const { tables, size } = context
    await size.reserve(2 * row.size)
    const located = await blockTxsIn(tables, row, 0, row.txCount - 1)
    const parts: Uint8Array[] = []
    // Some at a time, because the rows of one lookup are in memory together.
    for (let from = 0; from < located.length; from += RAW_AT_ONCE) {
      const some = located.slice(from, from + RAW_AT_ONCE)
      const stored = await storedOf(tables, some, true)
      for (const at of some) parts.push(bytesOf(await transactionAt(tables, at, stored)))
    }
    return serializeBlock(serializeHeader(row), parts)
  },
})

const RAW_AT_ONCE = 500
