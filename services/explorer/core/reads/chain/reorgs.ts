import type { Static } from '@sinclair/typebox'
import { HEADS_OF_STATE } from '../../../../../pipelines/tables/writers.js'
import { blockTag, type BlockId } from '../../../../../pipelines/chain/block.js'
import { outpointOf } from '../../../../../pipelines/chain/prevout.js'
import { parseBody, type TxInput } from '../../../../../pipelines/chain/transaction.js'
import type { BlockTx, Spend } from '../../tables/lookups.js'
import { blockKey, outputPrefix } from '../../tables/point-keys.js'
import { allSpends, blockTxsOf, confirmationsByTxid, eachBody, withTxids } from '../../tables/transactions.js'
import { limit, page } from '../arguments.js'
import { declareRead, NEVER, networkIn, NotFound, type ReadContext } from '../read.js'
import { paged } from '../lists.js'
import { type Block, Reorg } from '../shapes.js'
import { toBlock } from './block-rows.js'

interface Row {
  readonly tip: string
  readonly now: readonly string[]
  readonly gone: readonly string[]
  readonly before: string
}

/** Returns the reorganisations with numbers in a range (inclusive), newest first. */
async function reorgsBetween(
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  from: number,
  to: number,
): Promise<Row[]> {
  const sql = `SELECT tip_height AS tip, arrayMap(each -> lower(hex(each)), connected) AS now,
      arrayMap(each -> lower(hex(each)), disconnected) AS gone, reorgs_before AS before FROM heads
    WHERE heads.position <= {position:Int64} AND reorgs_before BETWEEN {from:UInt64} AND {to:UInt64} AND notEmpty(disconnected)
      AND ${HEADS_OF_STATE} ORDER BY heads.position DESC LIMIT 1 BY heads.position`
  return tables.query<Row>(sql, { position: chain.position, from: from - 1, to: to - 1 })
}

