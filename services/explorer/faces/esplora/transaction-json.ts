import { addressOf } from '../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../pipelines/chain/amount.js'
import { asmOf } from '../../../../pipelines/chain/forms/asm.js'
import { innerScripts } from '../../../../pipelines/chain/forms/inner-scripts.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { OP, scriptType } from '../../../../pipelines/chain/script.js'
import { type Tx, type TxInput, type TxOutput, weightOf } from '../../../../pipelines/chain/transaction.js'
import type { Coin } from '../../core/mempool/shown-tx.js'

/** The data from which a transaction is written. */
export interface TransactionSource {
  readonly tx: Tx
  /** The output that each input spends; undefined if it is not known. None for a coinbase. */
  readonly coins: readonly (Coin | undefined)[]
  /** Base units; undefined if it is the difference between inputs and outputs. */
  readonly fee?: bigint
  /** The JSON of its status. */
  readonly status: string
  readonly network: Network
}

/** The status of an unconfirmed transaction, and of one that is not known. */
export const UNCONFIRMED = '{"confirmed":false}'

/** Returns the status of a transaction of a block. */
export function confirmedStatus(block: {
  readonly height: number
  readonly hash: string
  readonly time: number
}): string {
  const { height, hash, time } = block
  return `{"confirmed":true,"block_height":${String(height)},"block_hash":"${hash}","block_time":${String(time)}}`
}

/**
 * Returns a transaction as JSON. Amounts are numbers in base units; all strings in it are hex, names of opcodes or addresses, which need
 * no escaping.
 */
export function transactionJson({ tx, coins, fee, status, network }: TransactionSource): string {
  const { txid, version, locktime, inputs, outputs, size, isCoinbase } = tx
  const paid = fee ?? (isCoinbase ? 0n : sumOf(coins) - sumOf(outputs))
  const vin = inputs.map((input, at) => inputJson(input, coins[at], tx, network)).join(',')
  const vout = outputs.map((output) => outputJson(output, network)).join(',')
  return (
    `{"txid":"${txid}","version":${String(version)},"locktime":${String(locktime)},"vin":[${vin}],"vout":[${vout}],` +
    `"size":${String(size)},"weight":${String(weightOf(tx, network))},"fee":${String(paid)},"status":${status}}`
  )
}

function inputJson(input: TxInput, coin: Coin | undefined, { isCoinbase }: Tx, network: Network): string {
  const { prevTxid, prevVout, scriptSig, sequence, witness } = input
  const items = witness.map((item) => `"${item.toString('hex')}"`).join(',')
  return (
    `{"txid":"${prevTxid}","vout":${String(prevVout)},"prevout":${coin === undefined ? 'null' : outputJson(coin, network)},` +
    `"scriptsig":"${scriptSig.toString('hex')}","scriptsig_asm":"${asmOf(scriptSig, network)}",` +
    `${items === '' ? '' : `"witness":[${items}],`}"is_coinbase":${String(isCoinbase)},"sequence":${String(sequence)}` +
    `${coin === undefined ? '' : innerJson(input, coin, network)}}`
  )
}

/** Returns the fields of the scripts that an input reveals. */
function innerJson(input: TxInput, { script }: Coin, network: Network): string {
  const { redeemScript, witnessScript } = innerScripts(input, script, network)
  return (
    (redeemScript === undefined ? '' : `,"inner_redeemscript_asm":"${asmOf(redeemScript, network)}"`) +
    (witnessScript === undefined ? '' : `,"inner_witnessscript_asm":"${asmOf(witnessScript, network)}"`)
  )
}

/** Returns an output as JSON. */
export function outputJson({ script, value }: TxOutput, network: Network): string {
  const address = addressOf(script, network)
  return (
    `{"scriptpubkey":"${script.toString('hex')}","scriptpubkey_asm":"${asmOf(script, network)}",` +
    `"scriptpubkey_type":"${typeOf(script, network)}",` +
    `${address === undefined ? '' : `"scriptpubkey_address":"${address}",`}"value":${String(value)}}`
  )
}

/** Returns the type of a script by the names of Esplora. */
export function typeOf(script: Buffer, network: Network): string {
  if (script.length === 0) return 'empty'
  if (script[0] === OP.RETURN) return 'op_return'
  switch (scriptType(script, network)) {
    case 'pubkey':
      return 'p2pk'
    case 'pubkeyhash':
      return 'p2pkh'
    case 'scripthash':
      return 'p2sh'
    case 'witness_v0_keyhash':
      return 'v0_p2wpkh'
    case 'witness_v0_scripthash':
      return 'v0_p2wsh'
    case 'witness_v1_taproot':
      return 'v1_p2tr'
    case 'witness_v2_p2mr':
      return 'v2_p2mr'
    case 'dilithium_pubkey':
      return 'dilithium_p2pk'
    case 'dilithium_pubkeyhash':
      return 'dilithium_p2pkh'
    default:
      return 'unknown'
  }
}
