import { LRUCache } from 'lru-cache'
import { addressOf, isDilithiumScript } from '../chain/address.js'
import { inputShowsDilithium } from '../chain/dilithium.js'
import type { Chain } from '../chain/network.js'
import type { Prevout } from '../chain/prevout.js'
import { isUnspendable, scriptHash } from '../chain/script.js'
import type { SerializedTx, TxOutput } from '../chain/transaction.js'
import type { ConnectedBlock } from './decode.js'

/** A script in the blocks at hand: its hash, and what does not change about it. */
export class KnownScript {
  readonly hash: string
  readonly isDilithium: boolean
  #address: string | undefined
  #isSpelled = false

  constructor(
    private readonly script: Buffer,
    private readonly chain: Chain,
  ) {
    this.hash = scriptHash(script)
    this.isDilithium = isDilithiumScript(script)
  }

  /** Spelled when it is asked for: that takes longer than all the rest. */
  get address(): string | undefined {
    if (!this.#isSpelled) {
      this.#address = addressOf(this.script, this.chain)
      this.#isSpelled = true
    }
    return this.#address
  }
}

/** A transaction with the scripts that it touches. */
export interface PreparedTx {
  readonly tx: SerializedTx
  /** What its inputs spend; none for the coinbase. */
  readonly prevouts: readonly Prevout[]
  /** Which inputs show a Dilithium signature. */
  readonly shown: readonly boolean[]
  /** Of the prevouts. */
  readonly spent: readonly KnownScript[]
  /** Of the outputs; undefined for one that nothing can spend, and for those of block 0, which nothing can either. */
  readonly paid: readonly (KnownScript | undefined)[]
}

/** A block whose scripts are hashed: what the totals are loaded for. */
export interface PreparedBlock {
  readonly block: ConnectedBlock
  readonly txs: readonly PreparedTx[]
}

/** Scripts that are met again without being hashed and spelled again, some 20 MB. */
const KEPT_SCRIPTS = 50_000

/** The scripts of a chain that were met last, by their bytes. */
export class ScriptCache {
  readonly #scripts = new LRUCache<string, KnownScript>({ max: KEPT_SCRIPTS })

  constructor(readonly chain: Chain) {}

  of(script: Buffer, key: string): KnownScript {
    let known = this.#scripts.get(key)
    if (known === undefined) {
      // A copy: it must not keep its whole block.
      known = new KnownScript(Buffer.from(script), this.chain)
      this.#scripts.set(key, known)
    }
    return known
  }
}

/** Knows each script of a batch once, however often it occurs. */
export class ScriptBook {
  readonly #scripts = new Map<string, KnownScript>()
  readonly #bytes = new Map<string, Buffer>()

  constructor(private readonly cache: ScriptCache) {}

  get chain(): Chain {
    return this.cache.chain
  }

  of(script: Buffer): KnownScript {
    const key = script.toString('latin1')
    let known = this.#scripts.get(key)
    if (known === undefined) {
      known = this.cache.of(script, key)
      this.#scripts.set(key, known)
      this.#bytes.set(known.hash, script)
    }
    return known
  }

  /** The scripts of all hashes that were asked for. */
  entries(): IterableIterator<[string, Buffer]> {
    return this.#bytes.entries()
  }

  bytes(hash: string): Buffer | undefined {
    return this.#bytes.get(hash)
  }
}

/** Splits a block's prevouts by transaction and notes every script that its totals are needed of. */
export function prepareBlock(block: ConnectedBlock, book: ScriptBook): PreparedBlock {
  let at = 0
  const txs = block.txs.map((tx) => {
    const prevouts = tx.isCoinbase ? [] : block.prevouts.slice(at, (at += tx.inputs.length))
    const paid = ({ script }: TxOutput): KnownScript | undefined =>
      block.height === 0 || isUnspendable(script) ? undefined : book.of(script)
    return {
      tx,
      prevouts,
      shown: tx.inputs.map((input, vin) => inputShowsDilithium(input, prevouts[vin]?.script)),
      spent: prevouts.map(({ script }) => book.of(script)),
      paid: tx.outputs.map(paid),
    }
  })
  return { block, txs }
}