/** Returns the reorganisations with numbers in a range (inclusive, from 1), newest first, each with both branches. */
export async function reorgsOf(
  context: Pick<ReadContext, 'chain' | 'tables'>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Static<typeof Reorg>[]> {
  if (to < from) return []
  return (await reorgsBetween(context, from, to)).map(({ tip, now, gone, before }) => {
    const fork = Number(tip) - now.length
    return {
      seq: Number(before) + 1,
      fork_height: fork,
      depth: gone.length,
      disconnected: gone.map((hash, index) => ({ height: fork + gone.length - index, hash })),
      connected: now.map((hash, index) => ({ height: fork + 1 + index, hash })),
    }
  })
}

export const reorgs = declareRead({
  name: 'reorgs',
  about: 'The reorganisations that the index has seen, newest first, each with both branches.',
  path: '/reorgs',
  fresh: 'head',
  args: { page, limit: limit(20, 100) },
  answer: paged(Reorg),
  async resolve({ chain, tables }, { page, limit }) {
    const total = chain.reorgs
    const to = total - (page - 1) * limit
    if (to < 1) return { items: [], total, page, limit }
    const items = await reorgsOf({ chain, tables }, { from: Math.max(1, to - limit + 1), to })
    return { items, total, page, limit }
  },
})

/** A block of a branch. */
export interface BranchBlock extends Block {
  /** Its first transaction, which exists in no other block. */
  readonly coinbase: string
}

/** An output that a transaction spends, and that it cannot spend any more. */
export interface LostInput {
  /** The outpoint. */
  readonly txid: string
  readonly vout: number
  /** The other transaction that spends it; undefined if the output itself is gone. */
  readonly spender: string | undefined
}

/**
 * The present state of a transaction: in the branch that replaced its block, in another block of the chain, in the mempool; or not, because
 * another transaction has spent one of its outputs, an output that it spends is gone, or for a reason that the chain does not show.
 */
export type Outcome = 'again' | 'elsewhere' | 'unconfirmed' | 'doubleSpent' | 'orphaned' | 'dropped'

/** A transaction of a replaced block. */
export interface ReplayedTx {
  readonly txid: string
  /** Height of the replaced block. */
  readonly from: number
  readonly outcome: Outcome
  /** Height of its block on the chain; undefined if it has none. */
  readonly height: number | undefined
  readonly lost: readonly LostInput[]
}

/** A reorganisation block by block, and what is known now of the transactions that it disconnected. */
export interface Replay {
  readonly seq: number
  readonly forkHeight: number
  /** Highest first, as they were disconnected. */
  readonly disconnected: readonly BranchBlock[]
  /** Lowest first. */
  readonly connected: readonly BranchBlock[]
  /** Without coinbases, those that are not on the chain first; undefined if there are too many. */
  readonly txs: readonly ReplayedTx[] | undefined
}

/** The maximum numbers of transactions of a replaced branch that are looked up, and of those that are neither on the chain nor in the mempool. */
const MAX_REPLAYED = 20_000
const MAX_LOST = 1_000
const ORDER: readonly Outcome[] = ['doubleSpent', 'orphaned', 'dropped', 'unconfirmed', 'elsewhere', 'again']

/** Returns a reorganisation by its number. @throws NotFound, DatabaseUnavailable. */
export async function replayOf(context: ReadContext, seq: number): Promise<Replay> {
  const [reorg] = seq < 1 || seq > context.chain.reorgs ? [] : await reorgsOf(context, { from: seq, to: seq })
  if (reorg === undefined) throw new NotFound('Reorganisation not found', NEVER)
  const { fork_height: forkHeight, disconnected, connected } = reorg
  const left = await blockTxsOf(context.tables.unchecked, disconnected)
  const [gone, now] = await Promise.all([
    branchOf(context, disconnected, left),
    branchOf(
      context,
      connected,
      connected.length === 0 ? [] : await blockTxsOf(context.tables.unchecked, connected, 'tx_index = 0'),
    ),
  ])
  const txs = left.filter(({ txIndex }) => txIndex > 0)
  return { seq, forkHeight, disconnected: gone, connected: now, txs: await replayed(context, txs, connected) }
}

/** Returns the blocks of a branch in their order. @param txs of these blocks, at least the coinbases. */
async function branchOf(
  context: ReadContext,
  blocks: readonly BlockId[],
  txs: readonly BlockTx[],
): Promise<BranchBlock[]> {
  const { chain, tables, definitions } = context
  const network = networkIn(context)
  const rows = await tables.blocks.getAll(blocks.map(({ height, hash }) => blockKey(height, hash)))
  const coinbases = new Map(txs.flatMap((tx) => (tx.txIndex === 0 ? [[tx.blockTag, tx.txid]] : [])))
  return blocks.map(({ height, hash }) => {
    const row = rows.get(blockKey(height, hash))
    if (row === undefined) throw new Error(`table blocks lacks block ${hash} of a reorganisation`)
    const canonical = chain.blocks.has(height, row.blockTag)
    return {
      ...toBlock({ row, canonical }, network, definitions),
      coinbase: coinbases.get(row.blockTag) ?? '',
    }
  })
}

/** Returns what became of transactions; undefined if there are too many. @param connected the branch that replaced their blocks. */
async function replayed(
  context: ReadContext,
  txs: readonly BlockTx[],
  connected: readonly BlockId[],
): Promise<ReplayedTx[] | undefined> {
  if (txs.length > MAX_REPLAYED) return undefined
  const { chain, mempool, tables } = context
  const confirmed = await confirmationsByTxid(
    tables,
    chain.blocks,
    txs.map(({ txid }) => txid),
  )
  const lost = txs.filter(({ txid }) => !confirmed.has(txid) && mempool.get(txid) === undefined)
  if (lost.length > MAX_LOST) return undefined
  const lostTxs: Spending[] = []
  await eachBody(
    tables,
    lost.map(({ txid }) => txid),
    ({ txid, body }) => {
      lostTxs.push({ txid, inputs: parseBody(body, undefined).inputs })
    },
  )
  const lostInputs = await lostInputsOf(context, lostTxs)
  const tags = new Map(connected.map(({ height, hash }) => [height, blockTag(hash)]))
  const outcomes = txs.map(({ txid, height: from }): ReplayedTx => {
    const row = confirmed.get(txid)
    const inputs = lostInputs.get(txid) ?? []
    const result = (outcome: Outcome): ReplayedTx => ({
      txid,
      from,
      outcome,
      height: row?.height,
      lost: inputs,
    })
    if (row !== undefined) return result(tags.get(row.height) === row.blockTag ? 'again' : 'elsewhere')
    if (mempool.get(txid) !== undefined) return result('unconfirmed')
    if (inputs.some(({ spender }) => spender !== undefined)) return result('doubleSpent')
    return result(inputs.length > 0 ? 'orphaned' : 'dropped')
  })
  return outcomes.sort((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome))
}

/** A transaction as far as it spends. */
interface Spending {
  readonly txid: string
  readonly inputs: readonly Pick<TxInput, 'prevTxid' | 'prevVout'>[]
}

/** Returns the inputs of transactions, by txid, whose outputs another transaction spends, or that are gone. */
export async function lostInputsOf(
  { chain, mempool, tables }: ReadContext,
  txs: readonly Spending[],
): Promise<Map<string, LostInput[]>> {
  const parents = [...new Set(txs.flatMap(({ inputs }) => inputs.map(({ prevTxid }) => prevTxid)))]
  const [spends, confirmed] = await Promise.all([
    tables.spends.getAll(parents.map(outputPrefix)),
    confirmationsByTxid(tables, chain.blocks, parents),
  ])
  const onChain: Spend[] = []
  for (const { prevTxid, prevVout: vout } of txs.flatMap(({ inputs }) => inputs)) {
    const all = await allSpends(tables, prevTxid, spends.get(outputPrefix(prevTxid)))
    const visible = all.find((each) => each.prevVout === vout && chain.blocks.has(each.height, each.blockTag))
    if (visible !== undefined) onChain.push(visible)
  }
  const spenders = new Map(
    (await withTxids(tables, onChain)).map(({ prevTxid, prevVout, txid }) => [
      outpointOf(prevTxid, prevVout),
      txid,
    ]),
  )
  const lost = new Map<string, LostInput[]>()
  for (const { txid, inputs } of txs)
    for (const { prevTxid, prevVout: vout } of inputs) {
      const spender =
        spenders.get(outpointOf(outputPrefix(prevTxid), vout)) ??
        mempool.spenderOf(outpointOf(prevTxid, vout))?.txid
      const isThere = confirmed.has(prevTxid) || mempool.get(prevTxid) !== undefined
      if (spender === undefined && isThere) continue
      lost.set(txid, [...(lost.get(txid) ?? []), { txid: prevTxid, vout, spender }])
    }
  return lost
}
