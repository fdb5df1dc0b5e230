import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import { decodePrevouts } from '../../../../../pipelines/chain/prevout.js'
import { readTx } from '../../../../../pipelines/chain/transaction.js'
import { departureOf } from '../../mempool/departure.js'
import { feeRatesOf, type ShownTx } from '../../mempool/shown-tx.js'
import { outputPrefix } from '../../tables/point-keys.js'
import { MAX_SHARED_SPENDS, type PlacedTx, type Spend, type StoredBody } from '../../tables/lookups.js'
import {
  allSpends,
  type Named,
  NO_WITNESS,
  spendsIn,
  storedOf,
  transactionAt,
  transactionByTxid,
  type TxRow,
  finalHeightOf,
  withTxids,
} from '../../tables/transactions.js'
import { NotFound, type ReadContext, type TxDetail } from '../read.js'
import type { Transaction } from '../shapes.js'
import { WrittenAnswer } from '../written-answer.js'
import { isWithin, transactionJson, type TransactionSource } from './transaction-json.js'

type Sources = Pick<ReadContext, 'chain' | 'tables' | 'validity' | 'size' | 'detail'>

/** The block of transactions that may not be on the chain. */
interface Replaceable {
  readonly hash: string
  /** Unix seconds. */
  readonly time: number
}

/** About the characters of JSON that an answer has for each byte of a body: many for outputs, which have few bytes. */
const CHARACTERS_PER_BYTE = 12
/** The number of inputs and outputs up to which they take no more than a usual transaction. */
const MAX_RANGE = 1_000
const NO_SPENDS: ReadonlyMap<string, readonly Spend[]> = new Map()
const NOTHING = Buffer.alloc(0)
/** The characters of JSON of a usual transaction, and of one with its witnesses. */
const USUAL = { bare: 4 * 1024, full: 16 * 1024 }

/**
 * Returns transactions of blocks as JSON of shape `Transaction`, in their order. What does not fit into the answer (`AnswerSize`) is
 * left out: the longest of the first witnesses and scripts.
 * @param full true to include script_sig and witness in inputs.
 * @param block the block of all of them; undefined if they are on the chain.
 * @throws AnswerTooLarge.
 */
export async function transactionsAt(
  located: readonly PlacedTx[],
  context: Sources,
  full: boolean,
  block?: Replaceable,
): Promise<string[]> {
  const { tables, size, detail } = context
  const usual = located.length * (full ? USUAL.full : USUAL.bare)
  await size.reserve(usual)
  const isWitnessed = full && detail?.witness !== false
  const [stored, spends] = await Promise.all([
    storedOf(tables, located, isWitnessed),
    // Only outputs name the transactions that spend them.
    detail?.outputs.count === 0
      ? NO_SPENDS
      : tables.spends.getAll(located.map(({ txid }) => outputPrefix(txid))),
  ])
  await size.reserve(Math.max(0, sizeOf([...stored.values()], isWitnessed, detail) - usual))
  const first = (at: PlacedTx): readonly Spend[] => spends.get(outputPrefix(at.txid)) ?? []
  const shownOf = async (at: PlacedTx): Promise<readonly Named<Spend>[]> => {
    const all = await allSpends(tables, at.txid, first(at))
    return shownSpends(await spendsIn(tables, context.chain.blocks, at, all, stored.get(at.txid)), context)
  }
  // In one lookup; those of transactions with many of them one after another.
  const few = located.filter((at) => first(at).length <= MAX_SHARED_SPENDS)
  const shown = new Map(await Promise.all(few.map(async (at) => [at, await shownOf(at)] as const)))
  const items: string[] = []
  for (const at of located) {
    const row = await transactionAt(tables, at, stored, isWitnessed ? size.takes : NO_WITNESS)
    const own = shown.get(at) ?? (await shownOf(at))
    const json = confirmed(row, own, context, { full, block, takes: size.takes })
    size.add(json.length)
    items.push(json)
  }
  return items
}

/** Returns the spends of the outputs that an answer shows, with their txids. */
function shownSpends(
  spends: readonly Spend[],
  { tables, detail }: Pick<Sources, 'tables' | 'detail'>,
): Promise<readonly Named<Spend>[]> {
  const range = detail?.outputs
  return withTxids(tables, range ? spends.filter(({ prevVout }) => isWithin(range, prevVout)) : spends)
}

