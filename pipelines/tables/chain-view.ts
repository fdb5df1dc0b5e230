import { type BlockId, blockTag } from '../chain/block.js'
import { coded } from '../errors.js'
import type { Database } from './clickhouse.js'
import type { Head } from './head.js'
import { hashSet, integerSet } from './keys.js'
import { pointSettings, Selection } from './selection.js'

/** The rows that belong to the chain of a head. Immutable: each head has a view of its own. */
export class ChainView {
  readonly #tail: ReadonlyMap<number, string>
  readonly #stale: ReadonlyMap<string, number>
  readonly #filters = new Map<string, string>()

  /**
   * @param tail hashes of the chain's blocks above the head's final height, by height.
   * @param stale heights of the blocks at or below the final height that are not on the chain, by hash.
   */
  constructor(
    readonly head: Head,
    tail: ReadonlyMap<number, string>,
    stale: ReadonlyMap<string, number>,
  ) {
    this.#tail = tail
    this.#stale = stale
  }

  get tail(): ReadonlyMap<number, string> {
    return this.#tail
  }

  get stale(): ReadonlyMap<string, number> {
    return this.#stale
  }

  /** Returns whether a block, and so each of its rows, is on the chain. */
  isCanonical(height: number, hash: string): boolean {
    if (height > this.head.finalHeight) return this.#tail.get(height) === hash
    return !this.#stale.has(hash)
  }

  /** Returns the hash of the chain's block at a height, undefined at and below the final height and above the tip. */
  hashAt(height: number): string | undefined {
    return this.#tail.get(height)
  }

  /** Returns `isCanonical` as an SQL condition over two columns. */
  sqlFilter(heightColumn: string, hashColumn: string): string {
    return this.#filter(`${heightColumn} ${hashColumn}`, () =>
      chainFilter(this.head.finalHeight, this.#tail.values(), this.#stale.keys(), heightColumn, hashColumn),
    )
  }

  /** Returns the SQL condition that selects the chain's rows of a table whose rows name their block by height and tag. */
  tagFilter(heightColumn = 'height', tagColumn = 'block_tag'): string {
    return this.#filter(`${heightColumn} ${tagColumn} tag`, () =>
      chainTagFilter(this.head.finalHeight, this.#tail, this.#stale, heightColumn, tagColumn),
    )
  }

