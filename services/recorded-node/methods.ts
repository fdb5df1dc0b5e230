import { baseUnitsToCoins } from '../../pipelines/chain/amount.js'
import { serializeBlock } from '../../pipelines/chain/block.js'
import { type Network, networkOfNode } from '../../pipelines/chain/networks.js'
import { parseTx } from '../../pipelines/chain/transaction.js'
import {
  hashParameter,
  INVALID_PARAMETER,
  METHOD_NOT_FOUND,
  NOT_FOUND,
  type Params,
  JsonRpcError,
  scriptToScan,
  TYPE_ERROR,
} from '../http/json-rpc.js'
import type { Playback, PlayedBlock, TxInBlock } from './playback.js'
import type { RecordedBlock } from './timeline.js'

const DESERIALIZATION_ERROR = -22
const TRANSACTION_REJECTED = -26

type Method = (node: Playback, params: Params) => unknown

const METHODS: Readonly<Record<string, Method>> = {
  getblockchaininfo: (node) => node.state.chaininfo,
  getblockcount: (node) => node.tip,
  getbestblockhash: (node) => node.hashAt(node.tip),
  // The server has waited for the tip to change.
  waitfornewblock: (node) => ({ hash: node.hashAt(node.tip), height: node.tip }),
  getblockhash: (node, [height]) => {
    const hash = node.hashAt(integer(height))
    if (hash === undefined) throw new JsonRpcError(INVALID_PARAMETER, 'Block height out of range')
    return hash
  },
  getblockheader: (node, [hash, verbose = true]) => {
    const { block, header } = blockOf(node, hash)
    if (verbose === false) return header
    const { tx, size, strippedsize, weight, ...rest } = blockJson(node, block)
    return rest
  },
  getblock: (node, [hash, verbosity = 1]) => getBlock(node, blockOf(node, hash), level(verbosity)),
  getrawmempool: (node, [verbose = false]) =>
    verbose === true ? node.state.mempool : Object.keys(node.state.mempool),
  getmempoolinfo: (node) => node.state.mempoolinfo,
  getmempoolentry: (node, [txid]) => {
    const entry = node.state.mempool[text(txid)]
    if (entry === undefined) throw new JsonRpcError(NOT_FOUND, 'Transaction not in mempool')
    return entry
  },
  getrawtransaction: (node, [txid, verbosity = 0, blockhash]) =>
    rawTransaction(node, text(txid), level(verbosity), blockhash),
  sendrawtransaction: (node, [hex]) => sendTransaction(node, text(hex)),
  gettxoutsetinfo: txOutSetInfo,
  scantxoutset: scanTxOutSet,
  getnetworkinfo: (node) => ({
    ...(networkOf(node)?.dilithium === undefined ? CORE : DILITHIUM),
    connections: 0,
    connections_in: 0,
    connections_out: 0,
    warnings: node.state.chaininfo.warnings,
  }),
  uptime: () => Math.floor(process.uptime()),
}

/** The versions of the nodes that were recorded. */
const DILITHIUM = { version: 100, subversion: '/recorded/' }
const CORE = { version: 280_100, subversion: '/Satoshi:28.1.0(recorded)/' }

/** Calls a method. @throws JsonRpcError */
export function callMethod(node: Playback, method: string, params: Params): unknown {
  const handler = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined
  if (handler === undefined) throw new JsonRpcError(METHOD_NOT_FOUND, 'Method not found')
  return handler(node, params)
}

function getBlock(node: Playback, { block, header }: PlayedBlock, verbosity: number): unknown {
  if (verbosity === 0) {
    const txs = block.tx.map((tx) => Buffer.from(tx.hex, 'hex'))
    return serializeBlock(Buffer.from(header, 'hex'), txs).toString('hex')
  }
  const whole = blockJson(node, block)
  if (verbosity === 1) return { ...whole, tx: block.tx.map((tx) => tx.txid) }
  if (verbosity >= 3) return whole
  return {
    ...whole,
    tx: block.tx.map((tx) => ({ ...tx, vin: tx.vin.map(({ prevout, ...input }) => input) })),
  }
}

