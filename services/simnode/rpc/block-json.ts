import { sumOf } from '../../../pipelines/chain/amount.js'
import { difficultyOf } from '../../../pipelines/chain/difficulty.js'
import { vsizeOf, weightOf } from '../../../pipelines/chain/transaction.js'
import type { ScriptJson } from './script-json.js'
import type { SimBlock } from '../chain/sim-block.js'
import type { BlockContent, SimChain } from '../chain/sim-chain.js'
import type { SimTx } from '../chain/sim-tx.js'
import type { Spent } from '../chain/undo.js'

/** Formats an amount as the node does: coins with 8 decimals. */
export function coins(value: bigint): string {
  const digits = value.toString().padStart(9, '0')
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`
}

/** The optional parts of a transaction in a reply. */
export interface TxView {
  /** The outputs that its inputs spent, in order; undefined if the node does not return them (mempool, verbosity 1). */
  readonly spent?: readonly Spent[] | undefined
  readonly withPrevouts?: boolean
}

/** Returns the JSON of a transaction, as in getblock and getrawtransaction, without the closing brace. */
export function openTxJson(
  tx: SimTx,
  scripts: ScriptJson,
  { spent, withPrevouts = false }: TxView = {},
): string {
  const vin = tx.inputs.map((input, at) => {
    const witness =
      input.witness.length === 0
        ? ''
        : `"txinwitness":["${input.witness.map((item) => item.toString('hex')).join('","')}"],`
    const sequence = `"sequence":${String(input.sequence)}}`
    if (tx.isCoinbase) return `{"coinbase":"${input.scriptSig.toString('hex')}",${witness}${sequence}`
    const scriptSig =
      input.scriptSig.length === 0
        ? '{"asm":"","hex":""}'
        : `{"asm":"${scripts.asm(input.scriptSig, true)}","hex":"${input.scriptSig.toString('hex')}"}`
    const coin = withPrevouts ? spent?.[at] : undefined
    const prevout = coin === undefined ? '' : prevoutJson(coin, scripts)
    return `{"txid":"${input.prevTxid}","vout":${String(input.prevVout)},"scriptSig":${scriptSig},${witness}${prevout}${sequence}`
  })
  const vout = tx.outputs.map(
    (output, n) =>
      `{"value":${coins(output.value)},"n":${String(n)},"scriptPubKey":${scripts.scriptPubKey(output.script)}}`,
  )
  const weight = weightOf(tx, scripts.network)
  const vsize = scripts.dialect.hasWeightAsVsize ? weight : vsizeOf(weight, scripts.network)
  return (
    `{"txid":"${tx.txid}","hash":"${tx.wtxid}","version":${String(tx.version)},"size":${String(tx.size)},` +
    `"vsize":${String(vsize)},"weight":${String(weight)},"locktime":${String(tx.locktime)},` +
    `"vin":[${vin.join(',')}],"vout":[${vout.join(',')}]${feeJson(tx, spent)},"hex":"${tx.raw.toString('hex')}"`
  )
}

/** Returns the result of getblock at verbosity 1 (ids), 2 (transactions) or 3 (with the outputs that they spend). */
export function blockJson(
  chain: SimChain,
  block: SimBlock,
  verbosity: 1 | 2 | 3,
  scripts: ScriptJson,
): string {
  const content = chain.read(block)
  const { raw, strippedSize, txs } = content
  const listed =
    verbosity === 1 ? txs.map((tx) => `"${tx.txid}"`) : txsJson(content, verbosity === 3, scripts)
  return (
    `${openHeaderJson(chain, block, raw)},"strippedsize":${String(strippedSize)},"size":${String(raw.length)},` +
    `"weight":${String(weightOf({ strippedSize, size: raw.length }, chain.network))},"tx":[${listed.join(',')}]}`
  )
}

/** Returns the result of getblockheader without the closing brace. */
export function openHeaderJson(chain: SimChain, block: SimBlock, header: Buffer): string {
  const active = chain.isActive(block)
  const next = active ? chain.at(block.height + 1) : undefined
  const version = header.readInt32LE(0)
  return (
    `{"hash":"${block.hash}","confirmations":${String(active ? chain.tip.height - block.height + 1 : -1)},` +
    `"height":${String(block.height)},"version":${String(version)},"versionHex":"${(version >>> 0).toString(16).padStart(8, '0')}",` +
    `"merkleroot":"${Buffer.from(header.subarray(36, 68)).reverse().toString('hex')}","time":${String(block.time)},` +
    `"mediantime":${String(block.medianTime)},"nonce":${String(header.readUInt32LE(76))},` +
    `"bits":"${block.bits.toString(16).padStart(8, '0')}","difficulty":${difficultyOf(block.bits)},` +
    `"chainwork":"${chainwork(block)}","nTx":${String(block.txCount)}` +
    (block.parent === undefined ? '' : `,"previousblockhash":"${block.parent.hash}"`) +
    (next === undefined ? '' : `,"nextblockhash":"${next.hash}"`)
  )
}

export function chainwork(block: SimBlock): string {
  return block.chainwork.toString(16).padStart(64, '0')
}

/** Returns the outputs that the inputs of the transaction at `index` spent. */
export function spentBy({ txs, spent }: BlockContent, index: number): readonly Spent[] {
  let start = 0
  for (const tx of txs.slice(1, index)) start += tx.inputs.length
  return index === 0 ? [] : spent.slice(start, start + (txs[index]?.inputs.length ?? 0))
}

function txsJson({ txs, spent }: BlockContent, withPrevouts: boolean, scripts: ScriptJson): string[] {
  let next = 0
  return txs.map((tx) => {
    const own = tx.isCoinbase ? [] : spent.slice(next, next + tx.inputs.length)
    next += own.length
    return `${openTxJson(tx, scripts, { spent: own, withPrevouts })}}`
  })
}

function prevoutJson(coin: Spent, scripts: ScriptJson): string {
  return (
    `"prevout":{"generated":${String(coin.coinbase)},"height":${String(coin.height)},"value":${coins(coin.value)},` +
    `"scriptPubKey":${scripts.scriptPubKey(coin.script)}},`
  )
}

function feeJson(tx: SimTx, spent: readonly Spent[] | undefined): string {
  if (spent === undefined || tx.isCoinbase) return ''
  return `,"fee":${coins(sumOf(spent) - sumOf(tx.outputs))}`
}
