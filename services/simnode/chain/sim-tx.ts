import { sha256d, reverseHex } from '../../../pipelines/chain/hash.js'
import {
  serializeTx,
  type Tx,
  type TxInput,
  type TxParts,
  vsizeOf,
  weightOf,
} from '../../../pipelines/chain/transaction.js'

/** A transaction with its whole serialisation. */
export type SimTx = Tx & { readonly raw: Buffer }

export const NO_TXID = '0'.repeat(64)

/** Serialises the parts and works out the identities and sizes. */
export function sealTx({ version, locktime, inputs, outputs }: TxParts): SimTx {
  const parts = { version, locktime, inputs, outputs }
  const hasWitness = inputs.some((input) => input.witness.length > 0)
  const stripped = serializeTx(parts, false)
  const raw = hasWitness ? serializeTx(parts, true) : stripped
  const txid = reverseHex(sha256d(stripped))
  const weight = weightOf(stripped.length, raw.length)
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
    weight,
    vsize: vsizeOf(weight),
    raw,
  }
}

/** What a transaction of these inputs and output scripts will weigh, before its values are known. */
export function plannedWeight(inputs: readonly TxInput[], scripts: readonly Buffer[]): number {
  let stripped = 8 + sizeOfSize(inputs.length) + sizeOfSize(scripts.length)
  let witness = 0
  let witnesses = 0
  for (const input of inputs) {
    stripped += 40 + sizeOfSize(input.scriptSig.length) + input.scriptSig.length
    witness += sizeOfSize(input.witness.length)
    witnesses += input.witness.length
    for (const item of input.witness) witness += sizeOfSize(item.length) + item.length
  }
  for (const script of scripts) stripped += 8 + sizeOfSize(script.length) + script.length
  return weightOf(stripped, witnesses > 0 ? stripped + witness + 2 : stripped)
}

function sizeOfSize(size: number): number {
  return size < 253 ? 1 : size < 0x10000 ? 3 : 5
}
