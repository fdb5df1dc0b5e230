import { addressOf } from '../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../pipelines/chain/amount.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { decodePrevouts } from '../../../../pipelines/chain/prevout.js'
import { scriptType } from '../../../../pipelines/chain/script.js'
import {
  parseBody,
  parseTx,
  type Tx,
  type TxInput,
  type TxOutput,
  vsizeOf,
} from '../../../../pipelines/chain/transaction.js'
import type { Body } from '../../../../pipelines/tables/bodies.js'
import type { Coin, ShownTx } from '../../mempool/shown-tx.js'
import type { Place, Spend } from '../../tables/tables.js'
import { isoTime } from './block-rows.js'
import { NotFound, type ReadContext } from '../read.js'
import type { Input, Output, Transaction } from '../shapes.js'

/** What its block, or the mempool, says of a transaction. */
type Standing = Pick<
  Transaction,
  'block_hash' | 'block_height' | 'tx_index' | 'is_dilithium' | 'has_witness'
> & {
  /** Unix seconds. */
  readonly time: number
  readonly size: number
  readonly weight: number
  /** Base units. */
  readonly fee: bigint
}

interface Parts {
  readonly tx: Tx
  readonly standing: Standing
  readonly coins: readonly (Coin | undefined)[]
  readonly spends: readonly Spend[]
  readonly network: Network
  /** Whether inputs tell script_sig and witness. */
  readonly full: boolean
}

/**
 * Transactions of blocks, in the order of their places.
 * @param full whether inputs tell script_sig and witness; else no witness is read.
 */
export async function transactionsAt(
  places: readonly Place[],
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  full: boolean,
): Promise<Transaction[]> {
  const txids = places.map((place) => place.txid)
  const witnessed = full ? places.filter((place) => place.wtxid !== place.txid) : []
  const [bodies, spends, witnesses] = await Promise.all([
    tables.bodies.getAll(txids),
    tables.spends.getAll(txids),
    tables.witnesses.getAll(witnessed.map((place) => place.wtxid)),
  ])
  return places.map((place) => {
    const body = bodyOf(place, bodies.get(place.txid))
    const own = { body, spends: spends.get(place.txid) ?? [], witness: witnesses.get(place.wtxid) }
    return confirmed(place, own, chain, full)
  })
}

/**
 * A transaction as it stands now: of the pool, or of the chain.
 * @param asked its txid, in whatever case.
 * @throws NotFound.
 */
export async function transactionNow(asked: string, context: ReadContext): Promise<Transaction> {
  const txid = asked.toLowerCase()
  const pooled = context.pool.get(txid)
  if (pooled !== undefined) return unconfirmed(pooled)
  const found = await transactionById(txid, context)
  if (found === undefined) throw new NotFound('Transaction not found')
  return found
}

/** One transaction of the chain with all that belongs to it, undefined where the chain does not hold it. */
async function transactionById(
  txid: string,
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
): Promise<Transaction | undefined> {
  const { view } = chain
  if (view === undefined) return undefined
  const [places, body, spends, witnesses] = await Promise.all([
    tables.places.get(txid),
    tables.bodies.get(txid),
    tables.spends.get(txid),
    tables.ownWitnesses.get(txid),
  ])
  const place = places?.find((each) => view.isCanonical(each.height, each.blockHash))
  if (place === undefined) return undefined
  const witness = witnesses?.get(place.wtxid)
  return confirmed(place, { body: bodyOf(place, body), spends: spends ?? [], witness }, chain, true)
}

/** @throws where the tables lack it: it is written before its place. */
export function bodyOf({ txid }: Place, body: Body | undefined): Body {
  if (body === undefined) throw new Error(`transaction ${txid} is in a block and has no body`)
  return body
}

function confirmed(
  place: Place,
  own: { readonly body: Body; readonly spends: readonly Spend[]; readonly witness: Buffer | undefined },
  { network, view }: ReadContext['chain'],
  full: boolean,
): Transaction {
  if (network === undefined) throw new Error('a transaction of no chain')
  const tx = parseBody(own.body.body, own.witness)
  const coins = decodePrevouts(own.body.prevouts)
  const { size, weight, time } = place
  const standing: Standing = {
    ...{ block_hash: place.blockHash, block_height: place.height, tx_index: place.txIndex },
    ...{ is_dilithium: place.isDilithium, has_witness: place.wtxid !== place.txid, time, size, weight },
    fee: tx.isCoinbase ? 0n : sumOf(coins) - sumOf(tx.outputs),
  }
  const spends = own.spends.filter((spend) => view?.isCanonical(spend.height, spend.blockHash))
  return assemble({ tx, standing, coins, spends, network, full })
}

/** An unconfirmed transaction; what its outputs are spent by counts only when it is confirmed. */
function unconfirmed(pooled: ShownTx): Transaction {
  const tx = parseTx(pooled.raw)
  const { coins, network, size, weight, fee } = pooled
  const standing: Standing = {
    ...{ block_hash: null, block_height: null, tx_index: null, time: pooled.firstSeen },
    ...{ is_dilithium: pooled.isDilithium, has_witness: tx.hasWitness, size, weight, fee },
  }
  return assemble({ tx, standing, coins, spends: [], network, full: true })
}

function assemble(parts: Parts): Transaction {
  const { tx, standing, coins, spends, network } = parts
  const { block_hash, block_height, tx_index, size, weight, fee } = standing
  const spenders = new Map(spends.map((spend) => [spend.prevVout, spend]))
  return {
    txid: tx.txid,
    block_hash,
    block_height,
    tx_index,
    version: tx.version,
    size,
    vsize: vsizeOf(weight, network),
    weight,
    locktime: String(tx.locktime),
    is_coinbase: tx.isCoinbase,
    fee: fee.toString(),
    input_count: tx.inputs.length,
    output_count: tx.outputs.length,
    input_value: sumOf(coins).toString(),
    output_value: sumOf(tx.outputs).toString(),
    timestamp: isoTime(standing.time),
    has_witness: standing.has_witness,
    is_dilithium: standing.is_dilithium,
    inputs: tx.inputs.map((input, vin) => inputOf(parts, input, vin)),
    outputs: tx.outputs.map((output, vout) => outputOf(parts, output, vout, spenders.get(vout))),
  }
}

function inputOf({ tx, standing, coins, network, full }: Parts, input: TxInput, vin: number): Input {
  const coin = coins[vin]
  return {
    txid: tx.txid,
    vin,
    block_height: standing.block_height,
    prev_txid: tx.isCoinbase ? null : input.prevTxid,
    prev_vout: tx.isCoinbase ? null : input.prevVout,
    ...(full ? { script_sig: input.scriptSig.length === 0 ? null : input.scriptSig.toString('hex') } : {}),
    sequence: String(input.sequence),
    ...(full ? { witness: input.witness.map((item) => item.toString('hex')) } : {}),
    value: coin === undefined ? null : coin.value.toString(),
    address: coin === undefined ? null : (addressOf(coin.script, network) ?? null),
  }
}

function outputOf(
  { tx, standing, network }: Parts,
  output: TxOutput,
  vout: number,
  spend: Spend | undefined,
): Output {
  const address = addressOf(output.script, network)
  return {
    txid: tx.txid,
    vout,
    block_height: standing.block_height,
    value: output.value.toString(),
    script_pub_key: output.script.toString('hex'),
    script_type: scriptType(output.script, network),
    spent_txid: spend?.txid ?? null,
    spent_vin: spend?.vin ?? null,
    addresses: address === undefined ? [] : [{ address, role: 'recipient' }],
  }
}
