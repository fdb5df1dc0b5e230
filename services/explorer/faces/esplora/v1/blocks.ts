import { Type } from '@sinclair/typebox'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { blockTag, serializeHeader } from '../../../../../pipelines/chain/block.js'
import { asmOf } from '../../../../../pipelines/chain/forms/asm.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { parseBody } from '../../../../../pipelines/chain/transaction.js'
import { MissingBlock } from '../../../../../pipelines/tables/chain-view.js'
import { BLOCK_STATISTICS } from '../../../../../pipelines/tables/schema.js'
import { type SelectedRow, Selection } from '../../../../../pipelines/tables/selection.js'
import { UNKNOWN } from '../../../core/definitions/mining-pools.js'
import { findBlock } from '../../../core/reads/chain/block-rows.js'
import { reorgsOf } from '../../../core/reads/chain/reorgs.js'
import { expectedBetween } from '../../../core/reads/mempool/expected-blocks.js'
import type { ExpectedBlock } from '../../../core/reads/shapes.js'
import { BadArgument, declareRead, networkIn, NotFound, type ReadContext } from '../../../core/reads/read.js'
import type { BlockRow } from '../../../core/tables/blocks.js'
import { blockTxKey } from '../../../core/tables/point-keys.js'
import { NO_WITNESS, storedOf, transactionAt } from '../../../core/tables/transactions.js'
import { hashIn, numberIn, text } from '../arguments.js'
import { blockOf, rowsBetween } from '../blocks.js'

/** The number of blocks of a list. */
const BLOCKS_OF_LIST = 15
/** The maximum number of blocks of a list of a range of heights. */
const MAX_RANGE = 100
/** About the characters of a block, without the scripts of its coinbase. */
const BLOCK_CHARACTERS = 2_500

const NOT_FOUND = 'Block not found'
const STATISTICS = new Selection({ ...BLOCK_STATISTICS, height: 'u32', hash: 'hash' })

type Statistics = SelectedRow<typeof BLOCK_STATISTICS>
type Coinbases = ReadonlyMap<string, ReturnType<typeof parseBody>>

/** A block that a reorganisation replaced, and the length of its branch above the fork. */
interface Orphan {
  readonly height: number
  readonly hash: string
  readonly branchlen: number
}

/** Returns blocks with mempool.space's further figures, in their order. */
export async function extendedBlocks(rows: readonly BlockRow[], context: ReadContext) {
  const network = networkIn(context)
  const heights = rows.map(({ height }) => height)
  if (rows.length === 0) return []
  await context.size.reserve(BLOCK_CHARACTERS * rows.length)
  const between = { from: Math.min(...heights), to: Math.max(...heights) }
  const [statistics, coinbases, orphans, expected] = await Promise.all([
    STATISTICS.bytes(
      context.tables.unchecked,
      'FROM blocks WHERE height BETWEEN {from:UInt32} AND {to:UInt32}',
      between,
    ),
    coinbasesOf(rows, context),
    orphansBetween(between, context),
    expectedBetween(context, between),
  ])
  const byHash = new Map(statistics.map((each) => [each.hash, each]))
  return rows.map((row) => {
    const figures = byHash.get(row.hash)
    if (figures === undefined) throw new MissingBlock(`block ${row.hash} is missing from the tables`)
    context.validity.dependsOn(row.hash)
    const beside = orphans.filter(({ height, hash }) => height === row.height && hash !== row.hash)
    const extras = {
      ...extrasOf(row, figures, network),
      ...coinbaseExtras(row, coinbases, network),
      ...expectationOf(row.hash, expected),
      pool: poolOf(row, context),
      orphans: beside.map((orphan) => ({ ...orphan, status: 'valid-fork' })),
    }
    return { ...blockOf(row), stale: !isCanonical(row, context), extras }
  })
}

const isCanonical = ({ height, hash }: BlockRow, { chain }: Pick<ReadContext, 'chain'>): boolean =>
  height <= chain.height && chain.blocks.hashAt(height) === hash

