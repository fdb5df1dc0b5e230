import { coinsToBaseUnits } from '../../chain/amount.js'
import { blockHash, merkleRoot, serializeBlock, serializeHeader } from '../../chain/block.js'
import type { Network } from '../../chain/networks.js'
import { parseTx, type SerializedTx, type Tx } from '../../chain/transaction.js'
import type { Prevout } from '../../chain/prevout.js'
import type { NodeBlock, NodeBlockTx } from '../../node/replies.js'
import { InvalidBlockError, MissingPrevoutError } from '../errors.js'

export const NO_HASH = '0'.repeat(64)

/** A block whose hash and merkle root were computed from its own bytes. */
export interface VerifiedBlock {
  readonly height: number
  readonly hash: string
  /** NO_HASH for block 0. */
  readonly prevHash: string
  readonly medianTime: number
  /** Total work, 64 hex digits, so that strings sort by work. */
  readonly work: string
  readonly raw: Buffer
  /** The outputs that the inputs spend, without the coinbase, in the order of the block. */
  readonly prevouts: readonly Prevout[]
}

/**
 * Builds the block of a getblock reply of verbosity 3 and checks it: header → hash, transactions → txids → merkle root,
 * inputs ↔ prevouts. Height, median time, work and prevouts are not part of the hash: they are taken from the node.
 * @throws InvalidBlockError
 */
export function verifiedBlock(reply: NodeBlock, network: Network): VerifiedBlock {
  const prevHash = reply.previousblockhash ?? NO_HASH
  const header = serializeHeader({
    // The node prints it signed.
    version: reply.version >>> 0,
    prevHash,
    merkleRoot: reply.merkleroot,
    time: reply.time,
    bits: Number.parseInt(reply.bits, 16),
    nonce: reply.nonce,
  })
  const computed = blockHash(header, network)
  if (computed !== reply.hash) throw new InvalidBlockError(reply.hash, `its header hashes to ${computed}`)
  const raws = reply.tx.map((tx) => bytesOf(reply.hash, tx))
  const txs = raws.map((raw, i) => parsed(reply.hash, raw, reply.tx[i]))
  const root = merkleRoot(txs.map((tx) => tx.txid))
  if (root !== reply.merkleroot)
    throw new InvalidBlockError(reply.hash, `its transactions have merkle root ${root}`)
  return {
    height: reply.height,
    hash: reply.hash,
    prevHash,
    medianTime: reply.mediantime,
    work: reply.chainwork,
    raw: serializeBlock(header, raws),
    prevouts: txs.flatMap((tx, i) => prevoutsOf(reply.hash, tx, reply.tx[i])),
  }
}

/**
 * Parses a transaction of a reply of the node and checks it: bytes → txid, inputs ↔ prevouts, which are taken from the node.
 * @param hash the hash of its block. @throws InvalidBlockError, MissingPrevoutError.
 */
export function verifiedTx(hash: string, reply: NodeBlockTx): { tx: SerializedTx; prevouts: Prevout[] } {
  const tx = parsed(hash, bytesOf(hash, reply), reply)
  return { tx, prevouts: prevoutsOf(hash, tx, reply) }
}

function bytesOf(hash: string, { txid, hex }: NodeBlockTx): Buffer {
  const raw = Buffer.from(hex, 'hex')
  // Buffer.from silently stops at the first character that is not a hex digit.
  if (raw.length * 2 !== hex.length)
    throw new InvalidBlockError(hash, `the hex of transaction ${txid} is cut off`)
  return raw
}

function parsed(hash: string, raw: Buffer, nodeTx: NodeBlockTx | undefined): SerializedTx {
  try {
    const tx = parseTx(raw)
    if (tx.txid !== nodeTx?.txid) throw new Error(`it hashes to ${tx.txid}`)
    return tx
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new InvalidBlockError(hash, `transaction ${nodeTx?.txid ?? '?'}: ${why}`)
  }
}

function prevoutsOf(hash: string, tx: Tx, nodeTx: NodeBlockTx | undefined): Prevout[] {
  if (tx.isCoinbase) return []
  return tx.inputs.map((input, n) => {
    const vin = nodeTx?.vin[n]
    if (vin?.txid !== input.prevTxid)
      throw new InvalidBlockError(
        hash,
        `input ${String(n)} of ${tx.txid} is another one in the reply of the node`,
      )
    if (vin.prevout === undefined)
      throw new MissingPrevoutError(
        hash,
        `input ${String(n)} of ${tx.txid} has no prevout in the reply of the node`,
      )
    const { value, height, scriptPubKey } = vin.prevout
    return { value: coinsToBaseUnits(value), script: Buffer.from(scriptPubKey.hex, 'hex'), height }
  })
}
