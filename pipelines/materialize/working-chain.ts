import type { BlockId } from '../chain/block.js'
import { blocksBeside, chainTagFilter, type ChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { Selection } from '../tables/selection.js'
import type { Beside, ParentState } from './apply/block-writer.js'
import { hexOf } from '../chain/hash.js'
import { type Network, networkNamed } from '../chain/networks.js'
import { NO_SUMS, SUM_COLUMNS, type Sums } from './apply/sums.js'
import { chainOf, assertConnects, assertDisconnects, type PositionedEvent } from './events.js'

/** The change of the chain by an event: a block becomes its tip, or its tip is disconnected. */
export interface Change {
  readonly kind: 'connected' | 'disconnected'
  readonly height: number
  readonly hash: string
  readonly prevHash: string
}

/**
 * The chain that events are applied to: the state of the last head, and the events applied since. A block counts as written
 * when its rows are written, or being inserted; they are invisible until a head contains the block.
 */
export class WorkingChain {
  /** The network; undefined before the first epoch. */
  network: Network | undefined
  /** The tip after the last applied event; the last block that is written is `#written`. */
  #tip: BlockId
  #written: BlockId
  #finalHeight: number
  readonly #tail: Map<number, string>
  /** Heights of the stale blocks, by hash. */
  readonly #stale: Map<string, number>
  /** The sums after the last block that is written; undefined if they must be read. */
  #sums: Sums | undefined

  constructor(view?: ChainView) {
    const { chain, tipHeight = -1, tipHash = '', finalHeight = -1 } = view?.head ?? {}
    this.network = chain === undefined ? undefined : networkNamed(chain)
    this.#tip = { height: tipHeight, hash: tipHash }
    this.#written = this.#tip
    this.#finalHeight = finalHeight
    this.#tail = new Map(view?.tail ?? [])
    this.#stale = new Map(view?.stale ?? [])
  }

  /** The highest block that is written. */
  get written(): BlockId {
    return this.#written
  }

  /** Applies an event. @returns the change of the chain, if any. @throws PoisonEvent if it does not follow the event before. */
  apply({ position, event: { event } }: PositionedEvent): Change | undefined {
    if (event.case === 'epochStarted') this.network = chainOf(position, event.value.chain, this.network)
    if (event.case !== 'blockConnected' && event.case !== 'blockDisconnected') return undefined
    const [hash, prevHash] = [hexOf(event.value.hash), hexOf(event.value.prevHash)]
    const { height } = this.#tip
    if (event.case === 'blockConnected') {
      assertConnects(position, event.value, this.#tip)
      this.#tip = { height: height + 1, hash }
      return { kind: 'connected', height: height + 1, hash, prevHash }
    }
    assertDisconnects(position, event.value, this.#tip)
    this.#tip = { height: height - 1, hash: prevHash }
    return { kind: 'disconnected', height, hash, prevHash }
  }

  /** Notes that blocks are written. @param sums the sums after each of them. */
  write(blocks: readonly { readonly hash: string }[], sums: readonly Sums[]): void {
    if (sums.length !== blocks.length) throw new Error('a block was not applied')
    for (const { hash } of blocks) {
      this.#written = { height: this.#written.height + 1, hash }
      this.#tail.set(this.#written.height, hash)
      this.#stale.delete(hash)
    }
    this.#sums = sums.at(-1)
  }

  /** Notes that the highest block that is written leaves the chain. */
  leave(prevHash: string): void {
    const { height, hash } = this.#written
    this.#tail.delete(height)
    this.#stale.set(hash, height)
    this.#written = { height: height - 1, hash: prevHash }
    this.#finalHeight = Math.min(this.#finalHeight, height - 1)
    this.#sums = undefined
  }

  /**
   * Raises the final height, up to which rows are selected by height, without rows of stale blocks. Call it when all blocks up to
   * it are written, and no block leaves meanwhile.
   * @param stale the stale blocks at and below it, if they were read already.
   */
  async settle(db: Database, finalHeight: number, stale?: ReadonlyMap<string, number>): Promise<void> {
    // Also of blocks that this process has never written: an earlier one may have, before it died.
    const beside =
      stale === undefined
        ? await blocksBeside(db, this.#tail, this.#finalHeight, finalHeight)
        : [...stale].filter(([hash, height]) => height > this.#finalHeight && this.#tail.get(height) !== hash)
    for (const [hash, height] of beside) this.#stale.set(hash, height)
    for (let height = this.#finalHeight + 1; height <= finalHeight; height++) this.#tail.delete(height)
    this.#finalHeight = Math.max(this.#finalHeight, finalHeight)
  }

  /** Returns an SQL condition for the rows of this chain up to a height. */
  filter(upTo: number): string {
    const tail = [...this.#tail].filter(([height]) => height <= upTo)
    return chainTagFilter(Math.min(this.#finalHeight, upTo), tail, this.#stale)
  }

  /** The blocks that are not on this chain as it is now. */
  get beside(): Beside {
    const [finalHeight, tail, stale] = [this.#finalHeight, new Map(this.#tail), new Map(this.#stale)]
    return {
      above: finalHeight,
      heights: new Set(stale.values()),
      has: ({ height, hash }) => (height > finalHeight ? tail.get(height) !== hash : stale.has(hash)),
    }
  }

  /**
   * Returns the state that blocks build on.
   * @param writer the writer number of these blocks.
   * @param parent the block below them.
   */
  async parentState(db: Database, writer: bigint, parent = this.#written): Promise<ParentState> {
    const { network, beside } = this
    if (network === undefined) throw new Error('a block before any epoch')
    const cachedSums = parent === this.#written ? this.#sums : undefined
    const sums = cachedSums ?? (await sumsOf(db, parent))
    return { network, writer, beside, filter: this.filter(parent.height), sums }
  }
}

/** The number of block hashes read at once. */
const HASHES_AT_ONCE = 1000

/** Returns a reader of block hashes by height, from the tables, for heights below which the chain does not change meanwhile. */
export function hashesOf(
  db: Database,
  working: () => WorkingChain,
): (height: number, most: number) => Promise<string | undefined> {
  let hashes = new Map<number, string>()
  /** The tip of the chain to which the known hashes belong. */
  let knownTip = ''
  return async (height, most) => {
    const chain = working()
    if (chain.written.hash === knownTip && hashes.has(height)) return hashes.get(height)
    knownTip = chain.written.hash
    const to = Math.min(most, height + HASHES_AT_ONCE - 1)
    const sql = `SELECT height, lower(hex(hash)) AS id FROM blocks
      WHERE height >= {height:UInt32} AND height <= {to:UInt32} AND ${chain.filter(chain.written.height)}`
    const rows = await db.query<{ height: number; id: string }>(sql, { height, to })
    hashes = new Map(rows.map(({ height: at, id }) => [at, id]))
    return hashes.get(height)
  }
}

const SUMS = new Selection(SUM_COLUMNS)

/** Returns the cumulative columns of a block's row, zeros before the first block. */
async function sumsOf(db: Database, { height, hash }: BlockId): Promise<Sums> {
  if (height < 0) return NO_SUMS
  const block = 'FROM blocks FINAL WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1'
  const [row] = await SUMS.query(db, block, { height, hash })
  if (row === undefined)
    throw new Error(`block ${hash} at ${String(height)} is on the chain but missing from the tables`)
  return SUMS.write(row)
}
