import type { Chain } from '../chain/network.js'
import { chainFilter, type ChainView } from '../tables/chain-view.js'
import type { Database } from '../tables/clickhouse.js'
import { NO_SUMS, type Sums } from './apply/sums.js'

/**
 * The chain that is being folded: what the last head shows, and what was folded since. Its rows above the head are written
 * but visible to nobody.
 */
export class WorkingChain {
  tipHeight: number
  tipHash: string
  #finalHeight: number
  readonly #tail: Map<number, string>
  readonly #stale: Set<string>
  /** Of the tip; nothing where they must be read. */
  #sums: Sums | undefined

  constructor(view: ChainView | undefined) {
    this.tipHeight = view?.head.tipHeight ?? -1
    this.tipHash = view?.head.tipHash ?? ''
    this.#finalHeight = view?.head.finalHeight ?? -1
    this.#tail = new Map(view?.tail ?? [])
    this.#stale = new Set(view?.stale ?? [])
  }

  connect(hash: string, sums: Sums): void {
    this.tipHeight++
    this.tipHash = hash
    this.#tail.set(this.tipHeight, hash)
    this.#stale.delete(hash)
    this.#sums = sums
  }

  /** The tip leaves the chain. */
  disconnect(prevHash: string): void {
    this.#tail.delete(this.tipHeight)
    this.#stale.add(this.tipHash)
    this.tipHeight--
    this.tipHash = prevHash
    this.#finalHeight = Math.min(this.#finalHeight, this.tipHeight)
    this.#sums = undefined
  }

  /** From here on the blocks up to this height are told by their heights, less those that left. */
  settle(finalHeight: number): void {
    for (let height = this.#finalHeight + 1; height <= finalHeight; height++) this.#tail.delete(height)
    this.#finalHeight = Math.max(this.#finalHeight, finalHeight)
  }

  /** Which written rows are of this chain, up to a height of it. */
  filter(upTo: number, hashColumn = 'block_hash'): string {
    const tail = [...this.#tail].filter(([height]) => height <= upTo).map(([, hash]) => hash)
    return chainFilter(Math.min(this.#finalHeight, upTo), tail, this.#stale, 'height', hashColumn)
  }

  /** The cumulative columns of the tip's row. */
  async sums(db: Database): Promise<Sums> {
    this.#sums ??= await sumsOf(db, this.tipHeight, this.tipHash)
    return this.#sums
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
    if (chain.tipHash === knownTip && known.has(height)) return known.get(height)
    knownTip = chain.tipHash
    const to = Math.min(most, height + HASHES_AT_ONCE - 1)
    const sql = `SELECT height, lower(hex(hash)) AS id FROM blocks
      WHERE height >= {height:UInt32} AND height <= {to:UInt32} AND ${chain.filter(chain.tipHeight, 'hash')}`
    const rows = await db.query<{ height: number; id: string }>(sql, { height, to })
    known = new Map(rows.map(({ height: at, id }) => [at, id]))
    return known.get(height)
  }
}

/** The cumulative columns of a block's row, zeroes before the first block. */
export async function sumsOf(db: Database, height: number, hash: string): Promise<Sums> {
  if (height < 0) return NO_SUMS
  const columns = Object.keys(NO_SUMS).join(', ')
  const sql = `SELECT ${columns} FROM blocks FINAL WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1`
  const [row] = await db.query<Record<keyof Sums, string>>(sql, { height, hash })
  if (row === undefined)
    throw new Error(`block ${hash} at ${String(height)} is of the chain and not in the tables`)
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, BigInt(value)]),
  ) as unknown as Sums
}

/** The chain's parameters are those of the node that the log was written from. */
export function asChain(name: string): Chain | undefined {
  return name === 'main' || name === 'test' || name === 'signet' || name === 'regtest' ? name : undefined
}
