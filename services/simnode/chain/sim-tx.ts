import { sha256d, reverseHex } from '../../../pipelines/chain/hash.js'
import { serializeTx, type Tx, type TxParts } from '../../../pipelines/chain/transaction.js'

/** A transaction with its serialisation. */
export type SimTx = Tx & { readonly raw: Buffer }

export const NO_TXID = '0'.repeat(64)

/** Serialises a transaction and computes its ids and sizes. */
export function sealTx({ version, locktime, inputs, outputs }: TxParts): SimTx {
  const parts = { version, locktime, inputs, outputs }
  const hasWitness = inputs.some((input) => input.witness.length > 0)
  const stripped = serializeTx(parts, false)
  const raw = hasWitness ? serializeTx(parts, true) : stripped
  const txid = reverseHex(sha256d(stripped))
  return {
    version,
    locktime,
    inputs,
    outputs,
    txid,
    wtxid: hasWitness ? reverseHex(sha256d(raw)) : txid,
    isCoinbase: inputs[0]?.prevTxid === NO_TXID,
    hasWitness,
    size: raw.length,
    strippedSize: stripped.length,
    raw,
  }
}
