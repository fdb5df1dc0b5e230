import { readTx, vsizeOf } from '../../../pipelines/chain/transaction.js'
import { ByteReader } from '../../../pipelines/chain/bytes.js'
import { JsonRpcError, type Params, TYPE_ERROR } from '../../http/json-rpc.js'
import type { SimTx } from '../chain/sim-tx.js'
import { type Rejection, rejection } from '../mempool/acceptance.js'
import type { Simulation } from '../simulation.js'
import { coins } from './block-json.js'

const DESERIALIZATION_ERROR = -22
const TRANSACTION_ERROR = -25
const TRANSACTION_REJECTED = -26
const ALREADY_IN_CHAIN = -27
/** The default of `maxfeerate`, in coins per 1000 virtual bytes. */
const MAX_FEE_RATE = 0.1

/** Decodes a transaction. @returns undefined for anything else. */
function decode(hex: unknown): SimTx | undefined {
  if (typeof hex !== 'string') throw new JsonRpcError(TYPE_ERROR, 'JSON value is not of expected type string')
  if (!/^([0-9a-f]{2})+$/i.test(hex)) return undefined
  try {
    const reader = new ByteReader(Buffer.from(hex, 'hex'))
    const tx = readTx(reader)
    return reader.remaining === 0 && tx.inputs.length > 0 ? tx : undefined
  } catch {
    return undefined
  }
}

const DECODE_FAILED = 'TX decode failed. Make sure the tx has at least one input.'

/** Adds a transaction to the mempool. @returns its txid as JSON. @throws JsonRpcError with the reason of its rejection. */
export function sendRawTransaction({ chain, mempool }: Simulation, [hex, maxRate]: Params): string {
  const tx = decode(hex)
  if (tx === undefined) throw new JsonRpcError(DESERIALIZATION_ERROR, DECODE_FAILED)
  if (tx.outputs.some((_, vout) => chain.coins.get(tx.txid, vout) !== undefined))
    throw new JsonRpcError(ALREADY_IN_CHAIN, 'Transaction already in block chain')
  // A node relays a transaction again that is already in its mempool.
  if (mempool.get(tx.txid)?.tx.wtxid === tx.wtxid) return `"${tx.txid}"`
  const verdict = rejection(tx, chain, mempool)
  if ('reason' in verdict) throw new JsonRpcError(codeOf(verdict), verdict.reason)
  const most = maxRate === undefined ? MAX_FEE_RATE : Number(maxRate)
  if (most > 0 && Number(verdict.fee) > most * 100_000 * vsizeOf(verdict.weight, chain.network))
    throw new JsonRpcError(
      TRANSACTION_ERROR,
      'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)',
    )
  for (const entry of verdict.replaced) mempool.drop(entry)
  mempool.accept(tx)
  return `"${tx.txid}"`
}

const codeOf = ({ reason }: Rejection): number =>
  reason === 'bad-txns-inputs-missingorspent' ? TRANSACTION_ERROR : TRANSACTION_REJECTED

/** Returns for each transaction whether the mempool would accept it, as JSON; changes nothing. */
export function testMempoolAccept({ chain, mempool }: Simulation, [rawTxs]: Params): string {
  if (!Array.isArray(rawTxs) || rawTxs.length !== 1)
    throw new JsonRpcError(TYPE_ERROR, 'Array must contain exactly 1 transaction.')
  const tx = decode(rawTxs[0])
  if (tx === undefined) throw new JsonRpcError(DESERIALIZATION_ERROR, DECODE_FAILED)
  const ids = `"txid":"${tx.txid}","wtxid":"${tx.wtxid}"`
  const verdict = rejection(tx, chain, mempool)
  if ('reason' in verdict)
    return `[{${ids},"allowed":false,"reject-reason":${JSON.stringify(verdict.reason)}}]`
  const vsize = vsizeOf(verdict.weight, chain.network)
  return `[{${ids},"allowed":true,"vsize":${String(vsize)},"fees":{"base":${coins(verdict.fee)}}}]`
}
