import { isoTime } from '../../../../../pipelines/chain/time.js'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../../pipelines/chain/amount.js'
import { ByteReader } from '../../../../../pipelines/chain/bytes.js'
import { reverseHex } from '../../../../../pipelines/chain/hash.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { isUnspendable, scriptType } from '../../../../../pipelines/chain/script.js'
import { vsizeOf, weightOf } from '../../../../../pipelines/chain/transaction.js'
import type { Coin } from '../../mempool/shown-tx.js'
import type { Range, TxDetail } from '../read.js'
import { MAX_USUAL_SCRIPT, multisigField } from '../script.js'

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
  /** The serialised witnesses alone, empty if there are none; undefined if they were not read. */
  readonly witness: Buffer | undefined
  /** Bytes of the witnesses. */
  readonly witnessSize: number
  /** The output that each input spends; undefined if it is not known. None for a coinbase. */
  readonly coins: readonly (Coin | undefined)[]
  /** Its block; undefined for an unconfirmed transaction. */
  readonly block: { readonly hash: string; readonly height: number; readonly txIndex: number } | undefined
  /** Unix seconds. */
  readonly time: number
  /** Base units; undefined if it is the difference between inputs and outputs. */
  readonly fee?: bigint
  /** Those of an unconfirmed transaction. */
  readonly feeRates?: { readonly own: string; readonly effective: string }
  readonly isDilithium: boolean
  readonly spends: readonly Spender[]
  readonly network: Network
  /** True to include script_sig and witness in inputs. */
  readonly full: boolean
  /** The parts that are needed. Not set: all. */
  readonly detail?: Omit<TxDetail, 'witness'> | undefined
  /** Returns whether a script of so many bytes still fits into the answer; others are left out. Not set: all fit. */
  readonly takes?: ((bytes: number) => boolean) | undefined
}

export interface WrittenTransaction {
  readonly json: string
  /** The height from which on all outputs are spent, or never can be; infinite if one is unspent, or was not needed. */
  readonly spentFrom: number
}

/**
 * Returns a transaction as the JSON of shape `Transaction`, directly from its serialisation. All strings in it are hex, decimal or
 * addresses, which need no escaping.
 * @throws RangeError for bytes that are not exactly one transaction.
 */
export function transactionJson(source: TransactionSource): WrittenTransaction {
  const { txid, body, witnessSize, coins, block, network } = source
  const reader = new ByteReader(body)
  const height = block === undefined ? 'null' : String(block.height)
  const version = reader.u32()
  const inputs = inputsOf(reader, source, height)
  const outputs = outputsOf(reader, source, height)
  const locktime = reader.u32()
  if (reader.remaining > 0) throw new RangeError(`${String(reader.remaining)} bytes after the transaction`)
  const hasWitness = witnessSize > 0
  // Marker and flag belong to the witnesses.
  const size = body.length + (hasWitness ? witnessSize + 2 : 0)
  const weight = weightOf({ strippedSize: body.length, size }, network)
  const inputValue = sumOf(coins)
  const fee = source.fee ?? (inputs.isCoinbase ? 0n : inputValue - outputs.value)
  const json =
    `{"txid":"${txid}","block_hash":${block === undefined ? 'null' : `"${block.hash}"`},` +
    `"block_height":${height},"tx_index":${block === undefined ? 'null' : String(block.txIndex)},` +
    `"version":${String(version)},"size":${String(size)},"vsize":${String(vsizeOf(weight, network))},` +
    `"weight":${String(weight)},"locktime":"${String(locktime)}","is_coinbase":${String(inputs.isCoinbase)},` +
    `"fee":"${String(fee)}",${feeRatesOf(source)}"input_count":${String(inputs.count)},"output_count":${String(outputs.count)},` +
    `"input_value":"${String(inputValue)}","output_value":"${String(outputs.value)}",` +
    `"timestamp":"${isoTime(source.time)}","has_witness":${String(hasWitness)},` +
    `"is_dilithium":${String(source.isDilithium)},"inputs":[${inputs.json}],"outputs":[${outputs.json}]}`
  return { json, spentFrom: outputs.spentFrom }
}

const feeRatesOf = ({ feeRates }: TransactionSource): string =>
  feeRates === undefined ? '' : `"fee_rate":"${feeRates.own}","effective_fee_rate":"${feeRates.effective}",`

const NO_TXID = '00'.repeat(32)
const NO_VOUT = 0xffff_ffff
const ALL: Range = { from: 0, count: Number.POSITIVE_INFINITY }

/** Returns whether an input or output is in a range that an answer shows. */
export const isWithin = ({ from, count }: Range, index: number): boolean =>
  index >= from && index < from + count

/** Writes the bytes of scripts and witnesses, and names the fields that were left out. */
class Bytes {
  readonly #takes: (bytes: number) => boolean
  readonly #most: number
  /** The names of the fields of the current item that were left out, as JSON. */
  #omitted: string[] = []

  constructor({ takes = () => true, detail }: Pick<TransactionSource, 'takes' | 'detail'>) {
    this.#takes = takes
    this.#most = detail?.maxBytes ?? Number.POSITIVE_INFINITY
  }