/** Returns about how many characters the JSON of transactions has. */
function sizeOf(rows: readonly StoredBody[], isWitnessed: boolean, detail: TxDetail | undefined): number {
  const isRange = detail !== undefined && detail.inputs.count + detail.outputs.count < MAX_RANGE
  const bodies = isRange ? 0 : rows.reduce((sum, { bodySize }) => sum + bodySize, 0)
  const witnesses = isWitnessed ? rows.reduce((sum, { witnessSize }) => sum + witnessSize, 0) : 0
  return CHARACTERS_PER_BYTE * bodies + 2 * witnesses
}

/**
 * Returns a transaction of the mempool or of the chain.
 * @param requested its txid, in upper or lower case.
 * @throws NotFound.
 */
export async function transactionNow(
  requested: string,
  context: ReadContext,
): Promise<WrittenAnswer<Transaction>> {
  const txid = requested.toLowerCase()
  const inMempool = context.mempool.get(txid)
  if (inMempool !== undefined) {
    context.validity.dependsOn(txid)
    return new WrittenAnswer(unconfirmed(inMempool, context))
  }
  const json = await transactionById(txid, context)
  if (json === undefined) throw await missing(txid, context)
  return new WrittenAnswer(json)
}

/** Returns the error for a transaction that is neither in the mempool nor on the chain, with what is known of it. */
async function missing(txid: string, { dropped }: Pick<ReadContext, 'dropped'>): Promise<NotFound> {
  const drop = await dropped.find(txid)
  if (drop === undefined) return new NotFound('Transaction not found')
  const { reason, left, replaced_by } = departureOf(drop)
  return new NotFound('Transaction not found', 0, 'HW_NOT_FOUND', { replaced_by, left, reason })
}

/** Returns a transaction of the chain; undefined if the chain does not contain it. */
async function transactionById(txid: string, context: Sources): Promise<string | undefined> {
  const { chain, tables, size, detail } = context
  const takes = detail?.witness === false ? NO_WITNESS : detail && size.takes
  const before = (row: StoredBody) => size.reserve(sizeOf([row], takes !== NO_WITNESS, detail))
  const [row, spends] = await Promise.all([
    transactionByTxid(tables, chain.blocks, txid, takes, before),
    tables.spends.get(outputPrefix(txid)),
  ])
  if (row === undefined) return undefined
  const all = await allSpends(tables, txid, spends)
  const own = await shownSpends(await spendsIn(tables, chain.blocks, row, all), context)
  const json = confirmed(row, own, context, { full: true, takes: detail && size.takes })
  context.validity.finalFrom(finalHeightOf(row))
  size.add(json.length)
  return json
}

function confirmed(
  row: TxRow,
  spends: readonly Named<Spend>[],
  { chain: { network, blocks }, validity, detail }: Pick<Sources, 'chain' | 'validity' | 'detail'>,
  { full, takes, block = { hash: blocks.hashAt(row.height), time: blocks.timeAt(row.height) } }: Writing,
): string {
  if (network === undefined) throw new Error('the network of the chain is unknown')
  const { txid, body, witness, witnessSize, height, txIndex, isDilithium } = row
  const { json, spentFrom } = transactionJson({
    txid,
    body,
    witness: shownWitness(witness, detail),
    witnessSize,
    isDilithium,
    network,
    full,
    detail,
    takes,
    block: { hash: block.hash, height, txIndex },
    time: block.time,
    coins: decodePrevouts(row.prevouts),
    spends,
  })
  validity.dependsOn(txid)
  validity.finalFrom(Math.max(height, spentFrom))
  return json
}

/** Returns the witness that is shown: a witness that was not requested does not count as left out. */
const shownWitness = (witness: Buffer | undefined, detail: TxDetail | undefined): Buffer | undefined =>
  detail?.witness === false ? NOTHING : witness

/** The options of writing a transaction. */
interface Writing extends Pick<TransactionSource, 'full' | 'takes'> {
  readonly block?: Replaceable | undefined
}

/** Returns an unconfirmed transaction. Unconfirmed spends of its outputs are not included. */
export function unconfirmed(tx: ShownTx, { size, detail }: Pick<Sources, 'size' | 'detail'>): string {
  const { raw, txid, coins, fee, isDilithium, network, firstSeen } = tx
  const { body, witness } = readTx(new ByteReader(raw))
  const takes = detail && size.takes
  const isTaken = detail?.witness !== false && (takes?.(witness.length) ?? true)
  const { json } = transactionJson({
    txid,
    body,
    witness: shownWitness(isTaken ? witness : undefined, detail),
    witnessSize: witness.length,
    coins,
    fee,
    feeRates: feeRatesOf(tx),
    isDilithium,
    network,
    detail,
    takes,
    block: undefined,
    time: firstSeen,
    spends: [],
    full: true,
  })
  size.add(json.length)
  return json
}