  /**
   * Returns the view of the chain up to one of its blocks.
   * @param tip the block, whose height is at most that of the tip.
   */
  upTo(tip: BlockId): ChainView {
    const { height } = tip
    const finalHeight = Math.min(this.head.finalHeight, height)
    return new ChainView(
      { ...this.head, tipHeight: height, tipHash: tip.hash, finalHeight },
      new Map([...this.#tail].filter(([at]) => at <= height)),
      new Map([...this.#stale].filter(([, at]) => at <= height)),
    )
  }

  #filter(key: string, make: () => string): string {
    let filter = this.#filters.get(key)
    if (filter === undefined) this.#filters.set(key, (filter = make()))
    return filter
  }
}

/** Returns an SQL condition that holds for rows of final blocks that are not stale, and for rows of the blocks of the tail. */
export function chainFilter(
  finalHeight: number,
  tail: Iterable<string>,
  stale: Iterable<string>,
  heightColumn: string,
  hashColumn: string,
): string {
  const [above, below] = [[...tail].join(','), [...stale].join(',')]
  const notStale = below === '' ? '' : ` AND ${hashColumn} NOT IN ${hashSet(`'${below}'`)}`
  const final = `${heightColumn} <= ${String(finalHeight)}${notStale}`
  return above === '' ? `(${final})` : `((${final}) OR ${hashColumn} IN ${hashSet(`'${above}'`)})`
}

/**
 * Returns the condition of `chainFilter` over the height and the tag of a row's block.
 * @param tail hashes of the blocks above the final height, by height.
 * @param stale heights of the stale blocks, by hash.
 */
export function chainTagFilter(
  finalHeight: number,
  tail: Iterable<readonly [height: number, hash: string]>,
  stale: Iterable<readonly [hash: string, height: number]>,
  heightColumn = 'height',
  tagColumn = 'block_tag',
): string {
  const above = Array.from(tail, ([height, hash]) => tagKey(height, hash))
  const below = Array.from(stale, ([hash, height]) => tagKey(height, hash))
  const key = keyOf(heightColumn, tagColumn)
  const notStale = below.length === 0 ? '' : ` AND ${key} NOT IN ${integerSet(below)}`
  const final = `${heightColumn} <= ${String(finalHeight)}${notStale}`
  return above.length === 0 ? `(${final})` : `((${final}) OR ${key} IN ${integerSet(above)})`
}

/** Returns an SQL condition that holds for the rows of some blocks, at least one, that name their block by height and tag. */
export function blocksFilter(blocks: readonly BlockId[]): string {
  const keys = blocks.map(({ height, hash }) => tagKey(height, hash))
  return `${keyOf('height', 'block_tag')} IN ${integerSet(keys)}`
}

const keyOf = (heightColumn: string, tagColumn: string): string =>
  `(toUInt64(${heightColumn}) * 4294967296 + ${tagColumn})`

/** Returns height and tag as one number. Tags alone would not do: blocks of different heights may have equal tags. */
export function tagKey(height: number, hash: string): bigint {
  return BigInt(height) * 2n ** 32n + BigInt(blockTag(hash))
}

/** A block of the head's chain has no row, so the chain cannot be built from the tables. */
export class MissingBlock extends coded('HW_BLOCK_MISSING') {}

const LINK = new Selection({ height: 'u32', hash: 'hash', prev_hash: 'hash' })
type Link = Awaited<ReturnType<typeof LINK.query>>[number]

const links = (db: Database, condition: string, settings = ''): Promise<Link[]> =>
  LINK.bytes(db, `FROM blocks WHERE ${condition} LIMIT 1 BY height, hash${settings}`)

/**
 * Builds the view of a head from the tables alone: the tail by walking back from the tip, the stale blocks from heights with
 * several blocks.
 * @throws MissingBlock if a block of the tail is missing from the tables.
 */
export async function loadChainView(db: Database, head: Head): Promise<ChainView> {
  const { tipHeight, tipHash, finalHeight } = head
  const tail = new Map<number, string>()
  const linkByHash = new Map(
    (await links(db, `height > ${String(finalHeight)} AND height <= ${String(tipHeight)}`)).map((link) => [
      link.hash,
      link,
    ]),
  )
  let below = tipHash
  for (let height = tipHeight; height > finalHeight; height--) {
    const link = linkByHash.get(below)
    if (link?.height !== height)
      throw new MissingBlock(
        `block ${below} at ${String(height)} is on the head's chain but missing from the tables`,
      )
    tail.set(height, link.hash)
    below = link.prevHash
  }
  return new ChainView(head, ascending(tail), await staleBlocks(db, finalHeight, below))
}

function ascending(tail: Map<number, string>): Map<number, string> {
  return new Map([...tail].sort(([one], [other]) => one - other))
}

/**
 * Returns the heights of the blocks at or below a height that are not on the chain, by hash. If a height has only one block, it
 * is on the chain: the row of a block in `blocks` is written before all its other rows and before the head that names it. A block
 * that was never connected, but left rows, is therefore listed at its height next to the block that was connected.
 * @param top hash of the chain's block at `finalHeight`.
 */
async function staleBlocks(db: Database, finalHeight: number, top: string): Promise<Map<string, number>> {
  const stale = new Map<string, number>()
  if (finalHeight < 0) return stale
  const contested = `SELECT height FROM blocks WHERE height <= ${String(finalHeight)} GROUP BY height HAVING uniqExact(hash) > 1`
  const rows = await links(
    db,
    `height <= ${String(finalHeight)} AND (height IN (${contested}) OR height - 1 IN (${contested}))`,
  )
  const byHeight = new Map<number, Link[]>()
  for (const link of rows) byHeight.set(link.height, [...(byHeight.get(link.height) ?? []), link])
  const heights = [...byHeight.keys()].sort((one, other) => other - one)
  let expected = top
  let last = finalHeight
  for (const height of heights) {
    const here = byHeight.get(height) ?? []
    // The first height below a gap is not contested: the query also returns the height above each contested height.
    if (height !== last && here.length === 1) expected = here[0]?.hash ?? ''
    for (const link of here) {
      if (link.hash === expected) continue
      stale.set(link.hash, height)
    }
    expected = here.find((link) => link.hash === expected)?.prevHash ?? ''
    last = height - 1
  }
  return stale
}

/**
 * Returns the chain of the newest of some heads without a query, by extending the previous view and keeping its final height.
 * It selects the same rows as the view of that head, with a longer condition.
 * @param heads consecutive, oldest first.
 * @returns undefined if the heads do not continue the previous view.
 */
export function continuedView(view: ChainView, heads: readonly Head[]): ChainView | undefined {
  const { finalHeight } = view.head
  const tail = new Map(view.tail)
  let { position, tipHeight } = view.head
  for (const head of heads) {
    if (head.previous !== position || head.finalHeight < finalHeight) return undefined
    for (const hash of head.disconnected) {
      if (tail.get(tipHeight) !== hash) return undefined
      tail.delete(tipHeight--)
    }
    for (const hash of head.connected) tail.set(++tipHeight, hash)
    position = head.position
    if (tipHeight !== head.tipHeight) return undefined
  }
  return new ChainView({ ...(heads.at(-1) ?? view.head), finalHeight }, tail, view.stale)
}

/**
 * Returns the view of the newest of some heads. It is derived from the previous view if the heads continue it, and otherwise
 * loaded from the tables.
 * @param heads consecutive, oldest first, at least one.
 */
export async function nextChainView(
  db: Database,
  view: ChainView | undefined,
  heads: readonly Head[],
): Promise<ChainView> {
  const newest = heads.at(-1)
  if (newest === undefined) throw new RangeError('at least one head is required')
  const continued = view && continuedView(view, heads)
  if (continued === undefined) return loadChainView(db, newest)
  const [from, to] = [continued.head.finalHeight, newest.finalHeight]
  const tail = new Map(continued.tail)
  const stale = new Map([...continued.stale, ...(await blocksBeside(db, tail, from, to))])
  for (let height = from + 1; height <= to; height++) tail.delete(height)
  return new ChainView(newest, tail, stale)
}

/**
 * Returns the blocks between two heights that are not on a chain: their heights by hash. Other processes may have written them.
 * @param tail hashes of the chain's blocks above `from`, at least up to `to`, by height.
 */
export async function blocksBeside(
  db: Database,
  tail: ReadonlyMap<number, string>,
  from: number,
  to: number,
): Promise<Map<string, number>> {
  if (to <= from) return new Map()
  const span = `height > ${String(from)} AND height <= ${String(to)}`
  const rows = await links(db, span, pointSettings(to - from))
  const others = rows.filter(({ height, hash }) => tail.get(height) !== hash)
  return new Map(others.map(({ height, hash }) => [hash, height]))
}