  /** Returns a script as JSON: null if it is left out. */
  script(field: string, script: Buffer): string {
    if (script.length <= MAX_USUAL_SCRIPT) return this.hex(script)
    const isShortened = script.length > this.#most
    if (isShortened || this.#takes(script.length)) return this.hex(script)
    return this.omit(field)
  }

  /** Returns bytes as JSON, or the beginning that is needed. */
  hex(bytes: Buffer): string {
    return `"${bytes.toString('hex', 0, Math.min(bytes.length, this.#most))}"`
  }

  /** Returns the JSON of a field that is left out. */
  omit(field: string): string {
    this.#omitted.push(`"${field}"`)
    return 'null'
  }

  /** Returns the field that names what was left out of the current item, if anything was, and begins the next item. */
  omitted(): string {
    if (this.#omitted.length === 0) return ''
    const names = this.#omitted.join(',')
    this.#omitted = []
    return `,"omitted":[${names}]`
  }
}

interface Inputs {
  readonly json: string
  readonly count: number
  readonly isCoinbase: boolean
}

function inputsOf(reader: ByteReader, source: TransactionSource, height: string): Inputs {
  const { txid, witness, witnessSize, coins, network, full, detail } = source
  const range = detail?.inputs ?? ALL
  const bytes = new Bytes(source)
  const witnesses =
    full && witness !== undefined && witness.length > 0 && range.count > 0
      ? new ByteReader(witness)
      : undefined
  const isLeftOut = witness === undefined && witnessSize > 0
  const count = reader.compactSize()
  let isCoinbase = false
  let json = ''
  for (let vin = 0; vin < count; vin++) {
    const prevHash = reader.bytes(32)
    const prevVout = reader.u32()
    const scriptSig = reader.bytes(reader.compactSize())
    const sequence = reader.u32()
    const isShown = isWithin(range, vin)
    const items = witnesses === undefined ? '' : itemsOf(witnesses, isShown ? bytes : undefined)
    if (count === 1) isCoinbase = prevVout === NO_VOUT && reverseHex(prevHash) === NO_TXID
    if (!isShown) continue
    const coin = coins[vin]
    const address = coin === undefined ? undefined : addressOf(coin.script, network)
    json +=
      `${json === '' ? '' : ','}{"txid":"${txid}","vin":${String(vin)},"block_height":${height},` +
      `"prev_txid":${isCoinbase ? 'null' : `"${reverseHex(prevHash)}"`},"prev_vout":${isCoinbase ? 'null' : String(prevVout)},` +
      (full
        ? `"script_sig":${scriptSig.length === 0 ? 'null' : bytes.script('script_sig', scriptSig)},`
        : '') +
      `"sequence":"${String(sequence)}",` +
      (full ? `"witness":${isLeftOut ? bytes.omit('witness') : `[${items}]`},` : '') +
      `"value":${coin === undefined ? 'null' : `"${String(coin.value)}"`},` +
      `"address":${address === undefined ? 'null' : `"${address}"`},` +
      `"script_pub_key":${coin === undefined ? 'null' : bytes.script('script_pub_key', coin.script)},` +
      `${coin === undefined ? '"script_type":null' : typeJson(coin.script, network)}${bytes.omitted()}}`
  }
  if (witnesses !== undefined && witnesses.remaining > 0) throw new RangeError('more witnesses than inputs')
  return { json, count, isCoinbase }
}

/** Returns the type of a script as fields of JSON, and what it requires if it is a multisig script. */
function typeJson(script: Buffer, network: Network): string {
  const type = scriptType(script, network)
  const { multisig } = type.endsWith('multisig') ? multisigField(script, network) : {}
  return `"script_type":"${type}"${multisig === undefined ? '' : `,"multisig":${JSON.stringify(multisig)}`}`
}

/** Returns the items of an input's witness. @param bytes writes them; undefined to skip them. */
function itemsOf(reader: ByteReader, bytes: Bytes | undefined): string {
  const count = reader.compactSize()
  let json = ''
  for (let index = 0; index < count; index++) {
    const item = reader.bytes(reader.compactSize())
    if (bytes !== undefined) json += `${index === 0 ? '' : ','}${bytes.hex(item)}`
  }
  return json
}

interface Outputs {
  readonly json: string
  readonly count: number
  /** Base units. */
  readonly value: bigint
  readonly spentFrom: number
}

function outputsOf(reader: ByteReader, source: TransactionSource, height: string): Outputs {
  const { txid, spends, network, detail } = source
  const range = detail?.outputs ?? ALL
  const bytes = new Bytes(source)
  const count = reader.compactSize()
  const spenders = new Map(spends.map((spend) => [spend.prevVout, spend]))
  let total = 0n
  let spentFrom = detail === undefined ? 0 : Number.POSITIVE_INFINITY
  let json = ''
  for (let vout = 0; vout < count; vout++) {
    const value = reader.u64()
    const script = reader.bytes(reader.compactSize())
    total += value
    if (!isWithin(range, vout)) continue
    const spender = spenders.get(vout)
    const address = addressOf(script, network)
    if (!isUnspendable(script)) spentFrom = Math.max(spentFrom, spender?.height ?? Number.POSITIVE_INFINITY)
    json +=
      `${json === '' ? '' : ','}{"txid":"${txid}","vout":${String(vout)},"block_height":${height},` +
      `"value":"${String(value)}","script_pub_key":${bytes.script('script_pub_key', script)},` +
      `${typeJson(script, network)},` +
      `"spent_txid":${spender === undefined ? 'null' : `"${spender.txid}"`},` +
      `"spent_vin":${spender === undefined ? 'null' : String(spender.vin)},` +
      `"addresses":[${address === undefined ? '' : `{"address":"${address}","role":"recipient"}`}]${bytes.omitted()}}`
  }
  return { json, count, value: total, spentFrom }
}
