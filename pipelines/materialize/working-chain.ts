import type { BlockId } from '../chain/block.js'
import { chainFilter, type ChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import type { ParentState } from './apply/block-writer.js'
import { hexOf } from '../chain/hash.js'
import { type Network, networkNamed } from '../chain/networks.js'
import { NO_SUMS, type Sums } from './apply/sums.js'
import { chainOf, assertConnects, assertDisconnects, type PositionedEvent } from './events.js'

/** What an event does to the chain: a block comes onto its tip, or its tip leaves. */
export interface Change {
  readonly kind: 'connected' | 'disconnected'
  readonly hash: string
  readonly prevHash: string
}

/**
 * The chain that events are being applied to: what the last head shows, and what was applied since. A block is written when its
 * rows are, or are on their way; they are visible to nobody until a head names the block.
 */
export class WorkingChain {
  /** Undefined before the first epoch. */
  network: Network | undefined
  /** After the last event that was applied. */
  #tip: BlockId
  #written: BlockId
  #finalHeight: number
  readonly #tail: Map<number, string>
  readonly #stale: Set<string>
  /** Of the last block that is written; undefined where they must be read. */
  #sums: Sums | undefined

  constructor(view?: ChainView) {
    const { chain, tipHeight = -1, tipHash = '', finalHeight = -1 } = view?.head ?? {}
    this.network = chain === undefined ? undefined : networkNamed(chain)
    this.#tip = { height: tipHeight, hash: tipHash }
    this.#written = this.#tip
    this.#finalHeight = finalHeight
    this.#tail = new Map(view?.tail ?? [])
    this.#stale = new Set(view?.stale ?? [])
  }

  /** The last block that is written. */
  get written(): BlockId {
    return this.#written
  }

  /** Applies an event. @returns what it does to the chain. @throws PoisonEvent where it does not follow the one before. */
  apply({ position, event: { event } }: PositionedEvent): Change | undefined {
    if (event.case === 'epochStarted') this.network = chainOf(position, event.value.chain, this.network)
    if (event.case !== 'blockConnected' && event.case !== 'blockDisconnected') return undefined
    const [hash, prevHash] = [hexOf(event.value.hash), hexOf(event.value.prevHash)]
    const { height } = this.#tip
    if (event.case === 'blockConnected') {
      assertConnects(position, event.value, this.#tip)
      this.#tip = { height: height + 1, hash }
      return { kind: 'connected', hash, prevHash }
    }
    assertDisconnects(position, event.value, this.#tip)
    this.#tip = { height: height - 1, hash: prevHash }
    return { kind: 'disconnected', hash, prevHash }
  }

  /** Notes that these blocks are written. @param sums after each of them. */
  write(blocks: readonly { readonly hash: string }[], sums: readonly Sums[]): void {
    if (sums.length !== blocks.length) throw new Error('a block was not applied')
    for (const { hash } of blocks) {
      this.#written = { height: this.#written.height + 1, hash }
      this.#tail.set(this.#written.height, hash)
      this.#stale.delete(hash)
    }
    this.#sums = sums.at(-1)
  }

  /** Notes that the last block that was written leaves the chain. */
  leave(prevHash: string): void {
    const { height, hash } = this.#written
    this.#tail.delete(height)
    this.#stale.add(hash)
    this.#written = { height: height - 1, hash: prevHash }
    this.#finalHeight = Math.min(this.#finalHeight, height - 1)
    this.#sums = undefined
  }

  /** From here on the blocks up to this height are known by their heights, less those that left. */
  settle(finalHeight: number): void {
    for (let height = this.#finalHeight + 1; height <= finalHeight; height++) this.#tail.delete(height)
    this.#finalHeight = Math.max(this.#finalHeight, finalHeight)
  }

  /** Which written rows are of this chain, up to a height of it. */
  filter(upTo: number, hashColumn = 'block_hash'): string {
    const tail = [...this.#tail].filter(([height]) => height <= upTo).map(([, hash]) => hash)
    return chainFilter(Math.min(this.#finalHeight, upTo), tail, this.#stale, 'height', hashColumn)
  }

  /** Returns what blocks stand on that come onto a block of this chain. @param writer of these blocks. */
  async parentState(db: Database, writer: bigint, parent = this.#written): Promise<ParentState> {
    const { network } = this
    if (network === undefined) throw new Error('a block before any epoch')
    const known = parent === this.#written ? this.#sums : undefined
    return { network, filter: this.filter(parent.height), sums: known ?? (await sumsOf(db, parent)), writer }
  }
}

/** Blocks whose hashes are read at once. */
const HASHES_AT_ONCE = 1000

/** Returns a reader of hashes by height from the tables, for as long as a chain grows above the heights that are asked for. */
export function hashesOf(
  db: Database,
  working: () => WorkingChain,
): (height: number, most: number) => Promise<string | undefined> {
  let known = new Map<number, string>()
  /** The tip of the chain that they are of. */
  let knownTip = ''
  return async (height, most) => {
    const chain = working()
    if (chain.written.hash === knownTip && known.has(height)) return known.get(height)
    knownTip = chain.written.hash
    const to = Math.min(most, height + HASHES_AT_ONCE - 1)
    const sql = `SELECT height, lower(hex(hash)) AS id FROM blocks
      WHERE height >= {height:UInt32} AND height <= {to:UInt32} AND ${chain.filter(chain.written.height, 'hash')}`
    const rows = await db.query<{ height: number; id: string }>(sql, { height, to })
    known = new Map(rows.map(({ height: at, id }) => [at, id]))
    return known.get(height)
  }
}

/** Returns the cumulative columns of a block's row, zeroes before the first block. */
async function sumsOf(db: Database, { height, hash }: BlockId): Promise<Sums> {
  if (height < 0) return NO_SUMS
  const columns = Object.keys(NO_SUMS).join(', ')
  const sql = `SELECT ${columns} FROM blocks FINAL WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1`
  const [row] = await db.query<Record<keyof Sums, string>>(sql, { height, hash })
  if (row === undefined)
    throw new Error(`block ${hash} at ${String(height)} is on the chain but missing from the tables`)
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, BigInt(value)]),
  ) as unknown as Sums
}
