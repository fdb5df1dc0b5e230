import { LRUCache } from 'lru-cache'
import { hasDilithiumSignature } from '../../chain/dilithium.js'
import type { Network } from '../../chain/networks.js'
import type { Prevout } from '../../chain/prevout.js'
import { isUnspendable, scriptHash } from '../../chain/script.js'
import { type SerializedTx, type TxOutput, weightOf } from '../../chain/transaction.js'
import type { ConnectedBlock } from './decode.js'

/** Scripts that are met again without being hashed again: some 20 MB. */
const KEPT_HASHES = 100_000

/** Hashes of the scripts that were met last, by their bytes as latin1. */
export class ScriptHashes extends LRUCache<string, string> {
  constructor() {
    super({ max: KEPT_HASHES })
  }
}

/** A script in the blocks at hand, with its place among them. */
export interface NumberedScript {
  readonly number: number
  readonly hash: string
  readonly script: Buffer
}

/** Knows each script of a batch once, however often it occurs. */
export class ScriptBook {
  /** In the order in which they were first met. */
  readonly scripts: NumberedScript[] = []
  readonly #byKey = new Map<string, NumberedScript>()

  constructor(private readonly hashes: ScriptHashes) {}

  of(script: Buffer): NumberedScript {
    const key = script.toString('latin1')
    let known = this.#byKey.get(key)
    if (known === undefined) {
      let hash = this.hashes.get(key)
      if (hash === undefined) this.hashes.set(key, (hash = scriptHash(script)))
      known = { number: this.scripts.length, hash, script }
      this.scripts.push(known)
      this.#byKey.set(key, known)
    }
    return known
  }
}

/** A transaction with the scripts that it touches. */
export interface PreparedTx {
  readonly tx: SerializedTx
  readonly weight: number
  /** What its inputs spend; none for the coinbase. */
  readonly prevouts: readonly Prevout[]
  /** Which inputs show a Dilithium signature. */
  readonly dilithiumInputs: readonly boolean[]
  /** Of the prevouts. */
  readonly spent: readonly NumberedScript[]
  /** Of the outputs; undefined for one that nothing can spend, and for those of block 0, which nothing can either. */
  readonly paid: readonly (NumberedScript | undefined)[]
}

/** A block whose scripts are hashed. */
export interface PreparedBlock {
  readonly block: ConnectedBlock
  readonly txs: readonly PreparedTx[]
}

/** Splits a block's prevouts by transaction and notes every script that its totals are needed of. */
export function prepareBlock(block: ConnectedBlock, book: ScriptBook, network: Network): PreparedBlock {
  let at = 0
  const txs = block.txs.map((tx) => {
    const prevouts = tx.isCoinbase ? [] : block.prevouts.slice(at, (at += tx.inputs.length))
    const paid = ({ script }: TxOutput): NumberedScript | undefined =>
      block.height === 0 || isUnspendable(script) ? undefined : book.of(script)
    return {
      tx,
      weight: weightOf(tx, network),
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
