import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { addressOf, isDilithiumScript } from '../../chain/address.js'
import type { Network } from '../../chain/networks.js'
import type { Database } from '../../tables/clickhouse.js'
import { KEYS, queryByKeys } from '../../tables/keys.js'
import type { EncodedRows } from '../../tables/rowbinary.js'
import { whileNewest } from '../../tables/writers.js'
import { BlockApplier, CumulativeRows, type KnownScript } from './block-applier.js'
import type { ConnectedBlock } from './decode.js'
import { type ScriptChanges, scriptChangesOf } from './script-changes.js'
import type { OwnRows } from './own-rows.js'
import { ScriptHashes } from './script-book.js'
import type { Sums } from './sums.js'
import { noTotals, type Totals, TOTALS_TUPLE, toTotals } from './totals.js'

/** Totals of this many scripts are kept at hand: some 30 MB. */
const CACHED_SCRIPTS = 80_000
/** Scripts that are met again without being spelled again: some 20 MB. */
const KNOWN_SCRIPTS = 50_000
/** Blocks folded in one turn. */
const BLOCKS_AT_ONCE = 20

/** From this many transactions on a script is looked up alone, from its end, instead of together with others. */
const LONG_HISTORY = 1_000
/** Scripts that are looked up alone at once. */
const ALONE_AT_ONCE = 8

/** What blocks stand on: a filter for rows of the chain below them, and the sums of the block below. */
export interface ParentState {
  readonly network: Network
  readonly filter: string
  readonly sums: Sums
  /** Of whoever writes: nothing is written once another has taken over. */
  readonly writer: bigint
}

/**
 * Writes the rows of blocks. Delivery: at least once, and idempotent, since a row is a pure function of its block's hash;
 * nothing of it is visible until a head names the block.
 */