/** Returns the block as recorded, with the fields that depend on the current chain. */
function blockJson(node: Playback, block: RecordedBlock): Record<string, unknown> {
  const next = node.hashAt(block.height + 1)
  const { confirmations, nextblockhash, ...rest } = block as RecordedBlock & Record<string, unknown>
  const onChain = node.isOnChain(block)
  return {
    ...rest,
    confirmations: onChain ? node.tip - block.height + 1 : -1,
    ...(onChain && next !== undefined ? { nextblockhash: next } : {}),
  }
}

function rawTransaction(node: Playback, txid: string, verbosity: number, blockhash: unknown): unknown {
  const isAnywhere = blockhash === undefined || blockhash === null
  const confirmed = isAnywhere ? node.confirmedTx(txid) : inBlock(node, txid, blockhash)
  const tx = confirmed?.tx ?? (isAnywhere ? node.mempoolTx(txid) : undefined)
  if (tx === undefined)
    throw new JsonRpcError(
      NOT_FOUND,
      'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.',
    )
  if (verbosity === 0) return tx.hex
  if (confirmed === undefined) return tx
  const { block } = confirmed
  const confirmations = node.isOnChain(block) ? node.tip - block.height + 1 : 0
  return { ...tx, blockhash: block.hash, confirmations, time: block.time, blocktime: block.time }
}

function inBlock(node: Playback, txid: string, hash: unknown): TxInBlock | undefined {
  const { block } = blockOf(node, hash)
  const tx = block.tx.find((each) => each.txid === txid)
  return tx === undefined ? undefined : { tx, block }
}

/** Returns the txid of a transaction in the mempool; accepts no other, because the chain is recorded. @throws JsonRpcError. */
function sendTransaction(node: Playback, hex: string): string {
  let txid: string
  try {
    txid = parseTx(Buffer.from(hex, 'hex')).txid
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new JsonRpcError(DESERIALIZATION_ERROR, 'TX decode failed')
  }
  if (node.mempoolTx(txid) !== undefined) return txid
  throw new JsonRpcError(TRANSACTION_REJECTED, 'the recorded node accepts no transactions')
}

function txOutSetInfo(node: Playback): unknown {
  const coins = [...node.coins.coins.values()]
  return {
    height: node.tip,
    bestblock: node.hashAt(node.tip),
    txouts: coins.length,
    // As Bitcoin Core computes it: 50 bytes and the script for each output.
    bogosize: coins.reduce((sum, { script }) => sum + 50 + script.length / 2, 0),
    total_amount: baseUnitsToCoins(coins.reduce((sum, { value }) => sum + value, 0n)),
    transactions: new Set(coins.map(({ txid }) => txid)).size,
    disk_size: 0,
  }
}

function scanTxOutSet(node: Playback, [action, objects]: Params): unknown {
  if (action === 'status') return null
  if (action === 'abort') return false
  if (action !== 'start') throw new JsonRpcError(INVALID_PARAMETER, `Invalid action '${String(action)}'`)
  if (!Array.isArray(objects)) {
    throw new JsonRpcError(-1, 'scanobjects argument is required for the start action')
  }
  const network = networkOf(node)
  const scripts = new Set(objects.map((object: unknown) => scriptToScan(object, network).toString('hex')))
  const coins = [...node.coins.coins.values()].filter(({ script }) => scripts.has(script))
  return {
    success: true,
    txouts: node.coins.coins.size,
    height: node.tip,
    bestblock: node.hashAt(node.tip),
    unspents: coins.map(({ txid, vout, script, desc, value, coinbase, height }) => {
      return { txid, vout, scriptPubKey: script, desc, amount: baseUnitsToCoins(value), coinbase, height }
    }),
    total_amount: baseUnitsToCoins(coins.reduce((sum, { value }) => sum + value, 0n)),
  }
}

function networkOf(node: Playback): Network | undefined {
  return networkOfNode({ nodeName: node.state.chaininfo.chain, genesisHash: node.hashAt(0) ?? '' })
}

function blockOf(node: Playback, hash: unknown): PlayedBlock {
  const block = node.block(hashParameter(hash))
  if (block === undefined) throw new JsonRpcError(NOT_FOUND, 'Block not found')
  return block
}

function level(verbosity: unknown): number {
  return typeof verbosity === 'boolean' ? Number(verbosity) : integer(verbosity)
}

function integer(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new JsonRpcError(TYPE_ERROR, 'JSON value is not an integer as expected')
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw new JsonRpcError(TYPE_ERROR, 'JSON value is not a string as expected')
}
