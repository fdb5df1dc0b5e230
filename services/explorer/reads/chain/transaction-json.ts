import { addressOf } from '../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../pipelines/chain/amount.js'
import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import { reverseHex } from '../../../../pipelines/chain/hash.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { isUnspendable, scriptType } from '../../../../pipelines/chain/script.js'
import { vsizeOf, weightOf } from '../../../../pipelines/chain/transaction.js'
import type { Coin } from '../../mempool/shown-tx.js'
import { isoTime } from './block-rows.js'

/** The input that spends an output. */
interface Spender {
  readonly prevVout: number
  /** Height of the block that contains it. */
  readonly height: number
  readonly txid: string
  readonly vin: number
}

/** The data from which a transaction is written. */
export interface TransactionSource {
  readonly txid: string
  /** The serialisation without witnesses. */
  readonly body: Buffer
  /** The serialised witnesses alone, empty if there are none. */
  readonly witness: Buffer
  /** The output that each input spends; undefined if it is not known. None for a coinbase. */
  readonly coins: readonly (Coin | undefined)[]
  /** Its block; undefined for an unconfirmed transaction. */
  readonly block: { readonly hash: string; readonly height: number; readonly txIndex: number } | undefined
  /** Unix seconds. */
  readonly time: number
  /** Base units; undefined if it is the difference between inputs and outputs. */
  readonly fee?: bigint
  readonly isDilithium: boolean
  readonly spends: readonly Spender[]
  readonly network: Network
  /** True to include script_sig and witness in inputs. */
  readonly full: boolean
}

export interface WrittenTransaction {
  readonly json: string
  /** The height from which on all outputs are spent, or never can be; infinite if one is unspent. */
  readonly spentFrom: number
}

/**
 * Returns a transaction as the JSON of shape `Transaction`, directly from its serialisation. All strings in it are hex, decimal or
 * addresses, which need no escaping.
 * @throws RangeError for bytes that are not exactly one transaction.
 */
export function transactionJson(source: TransactionSource): WrittenTransaction {
  const { txid, body, witness, coins, block, network } = source
  const reader = new ByteReader(body)
  const height = block === undefined ? 'null' : String(block.height)
  const version = reader.i32()
  const inputs = inputsOf(reader, source, height)
  const outputs = outputsOf(reader, source, height)
  const locktime = reader.u32()
  if (reader.remaining > 0) throw new RangeError(`${String(reader.remaining)} bytes after the transaction`)
  const hasWitness = witness.length > 0
  // Marker and flag belong to the witnesses.
  const size = body.length + (hasWitness ? witness.length + 2 : 0)
  const weight = weightOf({ strippedSize: body.length, size }, network)
  const inputValue = sumOf(coins)
  const fee = source.fee ?? (inputs.isCoinbase ? 0n : inputValue - outputs.value)
  const json =
    `{"txid":"${txid}","block_hash":${block === undefined ? 'null' : `"${block.hash}"`},` +
    `"block_height":${height},"tx_index":${block === undefined ? 'null' : String(block.txIndex)},` +
    `"version":${String(version)},"size":${String(size)},"vsize":${String(vsizeOf(weight, network))},` +
    `"weight":${String(weight)},"locktime":"${String(locktime)}","is_coinbase":${String(inputs.isCoinbase)},` +
    `"fee":"${String(fee)}","input_count":${String(inputs.count)},"output_count":${String(outputs.count)},` +
    `"input_value":"${String(inputValue)}","output_value":"${String(outputs.value)}",` +
    `"timestamp":"${isoTime(source.time)}","has_witness":${String(hasWitness)},` +
    `"is_dilithium":${String(source.isDilithium)},"inputs":[${inputs.json}],"outputs":[${outputs.json}]}`
  return { json, spentFrom: outputs.spentFrom }
}

const NO_TXID = '00'.repeat(32)
const NO_VOUT = 0xffff_ffff

interface Inputs {
  readonly json: string
  readonly count: number
  readonly isCoinbase: boolean
}

function inputsOf(
  reader: ByteReader,
  { txid, witness, coins, network, full }: TransactionSource,
  height: string,
): Inputs {
  const witnesses = full && witness.length > 0 ? new ByteReader(witness) : undefined
  const count = reader.compactSize()
  let isCoinbase = false
  let json = ''
  for (let vin = 0; vin < count; vin++) {
    const prevTxid = reverseHex(reader.bytes(32))
    const prevVout = reader.u32()
    const scriptSig = reader.bytes(reader.compactSize())
    const sequence = reader.u32()
    isCoinbase = count === 1 && prevVout === NO_VOUT && prevTxid === NO_TXID
    const coin = coins[vin]
    const address = coin === undefined ? undefined : addressOf(coin.script, network)
    json +=
      `${vin === 0 ? '' : ','}{"txid":"${txid}","vin":${String(vin)},"block_height":${height},` +
      `"prev_txid":${isCoinbase ? 'null' : `"${prevTxid}"`},"prev_vout":${isCoinbase ? 'null' : String(prevVout)},` +
      (full ? `"script_sig":${scriptSig.length === 0 ? 'null' : `"${scriptSig.toString('hex')}"`},` : '') +
      `"sequence":"${String(sequence)}",` +
      (full ? `"witness":[${witnesses === undefined ? '' : itemsOf(witnesses)}],` : '') +
      `"value":${coin === undefined ? 'null' : `"${String(coin.value)}"`},` +
      `"address":${address === undefined ? 'null' : `"${address}"`}}`
  }
  if (witnesses !== undefined && witnesses.remaining > 0) throw new RangeError('more witnesses than inputs')
  return { json, count, isCoinbase }
}

/** Returns the items of an input's witness. */
function itemsOf(reader: ByteReader): string {
  const count = reader.compactSize()
  let json = ''
  for (let index = 0; index < count; index++)
    json += `${index === 0 ? '' : ','}"${reader.bytes(reader.compactSize()).toString('hex')}"`
  return json
}

interface Outputs {
  readonly json: string
  readonly count: number
  /** Base units. */
  readonly value: bigint
  readonly spentFrom: number
}

function outputsOf(
  reader: ByteReader,
  { txid, spends, network }: TransactionSource,
  height: string,
): Outputs {
  const count = reader.compactSize()
  const spenders = new Map(spends.map((spend) => [spend.prevVout, spend]))
  let total = 0n
  let spentFrom = 0
  let json = ''
  for (let vout = 0; vout < count; vout++) {
    const value = reader.u64()
    const script = reader.bytes(reader.compactSize())
    const spender = spenders.get(vout)
    const address = addressOf(script, network)
    total += value
    if (!isUnspendable(script)) spentFrom = Math.max(spentFrom, spender?.height ?? Number.POSITIVE_INFINITY)
    json +=
      `${vout === 0 ? '' : ','}{"txid":"${txid}","vout":${String(vout)},"block_height":${height},` +
      `"value":"${String(value)}","script_pub_key":"${script.toString('hex')}",` +
      `"script_type":"${scriptType(script, network)}",` +
      `"spent_txid":${spender === undefined ? 'null' : `"${spender.txid}"`},` +
      `"spent_vin":${spender === undefined ? 'null' : String(spender.vin)},` +
      `"addresses":[${address === undefined ? '' : `{"address":"${address}","role":"recipient"}`}]}`
  }
  return { json, count, value: total, spentFrom }
}