/** Returns the figures of `extras` that follow from a block's row, as mempool.space takes them from `getblockstats`. */
function extrasOf(row: BlockRow, figures: Statistics, network: Network) {
  const { minFeeRate, maxFeeRate, feeRatePercentiles } = figures
  const rates = (feeRatePercentiles.length === 0 ? [0n, 0n, 0n, 0n, 0n] : feeRatePercentiles).map(Number)
  const paying = row.txCount - 1
  const virtualSize = row.weight / network.witnessScale
  const txVsize = figures.txWeight / network.witnessScale
  return {
    totalFees: Number(row.totalFees),
    medianFee: rates[2] ?? 0,
    feeRange: [Number(minFeeRate), ...rates, Number(maxFeeRate)],
    reward: Number(figures.coinbaseOutput),
    avgFee: paying === 0 ? 0 : Math.floor(Number(row.totalFees) / paying),
    avgFeeRate: txVsize === 0 ? 0 : Math.floor(Number(row.totalFees) / txVsize),
    coinbaseRaw: row.coinbaseScript.toString('hex'),
    virtualSize,
    avgTxSize: Math.round((figures.txSize / row.txCount) * 100) / 100,
    totalInputs: row.inputCount,
    totalOutputs: row.outputCount,
    totalOutputAmt: Number(row.totalOutput),
    totalInputAmt: Number(row.totalOutput + row.totalFees),
    medianFeeAmt: Number(figures.medianFee),
    feePercentiles: null,
    segwitTotalTxs: figures.segwitTxCount,
    segwitTotalSize: figures.segwitSize,
    segwitTotalWeight: figures.segwitWeight,
    header: serializeHeader(row).toString('hex'),
    firstSeen: null,
    utxoSetChange: figures.utxoIncrease,
    utxoSetSize: Number(row.utxoCount),
  }
}

/** Returns how far a block is the one that was expected: the share of the weight in percent; null where it is not known. */
export function expectationOf(hash: string, expected: ReadonlyMap<string, ExpectedBlock>) {
  const known = expected.get(hash)
  const percent = known?.match_percent ?? null
  return {
    matchRate: percent === null ? null : Number(percent),
    expectedFees: known === undefined ? null : Number(known.expected.total_fees),
    expectedWeight: known?.expected.weight ?? null,
  }
}

/** Returns the figures of `extras` that describe the coinbase. */
function coinbaseExtras(row: BlockRow, coinbases: Coinbases, network: Network) {
  const outputs = coinbases.get(row.hash)?.outputs ?? []
  const addresses = outputs.map(({ script }) => addressOf(script, network))
  const [first] = outputs
  return {
    coinbaseAddress: addresses[0] ?? null,
    coinbaseAddresses: [...new Set(addresses.filter((each) => each !== undefined))],
    coinbaseSignature: first === undefined ? null : asmOf(first.script, network),
    coinbaseSignatureAscii: row.coinbaseScript.toString('utf8').replace(/\uFFFD/g, ''),
  }
}

/** Returns the mining pool of a block as `extras` has it. */
function poolOf(row: BlockRow, { definitions }: Pick<ReadContext, 'definitions'>) {
  const { pool = UNKNOWN } = definitions.pools.minerOf({
    blockHash: row.hash,
    payouts: row.payouts.toString('hex'),
    coinbaseScript: row.coinbaseScript.toString('hex'),
  })
  return { id: pool.id, name: pool.name, slug: pool.slug, minerNames: null }
}

/** Returns the coinbases of blocks by the hashes of the blocks. */
async function coinbasesOf(
  rows: readonly BlockRow[],
  { tables }: Pick<ReadContext, 'tables'>,
): Promise<Coinbases> {
  const keys = rows.map(({ height, hash }) => blockTxKey({ height, blockTag: blockTag(hash), txIndex: 0 }))
  const located = await tables.blockTxs.getAll(keys)
  const stored = await storedOf(tables, [...located.values()], false)
  const coinbases = rows.map(async ({ hash }, index) => {
    const at = located.get(keys[index] ?? '')
    if (at === undefined) throw new MissingBlock(`the coinbase of block ${hash} is missing from the tables`)
    return [hash, parseBody((await transactionAt(tables, at, stored, NO_WITNESS)).body)] as const
  })
  return new Map(await Promise.all(coinbases))
}

/** Returns the blocks between two heights (inclusive) that reorganisations replaced and the chain does not have. */
async function orphansBetween(
  { from, to }: { readonly from: number; readonly to: number },
  context: ReadContext,
): Promise<readonly Orphan[]> {
  const tips = await staleTips(context)
  return tips.flatMap(({ branch }) => branch).filter(({ height }) => height >= from && height <= to)
}

