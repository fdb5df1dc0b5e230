import type { TxInput, TxOutput } from '../../../pipelines/chain/transaction.js'
import type { Keyring } from './keyring.js'
import type { Random } from '../random.js'
import { sealTx, type SimTx } from '../chain/sim-tx.js'
import { unlock } from './unlock.js'

export interface OutPoint {
  readonly txid: string
  readonly vout: number
}

/** A transaction as a test asks for it. */
export interface Payment {
  /** Outputs to spend: outpoints, or outputs of a transaction that is in no block yet. */
  readonly from: readonly (OutPoint | { readonly tx: SimTx; readonly vout: number })[]
  readonly to: readonly TxOutput[]
  /** Gets what is left after the fee; without it everything left is the fee. */
  readonly change?: Buffer
  /** In base units, with `change` only; 1000 by default. */
  readonly fee?: bigint
  readonly locktime?: number
  readonly sequence?: number
  /** Replaces what the inputs would carry, by input. */
  readonly unlock?: (
    at: number,
  ) => { readonly scriptSig: Buffer; readonly witness: readonly Buffer[] } | undefined
}

/** What is known of the outputs to spend. */
export interface Outputs {
  readonly keyring: Keyring
  output(outpoint: OutPoint): TxOutput | undefined
}

const DEFAULT_FEE = 1000n
/** Final, and replaceable by a higher fee. */
const REPLACEABLE = 0xfffffffd

/** Builds the transaction. Throws where an output to spend is in no block and no transaction given, or the money is short. */
export function payTx(chain: Outputs, payment: Payment, random: Random): SimTx {
  let left = 0n
  const inputs = payment.from.map((from, at): TxInput => {
    const spent = 'tx' in from ? from.tx.outputs[from.vout] : chain.output(from)
    const txid = 'tx' in from ? from.tx.txid : from.txid
    if (spent === undefined) throw new Error(`nobody knows the output ${txid}:${String(from.vout)}`)
    left += spent.value
    return {
      prevTxid: txid,
      prevVout: from.vout,
      sequence: payment.sequence ?? REPLACEABLE,
      ...(payment.unlock?.(at) ?? unlock(chain.keyring, chain.keyring.find(spent.script, 0), random)),
    }
  })
  for (const output of payment.to) left -= output.value
  const outputs = [...payment.to]
  if (payment.change !== undefined) {
    left -= payment.fee ?? DEFAULT_FEE
    outputs.push({ value: left, script: payment.change })
  }
  if (left < 0n) throw new Error(`the outputs are worth ${String(-left)} more than the inputs`)
  return sealTx({ version: 2, locktime: payment.locktime ?? 0, inputs, outputs })
}
