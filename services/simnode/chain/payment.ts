import type { TxInput, TxOutput } from '../../../pipelines/chain/transaction.js'
import type { Keyring } from '../wallet/keyring.js'
import type { Random } from '../random.js'
import { sealTx, type SimTx } from './sim-tx.js'
import { unlock } from '../wallet/unlock.js'

export interface OutPoint {
  readonly txid: string
  readonly vout: number
}

/** The specification of a transaction in a test. */
export interface Payment {
  /** Outputs to spend: outpoints, or outputs of a transaction that is not in a block yet. */
  readonly from: readonly (OutPoint | { readonly tx: SimTx; readonly vout: number })[]
  readonly to: readonly TxOutput[]
  /** The script that gets the rest after the fee; without it the rest is the fee. */
  readonly change?: Buffer
  /** The fee in base units, only with `change`; 1000 by default. */
  readonly fee?: bigint
  readonly locktime?: number
  readonly sequence?: number
  /** Returns scriptSig and witness of an input, undefined for the default. */
  readonly unlock?: (
    at: number,
  ) => { readonly scriptSig: Buffer; readonly witness: readonly Buffer[] } | undefined
}

/** The source of the outputs to spend. */
export interface Outputs {
  readonly keyring: Keyring
  output(outpoint: OutPoint): TxOutput | undefined
}

const DEFAULT_FEE = 1000n
/** A sequence number that is final and signals replaceability (BIP 125). */
const REPLACEABLE = 0xfffffffd

/** Builds the transaction. @throws if an output to spend is unknown, or the outputs are worth more than the inputs. */
export function payTx(chain: Outputs, payment: Payment, random: Random): SimTx {
  let left = 0n
  const inputs = payment.from.map((from, at): TxInput => {
    const spent = 'tx' in from ? from.tx.outputs[from.vout] : chain.output(from)
    const txid = 'tx' in from ? from.tx.txid : from.txid
    if (spent === undefined) throw new Error(`unknown output ${txid}:${String(from.vout)}`)
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
