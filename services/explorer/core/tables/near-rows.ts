import type { Logger } from '../../../../pipelines/logger.js'
import type { StoredPlace, TxStoreReader } from '../../../../pipelines/txstore/reader.js'
import { CanonicalBlocks } from './canonical-blocks.js'
import {
  type LookedUp,
  type LookupName,
  MAX_SHARED_SPENDS,
  MAX_SMALL,
  type NearLookups,
  type Spend,
} from './lookups.js'
import { locationIn } from './point-keys.js'

/** The number of blocks that one call of `follow` compares. */
const BLOCKS_AT_ONCE = 500

/**
 * Values of lookups from a transaction store on this machine. It has rows of all branches, too, but answers only for transactions of the
 * newest chain, and for their spends only while it has every block of that chain from theirs on. The txid of a place in a block depends
 * on no chain. Whatever the store lacks is looked up in the database, so an answer is the same with and without it.
 */
export class NearRows implements NearLookups {
  /** The chain that the store was compared with last. */
  #chain = CanonicalBlocks.NONE
  /** The store has the blocks of that chain from this height up to, but not including, `#end`; parents were written before children. */
  #from = 0
  #end = 0
  /** True if the store has no block of the chain below `#from`, or has not compared it yet. */
  #isLowest = false
  /** The number of keys that were found since the start, and that were not. */
  readonly counts = { found: 0, missing: 0 }

  /** @param chain returns the blocks of the newest chain. */
  constructor(
    private readonly store: TxStoreReader,
    private readonly chain: () => CanonicalBlocks,
    private readonly logger: Logger,
  ) {
    this.refresh()
  }

  /** The lowest height from which on the store has all blocks of the newest chain; undefined if there is none. */
  get from(): number | undefined {
    return this.#guarded(() => this.#covered)
  }

  get #covered(): number | undefined {
    this.#follow()
    return this.#end === this.#chain.length && this.#from < this.#end ? this.#from : undefined
  }

  /** Opens the store if it was created or replaced. Call it from time to time. */
  refresh(): void {
    this.#guarded(() => {
      if (!this.store.refresh()) this.#restart()
    })
  }

  close(): void {
    this.store.close()
  }

  of(name: LookupName): ((key: string) => unknown) | undefined {
    if (name === 'txids') return (key) => this.#counted(() => this.store.txidAt(locationIn(key)))
    if (name === 'spends') return (key) => this.#counted(() => this.#spends(key))
    return ROWS.includes(name) ? (key) => this.#counted(() => this.#row(key)) : undefined
  }

  #counted<T>(read: () => T | undefined): T | undefined {
    const value = this.#guarded(read)
    this.counts[value === undefined ? 'missing' : 'found']++
    return value
  }

  /** Returns what a function reads from the store; undefined after an error. */
  #guarded<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      this.logger.warn({ err: error }, 'cannot read the transaction store; the database answers instead')
      // Until the next refresh.
      this.store.close()
      return undefined
    }
  }

  #row(txid: string): LookedUp<'txs'> | undefined {
    const row = this.#onChain(this.store.txs(txid, MAX_SMALL))
    if (row === undefined) return undefined
    const { txIndex, isDilithium, block, body, prevouts, witness } = row
    return {
      txid,
      height: block.height,
      blockTag: block.tag,
      txIndex,
      isDilithium,
      bodySize: body.length + prevouts.length,
      witnessSize: witness.length,
      smallBody: body,
      smallPrevouts: prevouts,
      smallWitness: witness,
    }
  }

  #spends(prefix: string): LookedUp<'spends'> | undefined {
    const { from } = this
    if (from === undefined) return undefined
    const places = this.store.places(prefix)
    const place = this.#onChain(places)
    // A coinbase may be in a lower block of the chain, too (BIP 30).
    if (place === undefined || place.block.height < from || (place.txIndex === 0 && from > 0))
      return undefined
    const found: Spend[] = []
    for (const each of places)
      for (const { vout, txid, txIndex, vin, block } of this.store.spends(each, MAX_SHARED_SPENDS + 1))
        found.push({
          prevTxid: prefix,
          prevVout: vout,
          height: block.height,
          blockTag: block.tag,
          txIndex,
          vin,
          txid,
        })
    if (found.length > MAX_SHARED_SPENDS) return undefined
    return places.length > 1 ? distinct(found) : found
  }

  /** Returns the row of a transaction on the newest chain, the highest if there are several. */
  #onChain<Row extends Pick<StoredPlace, 'block'>>(rows: readonly Row[]): Row | undefined {
    const blocks = this.chain()
    let highest: Row | undefined
    for (const row of rows) {
      const { height, tag } = row.block
      if (blocks.has(height, tag) && height > (highest?.block.height ?? -1)) highest = row
    }
    return highest
  }

  /** Compares the store with the newest chain: its new blocks, and some of those below. */
  #follow(): void {
    const chain = this.chain()
    if (chain !== this.#chain) this.#adopt(chain)
    if (this.#end < chain.length) this.#extend()
    if (!this.#isLowest && this.#end === chain.length) this.#descend()
  }

  /** Keeps what the chain has in common with the one before. */
  #adopt(chain: CanonicalBlocks): void {
    const before = this.#chain
    this.#chain = chain
    if (this.#from === this.#end) {
      this.#restart()
      return
    }
    const isCommon = (height: number): boolean =>
      height < chain.length && chain.hashAt(height) === before.hashAt(height)
    while (this.#end > this.#from && !isCommon(this.#end - 1)) this.#end--
    if (this.#from === this.#end) this.#restart()
  }

  #restart(): void {
    this.#from = this.#end = this.#chain.length
    this.#isLowest = false
  }

  #extend(): void {
    for (let at = 0; at < BLOCKS_AT_ONCE && this.#end < this.#chain.length; at++) {
      const [block, before] = [this.#numberOf(this.#end), this.#numberOf(this.#end - 1)]
      if (block !== undefined && before !== undefined && before < block) this.#end++
      // It has a block that is written after this one: this one is missing, or was written before its parent.
      else if (block !== undefined || this.#numberOf(this.#chain.length - 1) !== undefined) this.#restart()
      else return
    }
  }

  #descend(): void {
    let above = this.#from < this.#end ? this.#numberOf(this.#from) : Number.POSITIVE_INFINITY
    for (let at = 0; at < BLOCKS_AT_ONCE && !this.#isLowest; at++) {
      const below = this.#from > 0 ? this.#numberOf(this.#from - 1) : undefined
      if (below !== undefined && above !== undefined && below < above) {
        above = below
        this.#from--
      } else if (this.#from < this.#end) this.#isLowest = true
      else return
    }
  }

  /** Returns the number of a block of the chain in the store. */
  #numberOf(height: number): number | undefined {
    return this.store.blockNumber(height, this.#chain.hashAt(height))
  }
}

/** The lookups of rows that a transaction has one of. */
const ROWS: readonly LookupName[] = ['txs', 'bodies', 'confirmations']

/** Returns spends that differ: a spend is found once for each row of the transaction. */
function distinct(spends: readonly Spend[]): Spend[] {
  const byKey = new Map<string, Spend>()
  for (const spend of spends) {
    const { prevVout, height, blockTag, txIndex, vin } = spend
    byKey.set([prevVout, height, blockTag, txIndex, vin].join(' '), spend)
  }
  return [...byKey.values()]
}
