import type { Network } from '../chain/networks.js'
import { parseTx, type Tx, vsizeOf, weightOf } from '../chain/transaction.js'
import type { PackagedTx } from './packages.js'
import type { ProjectedPackage } from './projection.js'

/** The length of a txid of 32 bytes, with a character for each byte. */
const ID_LENGTH = 32
const OUTPOINT_LENGTH = ID_LENGTH + 4

/** Returns a txid with a character for each byte: half the size of the hexadecimal form, in the same order. */
export const shortId = (txid: string): string => Buffer.from(txid, 'hex').toString('latin1')

/** Returns the hexadecimal form of a txid of `shortId`. */
export const fullId = (id: string): string => Buffer.from(id, 'latin1').toString('hex')

/** Returns the transaction of an outpoint of a lean transaction. */
export const spentId = (outpoint: string): string => outpoint.slice(0, ID_LENGTH)

/**
 * An unconfirmed transaction without its serialisation and its scripts: about 400 bytes of memory with its place in a
 * `LeanMempool`.
 * Txids and outpoints have a character for each byte.
 */
export class LeanTx implements PackagedTx {
  readonly txid: string
  readonly fee: bigint
  readonly size: number
  readonly vsize: number
  readonly weight: number
  /** Time at which the node first saw it, in Unix seconds. */
  readonly firstSeen: number
  packaged: ProjectedPackage | undefined = undefined
  /** All outpoints, one after the other. */
  readonly #spent: string

  constructor(
    tx: Tx,
    { fee, firstSeen }: { readonly fee: bigint; readonly firstSeen: number },
    network: Network,
  ) {
    this.txid = shortId(tx.txid)
    this.fee = fee
    this.size = tx.size
    this.weight = weightOf(tx, network)
    this.vsize = vsizeOf(this.weight, network)
    this.firstSeen = firstSeen
    this.#spent = tx.isCoinbase ? '' : spentBy(tx)
  }

  get outpoints(): string[] {
    const outpoints: string[] = []
    for (let at = 0; at < this.#spent.length; at += OUTPOINT_LENGTH)
      outpoints.push(this.#spent.slice(at, at + OUTPOINT_LENGTH))
    return outpoints
  }
}

/** An entry of the mempool in an event. */
interface UnparsedTx {
  /** Serialised with witnesses. */
  readonly raw: Uint8Array
  readonly fee: bigint
  readonly firstSeen: number
}

/** Returns an entry of the mempool as a lean transaction; undefined for bytes that are not a transaction. */
export function leanTx({ raw, fee, firstSeen }: UnparsedTx, network: Network): LeanTx | undefined {
  try {
    return new LeanTx(parseTx(raw), { fee, firstSeen }, network)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function spentBy({ inputs }: Tx): string {
  const bytes = Buffer.allocUnsafe(inputs.length * OUTPOINT_LENGTH)
  for (const [index, { prevTxid, prevVout }] of inputs.entries()) {
    bytes.write(prevTxid, index * OUTPOINT_LENGTH, 'hex')
    bytes.writeUInt32BE(prevVout, index * OUTPOINT_LENGTH + ID_LENGTH)
  }
  return bytes.toString('latin1')
}
