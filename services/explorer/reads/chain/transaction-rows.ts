import { addressOf } from '../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../pipelines/chain/amount.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { decodePrevouts } from '../../../../pipelines/chain/prevout.js'
import { isUnspendable, scriptType } from '../../../../pipelines/chain/script.js'
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
import type { TxLocation, Spend } from '../../tables/tables.js'
import { isoTime } from './block-rows.js'
import { NotFound, type ReadContext } from '../read.js'
import type { Input, Output, Transaction } from '../shapes.js'

/** The fields of a transaction that depend on its block, or on the mempool. */
type TxFields = Pick<
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
  readonly fields: TxFields
  readonly coins: readonly (Coin | undefined)[]
  readonly spends: readonly Spend[]
  readonly network: Network
  /** True to include script_sig and witness in inputs. */
  readonly full: boolean
}

/**
 * Returns transactions of blocks, in the order of their locations.
 * @param full true to include script_sig and witness in inputs; otherwise no witness is read.
 */
export async function transactionsAt(
  locations: readonly TxLocation[],
  { chain, tables, validity }: Pick<ReadContext, 'chain' | 'tables' | 'validity'>,
  full: boolean,
): Promise<Transaction[]> {
  const txids = locations.map((location) => location.txid)
  const witnessed = full ? locations.filter((location) => location.wtxid !== location.txid) : []
  const [bodies, spends, witnesses] = await Promise.all([
    tables.bodies.getAll(txids),
    tables.spends.getAll(txids),
    tables.witnesses.getAll(witnessed.map((location) => location.wtxid)),
  ])
  return locations.map((location) => {
    const body = bodyOf(location, bodies.get(location.txid))
    const own = { body, spends: spends.get(location.txid) ?? [], witness: witnesses.get(location.wtxid) }
    return confirmed(location, own, { chain, validity }, full)
  })
}

/**
 * Returns a transaction of the mempool or of the chain.
 * @param requested its txid, in upper or lower case.
 * @throws NotFound.
 */
export async function transactionNow(requested: string, context: ReadContext): Promise<Transaction> {
  const txid = requested.toLowerCase()
  const inMempool = context.mempool.get(txid)
  if (inMempool !== undefined) {
    context.validity.dependsOn(txid)
    return unconfirmed(inMempool)
  }
  const found = await transactionById(txid, context)
  if (found === undefined) throw new NotFound('Transaction not found')
  return found
}

/** Returns a transaction of the chain; undefined if the chain does not contain it. */
async function transactionById(
  txid: string,
  { chain, tables, validity }: Pick<ReadContext, 'chain' | 'tables' | 'validity'>,
): Promise<Transaction | undefined> {
  const { view } = chain
  if (view === undefined) return undefined
  const [locations, body, spends, witnesses] = await Promise.all([
    tables.locations.get(txid),
    tables.bodies.get(txid),
    tables.spends.get(txid),
    tables.ownWitnesses.get(txid),
  ])
  const location = locations?.find((each) => view.isCanonical(each.height, each.blockHash))
  if (location === undefined) return undefined
  const witness = witnesses?.get(location.wtxid)
  const own = { body: bodyOf(location, body), spends: spends ?? [], witness }
  return confirmed(location, own, { chain, validity }, true)
}

/** Asserts that the body of a located transaction exists: it is written before the location. @throws Error. */
export function bodyOf({ txid }: TxLocation, body: Body | undefined): Body {
  if (body === undefined) throw new Error(`table tx_bodies lacks transaction ${txid}, which is in a block`)
  return body
}

function confirmed(
  location: TxLocation,
  own: { readonly body: Body; readonly spends: readonly Spend[]; readonly witness: Buffer | undefined },
  { chain: { network, view }, validity }: Pick<ReadContext, 'chain' | 'validity'>,
  full: boolean,
): Transaction {
  if (network === undefined) throw new Error('the network of the chain is unknown')
  const tx = parseBody(own.body.body, own.witness)
  const coins = decodePrevouts(own.body.prevouts)
  const { size, weight, time } = location
  const fields: TxFields = {
    ...{ block_hash: location.blockHash, block_height: location.height, tx_index: location.txIndex },
    ...{
      is_dilithium: location.isDilithium,
      has_witness: location.wtxid !== location.txid,
      time,
      size,
      weight,
    },
    fee: tx.isCoinbase ? 0n : sumOf(coins) - sumOf(tx.outputs),
  }
  const spends = own.spends.filter((spend) => view?.isCanonical(spend.height, spend.blockHash))
  validity.dependsOn(location.txid)
  validity.finalFrom(finalFrom(location.height, tx.outputs, spends))
  return assemble({ tx, fields, coins, spends, network, full })
}

/** Returns the height from which on a transaction does not change any more: all outputs are spent then, or never can be. */
function finalFrom(height: number, outputs: readonly TxOutput[], spends: readonly Spend[]): number {
  const spentAt = new Map(spends.map((spend) => [spend.prevVout, spend.height]))
  let from = height
  for (const [vout, { script }] of outputs.entries())
    if (!isUnspendable(script)) from = Math.max(from, spentAt.get(vout) ?? Number.POSITIVE_INFINITY)
  return from
}

/** Returns an unconfirmed transaction. Unconfirmed spends of its outputs are not included. */
function unconfirmed(inMempool: ShownTx): Transaction {
  const tx = parseTx(inMempool.raw)
  const { coins, network, size, weight, fee } = inMempool
  const fields: TxFields = {
    ...{ block_hash: null, block_height: null, tx_index: null, time: inMempool.firstSeen },
    ...{ is_dilithium: inMempool.isDilithium, has_witness: tx.hasWitness, size, weight, fee },
  }
  return assemble({ tx, fields, coins, spends: [], network, full: true })
}

function assemble(parts: Parts): Transaction {
  const { tx, fields, coins, spends, network } = parts
  const { block_hash, block_height, tx_index, size, weight, fee } = fields
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
    timestamp: isoTime(fields.time),
    has_witness: fields.has_witness,
    is_dilithium: fields.is_dilithium,
    inputs: tx.inputs.map((input, vin) => inputOf(parts, input, vin)),
    outputs: tx.outputs.map((output, vout) => outputOf(parts, output, vout, spenders.get(vout))),
  }
}

function inputOf({ tx, fields, coins, network, full }: Parts, input: TxInput, vin: number): Input {
  const coin = coins[vin]
  return {
    txid: tx.txid,
    vin,
    block_height: fields.block_height,
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
  { tx, fields, network }: Parts,
  output: TxOutput,
  vout: number,
  spend: Spend | undefined,
): Output {
  const address = addressOf(output.script, network)
  return {
    txid: tx.txid,
    vout,
    block_height: fields.block_height,
    value: output.value.toString(),
    script_pub_key: output.script.toString('hex'),
    script_type: scriptType(output.script, network),
    spent_txid: spend?.txid ?? null,
    spent_vin: spend?.vin ?? null,
    addresses: address === undefined ? [] : [{ address, role: 'recipient' }],
  }
}