/** Returns the branches that reorganisations replaced, newest first, without the blocks that the chain has again. */
export async function staleTips(context: ReadContext) {
  const { chain } = context
  const found = await reorgsOf(context, { from: Math.max(1, chain.reorgs - MAX_RANGE + 1), to: chain.reorgs })
  const known = new Set<string>()
  return found.flatMap(({ disconnected }) => {
    const gone = disconnected.filter(
      ({ height, hash }) =>
        (height > chain.height || chain.blocks.hashAt(height) !== hash) && !known.has(hash),
    )
    const [tip] = gone
    if (tip === undefined) return []
    for (const { hash } of gone) known.add(hash)
    const branch = gone.map(({ height, hash }): Orphan => ({ height, hash, branchlen: gone.length }))
    return [{ height: tip.height, hash: tip.hash, branchlen: gone.length, branch }]
  })
}

/** Returns the blocks of the chain from a height downwards. */
async function listFrom(context: ReadContext, to: number) {
  const rows = await rowsBetween(context, Math.max(0, to - BLOCKS_OF_LIST + 1), to)
  return extendedBlocks(rows, context)
}

export const extendedList = declareRead({
  name: 'mempoolSpaceBlocksExtended',
  path: '/v1/blocks',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => {
    networkIn(context)
    return listFrom(context, context.chain.height)
  },
})

export const extendedListBelow = declareRead({
  name: 'mempoolSpaceBlocksBelow',
  path: '/v1/blocks/:height',
  fresh: 'head',
  args: { height: text('height of the first block') },
  answer: Type.Unknown(),
  resolve(context, { height: argument }) {
    networkIn(context)
    // A client without a height sends this.
    const height = argument === 'undefined' ? context.chain.height : numberIn(argument)
    return listFrom(context, Math.min(height, context.chain.height))
  },
})

export const extendedBlock = declareRead({
  name: 'mempoolSpaceBlock',
  path: '/v1/block/:hash',
  fresh: 'head',
  args: { hash: text('hash of the block') },
  answer: Type.Unknown(),
  async resolve(context, { hash }) {
    const match = await findBlock(context.tables, context.chain, hashIn(hash))
    if (match === undefined) throw new NotFound(NOT_FOUND)
    const [block] = await extendedBlocks([match.row], context)
    return block
  },
})

const range = (path: string, name: string) =>
  declareRead({
    name,
    path,
    fresh: 'head',
    args: { from: text('lowest height'), to: Type.Optional(text('highest height')) },
    answer: Type.Unknown(),
    async resolve(context, args) {
      networkIn(context)
      const from = numberIn(args.from)
      const to = Math.min(
        args.to === undefined ? context.chain.height : numberIn(args.to),
        context.chain.height,
      )
      if (to - from + 1 > MAX_RANGE)
        throw new BadArgument(`You can only query ${String(MAX_RANGE)} blocks at once.`)
      if (from > to) throw new BadArgument('Parameter `to` must be higher than `from`')
      return (await extendedBlocks(await rowsBetween(context, from, to), context)).reverse()
    },
  })

export const blocksFromHeight = range('/v1/blocks-bulk/:from', 'mempoolSpaceBlocksFrom')
export const blocksInRange = range('/v1/blocks-bulk/:from/:to', 'mempoolSpaceBlocksBetween')

/** The tips that a node reports: that of the chain, and those of the branches that the index has seen. */
export const chainTips = declareRead({
  name: 'mempoolSpaceChainTips',
  path: '/v1/chain-tips',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  async resolve(context) {
    networkIn(context)
    const { height, tipHash: hash } = context.chain
    const tips = await staleTips(context)
    return [
      { height, hash, branchlen: 0, status: 'active' },
      ...tips.map(({ branch: _, ...tip }) => ({ ...tip, status: 'valid-fork' })),
    ]
  },
})

/** The tips of replaced branches with their blocks, and the blocks of the chain at their heights. */
export const staleBlocks = declareRead({
  name: 'mempoolSpaceStaleTips',
  path: '/v1/stale-tips',
  fresh: 'head',
  args: {},
  answer: Type.Unknown(),
  async resolve(context) {
    networkIn(context)
    const { tables, chain } = context
    const tips = (await staleTips(context)).slice(0, BLOCKS_OF_LIST)
    const items = tips.map(async ({ branch: _, ...tip }) => {
      const stale = await findBlock(tables, chain, tip.hash)
      const canonical = await findBlock(tables, chain, String(tip.height))
      const [replaced] = stale === undefined ? [] : await extendedBlocks([stale.row], context)
      const [instead = null] = canonical === undefined ? [] : await extendedBlocks([canonical.row], context)
      return replaced === undefined
        ? []
        : [{ ...tip, status: 'valid-fork', stale: replaced, canonical: instead }]
    })
    return (await Promise.all(items)).flat()
  },
})
