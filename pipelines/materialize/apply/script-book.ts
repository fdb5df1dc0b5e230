import { hasDilithiumSignature } from '../../chain/dilithium.js'
import type { Network } from '../../chain/networks.js'
import type { Prevout } from '../../chain/prevout.js'
import { isUnspendable, scriptHash } from '../../chain/script.js'
import type { SerializedTx, TxOutput } from '../../chain/transaction.js'
import type { ConnectedBlock } from './decode.js'

/** A script of a batch, with its index. */
export interface NumberedScript {
  readonly number: number
  readonly hash: string
  readonly script: Buffer
}

/** The distinct scripts of a batch. */
export class ScriptBook {
  /** The scripts in the order of their first occurrence. */
  readonly scripts: NumberedScript[] = []
  readonly #byKey = new Map<string, NumberedScript>()

  of(script: Buffer): NumberedScript {
    const key = script.toString('latin1')
    let numbered = this.#byKey.get(key)
    if (numbered === undefined) {
      numbered = { number: this.scripts.length, hash: scriptHash(script), script }
      this.scripts.push(numbered)
      this.#byKey.set(key, numbered)
    }
    return numbered
  }
}

/** A transaction with the scripts that it touches. */
export interface PreparedTx {
  readonly tx: SerializedTx
  /** The outputs that its inputs spend; none for the coinbase. */
  readonly prevouts: readonly Prevout[]
  /** True for each input with a Dilithium signature. */
  readonly dilithiumInputs: readonly boolean[]
  /** The scripts of the prevouts. */
  readonly spent: readonly NumberedScript[]
  /** The scripts of the outputs; undefined for unspendable ones, among them all outputs of block 0. */
  readonly paid: readonly (NumberedScript | undefined)[]
}

/** A block whose scripts are hashed. */
export interface PreparedBlock {
  readonly block: ConnectedBlock
  readonly txs: readonly PreparedTx[]
}

/** Splits a block's prevouts by transaction, and adds all scripts whose totals are needed to the book. */
export function prepareBlock(block: ConnectedBlock, book: ScriptBook, network: Network): PreparedBlock {
  let at = 0
  const txs = block.txs.map((tx) => {
    const prevouts = tx.isCoinbase ? [] : block.prevouts.slice(at, (at += tx.inputs.length))
    const paid = ({ script }: TxOutput): NumberedScript | undefined =>
      block.height === 0 || isUnspendable(script) ? undefined : book.of(script)
    return {
      tx,
      prevouts,
      dilithiumInputs: tx.inputs.map((input, vin) =>
        hasDilithiumSignature(input, prevouts[vin]?.script, network),
      ),
      spent: prevouts.map(({ script }) => book.of(script)),
      paid: tx.outputs.map(paid),
    }
  })
  return { block, txs }
}