export class BlockWriter {
  /** By script hash: the totals that were used last. The tables have all of them. */
  readonly #cache: LRUCache<string, Totals>
  /** By their hashes: the scripts that were met last. */
  readonly #scripts = new LRUCache<string, KnownScript, { script: () => Buffer; network: Network }>({
    max: KNOWN_SCRIPTS,
    memoMethod: (hash, _stale, { context: { script, network } }) => {
      const bytes = script()
      const isDilithium = isDilithiumScript(bytes, network)
      return { hash, address: addressOf(bytes, network), isDilithium }
    },
  })
  readonly #hashes = new ScriptHashes()
  /** Totals of blocks from this height on are of blocks that have left the chain. */
  #leftFrom = Number.POSITIVE_INFINITY
  /** Rows of balances folded since the start. */
  balanceRows = 0

  constructor(
    private readonly db: Database,
    cachedScripts = CACHED_SCRIPTS,
    /** Called with how many outputs were created and spent, by script hash. */
    private readonly onChanges?: (changes: ReadonlyMap<string, number>) => void,
  ) {
    this.#cache = new LRUCache({ max: cachedScripts })
  }

  /** Must be called whenever a write failed. */
  forget(): void {
    this.#cache.clear()
  }

  /** Must be called whenever a block leaves the chain, once the blocks below it are written. @param height of the block. */
  disconnected(height: number): void {
    this.#leftFrom = Math.min(this.#leftFrom, height)
  }

  /** Drops the totals of scripts that blocks have touched which are no longer of the chain: once for all that have left. */
  #dropLeft(): void {
    if (this.#leftFrom === Number.POSITIVE_INFINITY) return
    for (const [hash, { height }] of [...this.#cache.entries()])
      if (height >= this.#leftFrom) this.#cache.delete(hash)
    this.#leftFrom = Number.POSITIVE_INFINITY
  }

  /**
   * Writes the rows of consecutive blocks.
   * @param cached false for blocks below the tip, whose totals are not those of the cache.
   * @returns the sums after each block.
   */
  async write(blocks: readonly ConnectedBlock[], parent: ParentState, cached: boolean): Promise<Sums[]> {
    const { own, scriptChanges } = scriptChangesOf(blocks, parent.network, this.#hashes)
    const applied = new CumulativeRows()
    const { sums } = await this.apply(applied, scriptChanges, parent, cached)
    await this.insert(applied, own, parent.writer)
    this.onChanges?.(own.changes)
    return sums
  }

  /**
   * Adds what is folded of consecutive blocks to the rows that `insert` will be given. With the cache, blocks can be folded
   * before those below them are inserted, as long as the cache has room for all scripts that the tables do not show yet, and
   * `forget` and `disconnected` wait.
   * @returns the sums after each block, and how many scripts they touch.
   */
  async apply(
    rows: CumulativeRows,
    scriptChanges: ScriptChanges,
    parent: ParentState,
    cached: boolean,
  ): Promise<{ readonly sums: Sums[]; readonly scripts: number }> {
    const { hashes } = scriptChanges
    const { network } = parent
    const { found, unknown } = await this.#totals(hashes, parent.filter, cached)
    const totals = hashes.map((hash) => found.get(hash) ?? noTotals())
    const bytes = Buffer.from(scriptChanges.scripts.buffer)
    const script = (scriptIndex: number): Buffer =>
      bytes.subarray(scriptChanges.scriptEnds[scriptIndex - 1] ?? 0, scriptChanges.scriptEnds[scriptIndex])
    const scripts = hashes.map((hash, scriptIndex) =>
      this.#scripts.memo(hash, { context: { script: () => script(scriptIndex), network } }),
    )
    const applier = new BlockApplier(rows, scriptChanges, scripts, totals, parent.sums)
    const balanceRows = rows.scriptBalances.length
    const sums: Sums[] = []
    for (const block of scriptChanges.blocks) {
      applier.apply(block)
      sums.push(applier.sums)
      // What is on its way to the server meanwhile goes on.
      if (sums.length % BLOCKS_AT_ONCE === 0) await setImmediate()
    }
    for (const [scriptIndex, hash] of hashes.entries()) {
      if (unknown.has(hash)) rows.scripts.add({ script_hash: hash, script: script(scriptIndex) })
      if (cached) this.#cache.set(hash, totals[scriptIndex])
    }
    this.balanceRows += rows.scriptBalances.length - balanceRows
    return { sums, scripts: hashes.length }
  }

  /** `blocks` first and alone: a block that left any row is then known by its hash, and can be told from the chain's. */
  async insert({ blocks, ...applied }: CumulativeRows, own: OwnRows, writer: bigint): Promise<void> {
    await this.db.insert(blocks, whileNewest(writer))
    const others: readonly EncodedRows[] = [...Object.values(applied), ...Object.values(own.tables)]
    await Promise.all(others.map((rows) => this.db.insert(rows)))
  }

  /** The totals of scripts before the blocks, and which of them have never been written. */
  async #totals(
    hashes: readonly string[],
    filter: string,
    cached: boolean,
  ): Promise<{ found: Map<string, Totals>; unknown: Set<string> }> {
    if (cached) this.#dropLeft()
    const found = new Map<string, Totals>()
    const missing: string[] = []
    for (const hash of hashes) {
      const known = cached ? this.#cache.get(hash) : undefined
      if (known === undefined) missing.push(hash)
      else found.set(hash, known)
    }
    const written = await this.#written(missing)
    const unknown = new Set(missing.filter((hash) => !written.has(hash)))
    // What is written again may be so because something is wrong: nothing but the histories themselves is believed.
    const known = cached ? [...written] : missing
    for (const [hash, each] of await this.#load(known, filter, cached)) found.set(hash, each)
    return { found, unknown }
  }

  /** Most scripts of a backfill are new: a point read tells so, without searching the histories for what is not there. */
  async #written(hashes: readonly string[]): Promise<Set<string>> {
    const sql = `SELECT lower(hex(script_hash)) AS hash FROM scripts WHERE script_hash IN ${KEYS}`
    return new Set((await queryByKeys<{ hash: string }>(this.db, sql, hashes)).map((row) => row.hash))
  }

  /** The totals after each script's last row. A branch numbers a script's rows without a gap, so most histories end below a bound. */
  async #load(hashes: readonly string[], filter: string, cached: boolean): Promise<Map<string, Totals>> {
    const lastWhere = (condition: string): string =>
      `SELECT lower(hex(script_hash)) AS hash, argMax(${TOTALS_TUPLE}, script_txs.ordinal) AS last
      FROM script_txs ${cached ? '' : 'FINAL'} WHERE ${condition} AND ${filter} GROUP BY script_hash`
    const within = lastWhere(`script_hash IN ${KEYS} AND script_txs.ordinal <= ${String(LONG_HISTORY)}`)
    const found = new Map<string, Totals>()
    for (const { hash, last } of await queryByKeys<TotalsRow>(this.db, within, hashes))
      found.set(hash, toTotals(last))
    const long = [...found].filter(([, { ordinal }]) => ordinal === LONG_HISTORY).map(([hash]) => hash)
    for (let at = 0; at < long.length; at += ALONE_AT_ONCE) {
      const alone = long.slice(at, at + ALONE_AT_ONCE).map((each) => {
        const script = `script_hash = unhex('${each}')`
        // Read from its end, until one row is of the chain.
        const end = `SELECT ordinal FROM script_txs WHERE ${script} AND ${filter} ORDER BY ordinal DESC LIMIT 1`
        return this.db.query<TotalsRow>(lastWhere(`${script} AND script_txs.ordinal = (${end})`))
      })
      for (const { hash, last } of (await Promise.all(alone)).flat()) found.set(hash, toTotals(last))
    }
    return found
  }
}

interface TotalsRow {
  readonly hash: string
  readonly last: Parameters<typeof toTotals>[0]
}
