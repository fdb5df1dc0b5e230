import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { addressOf } from '../../chain/address.js'
import { addressKey } from '../../chain/columns/address-order.js'
import type { BlockId } from '../../chain/block.js'
import type { Network } from '../../chain/networks.js'
import { blocksFilter } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'
import { integerSet, KEYS, KEYS20, keySlices, queryByKeys, withKeys } from '../../tables/keys.js'
import { EncodedRows } from '../../tables/rowbinary.js'
import { REPLACED_WITNESSES, TXS } from '../../tables/schema.js'
import { pointSettings, Selection } from '../../tables/selection.js'
import { assertOwnTags } from '../../tables/tags.js'
import { whileNewest } from '../../tables/writers.js'
import { BlockApplier, CumulativeRows } from './block-applier.js'
import type { ConnectedBlock } from './decode.js'
import { coinbaseOf, coinbasesOf, overwrite, partsOf, repeatedAmong } from './repeated-coinbases.js'
import { type ScriptChanges, scriptChangesOf, scriptOf } from './script-changes.js'
import type { OwnRows } from './own-rows.js'
import type { Sums } from './sums.js'
import { NO_TOTALS, type Script, scriptWith, type Totals, TOTALS_TUPLE, toTotals } from './totals.js'

/** The number of scripts whose totals are cached: some 30 MB. */
const CACHED_SCRIPTS = 80_000
/** The number of blocks applied without yielding to other tasks. */
const BLOCKS_AT_ONCE = 20

const TX = new Selection(TXS.columns)
const BLOCK_ID = new Selection({ height: 'u32', hash: 'hash' })

/** The number of transactions from which on a script's totals are read by a separate query, from the end of its history. */
const LONG_HISTORY = 1_000
/** The number of simultaneous queries for totals of scripts. */
const ALONE_AT_ONCE = 8

export const NOTHING_LOOKED_UP: LookedUp = { requested: new Set(), written: new Set(), repeated: [] }
/** The same for a part that is a block with a repeated coinbase. */
export const ONE_REPEATED: LookedUp = { ...NOTHING_LOOKED_UP, repeated: [0] }

/** The state that blocks build on: a filter for rows of the chain below them, and the sums after the block below. */
export interface ParentState {
  readonly network: Network
  readonly filter: string
  readonly sums: Sums
  /** The writer number: nothing is written once another writer has taken over. */
  readonly writer: bigint
  readonly beside: Beside
}

/** The blocks that are not on a chain, but may have rows. */
export interface Beside {
  /** The height above which the tables may contain such blocks at any height; they contain further ones at `heights`. */
  readonly above: number
  readonly heights: ReadonlySet<number>
  /** Returns whether a block of the tables is not on the chain. */
  readonly has: (block: BlockId) => boolean
}

/** Results of lookups for some blocks before these are applied. */
export interface LookedUp {
  /** The scripts that were looked up, and those of them that were written before. */
  readonly requested: ReadonlySet<string>
  readonly written: ReadonlySet<string>
  /** The indexes of the blocks whose coinbase a lower block may contain, too; see `partsOf`. */
  readonly repeated: readonly number[]
}

/**
 * Writes the rows of blocks. Delivery: at least once, and idempotent, since a row is a pure function of its block's hash. Rows
 * are invisible until a head contains their block.
 */
export class BlockWriter {
  /** The scripts used last, by their hashes. The tables contain them, too. */
  readonly #cache: LRUCache<string, Script>
  /** The height from which on cached totals are of blocks that have left the chain. */
  #leftFrom = Number.POSITIVE_INFINITY
  /** The blocks that have left the chain and whose witnesses are not copied yet. */
  #left: BlockId[] = []
  /** The ids of the coinbases of blocks that are applied and not in the tables yet. */
  readonly #coinbases = new Set<string>()
  /** True to write rows of balances. */
  writesBalances = true
  /** The number of rows of balances added since it was last reset. */
  balanceRows = 0

  constructor(
    private readonly db: Database,
    cachedScripts = CACHED_SCRIPTS,
    /** Called after each insert with the numbers of outputs created and spent, by script hash. */
    private readonly onChanges?: (changes: ReadonlyMap<string, number>) => void,
    /** See `OwnRowsOptions`. */
    readonly hasBodies = true,
  ) {
    // Not by `max`, for which lists of this length are allocated and filled at once.
    this.#cache = new LRUCache({ maxSize: cachedScripts, sizeCalculation: () => 1 })
  }

  /** Clears the cache. Must be called after every failed write. */
  forget(): void {
    this.#cache.clear()
    this.#coinbases.clear()
    this.#left = []
  }

  /** Notes that a block has left the chain. Call it after the rows of the block and of all blocks below it are written. */
  disconnected(block: BlockId): void {
    this.#leftFrom = Math.min(this.#leftFrom, block.height)
    this.#left.push(block)
  }

  /** Drops cached totals of scripts that were touched by blocks that have left the chain, in one pass for all these blocks. */
  #dropLeft(): void {
    if (this.#leftFrom === Number.POSITIVE_INFINITY) return
    for (const [hash, { height }] of [...this.#cache.entries()])
      if (height >= this.#leftFrom) this.#cache.delete(hash)
    this.#leftFrom = Number.POSITIVE_INFINITY
  }

  /**
   * Writes the rows of consecutive blocks of the chain again.
   * @param blocks one of the parts that `parts` returns. @param chain SQL condition for the rows of the chain.
   */
  async rewrite(
    blocks: readonly ConnectedBlock[],
    parent: ParentState,
    chain: string,
    isRepeated: boolean,
  ): Promise<void> {
    const named = await this.#namedAbove(blocks, chain)
    const { hasBodies } = this
    const { own, scriptChanges } = scriptChangesOf(blocks, parent.network, { named, hasBodies })
    const applied = new CumulativeRows()
    await this.apply(applied, scriptChanges, parent, false, isRepeated ? ONE_REPEATED : NOTHING_LOOKED_UP)
    await this.insert(applied, own, parent)
  }

  /** Divides consecutive blocks into the parts in which they can be written again. */
  async parts(blocks: readonly ConnectedBlock[]): Promise<ReturnType<typeof partsOf<ConnectedBlock>>> {
    return partsOf(blocks, await repeatedAmong(this.db, blocks.map(coinbaseOf), []))
  }

  /** Returns the coinbases of blocks whose rows of `txs` name a higher block of the chain. */
  async #namedAbove(blocks: readonly ConnectedBlock[], chain: string): Promise<Set<string>> {
    const heights = new Map(blocks.map(coinbaseOf).map(({ txid, height }) => [txid, height]))
    const sql = `SELECT lower(hex(txid)) AS id, height AS at FROM txs WHERE txid IN ${KEYS} AND ${chain}`
    const rows = await queryByKeys<{ id: string; at: number }>(this.db, sql, [...heights.keys()])
    return new Set(rows.filter(({ id, at }) => at > (heights.get(id) ?? at)).map(({ id }) => id))
  }

  /**
   * Adds the rows of consecutive blocks to the rows for the next `insert`. With the cache, blocks can be applied before the blocks
   * below them are inserted, as long as the cache has room for all scripts that are not in the tables yet, and `forget`
   * and `disconnected` are not called.
   * @param lookedUp of these blocks; no block may be applied since that touches one of the scripts.
   * @returns the sums after each block, and the number of scripts that they touch.
   */
  async apply(
    rows: CumulativeRows,
    scriptChanges: ScriptChanges,
    parent: ParentState,
    cached: boolean,
    lookedUp = NOTHING_LOOKED_UP,
  ): Promise<{ readonly sums: Sums[]; readonly scripts: number }> {
    const { hashes, outputCounts } = scriptChanges
    const { network } = parent
    // The row of `txs` will name this block.
    if (lookedUp.repeated.length > 0 && (await overwrite(this.db, rows, scriptChanges, parent.filter)))
      await this.#keepWitnessesOf(scriptChanges.txids.slice(0, 1))
    if (cached) this.#dropLeft()
    const cachedTotals = hashes.map((hash) => (cached ? this.#cache.get(hash) : undefined))
    const missing = hashes.filter((_, scriptIndex) => cachedTotals[scriptIndex] === undefined)
    const { totals, unknown } = await this.#totals(missing, parent.filter, cached, lookedUp)
    const bytesOf = scriptOf(scriptChanges)
    const scripts = hashes.map(
      (hash, scriptIndex) =>
        cachedTotals[scriptIndex] ?? scriptWith(totals.get(hash) ?? NO_TOTALS, bytesOf(scriptIndex), network),
    )
    const addressAt = (scriptIndex: number): string | undefined => addressOf(bytesOf(scriptIndex), network)
    const balanceAddress = this.writesBalances ? addressAt : undefined
    const applier = new BlockApplier(rows, scriptChanges, scripts, parent.sums, balanceAddress)
    const balanceRows = rows.scriptBalances.length
    const sums: Sums[] = []
    for (const block of scriptChanges.blocks) {
      applier.apply(block)
      sums.push(applier.sums)
      // Lets running inserts proceed.
      if (sums.length % BLOCKS_AT_ONCE === 0) await setImmediate()
    }
    for (const { txid } of coinbasesOf(scriptChanges)) this.#coinbases.add(txid)
    for (const [scriptIndex, hash] of hashes.entries()) {
      rows.changes.set(hash, (rows.changes.get(hash) ?? 0) + (outputCounts[scriptIndex] ?? 0))
      if (cachedTotals[scriptIndex] !== undefined) continue
      if (unknown.has(hash)) rows.scripts.add({ script_hash: hash, script: bytesOf(scriptIndex) })
      // Of all scripts that the chain does not have yet, also of known ones: a crash may have come before this row.
      if (scripts[scriptIndex]?.hasAddress === true && !totals.has(hash))
        rows.addressOrder.add({
          address_key: addressKey(bytesOf(scriptIndex)),
          script_prefix: hash.slice(0, 10),
        })
      if (cached) this.#cache.set(hash, scripts[scriptIndex])
    }
    this.balanceRows += rows.scriptBalances.length - balanceRows
    return { sums, scripts: hashes.length }
  }

  /**
   * Inserts rows, `blocks` before all others: thus every block with rows is listed there, and can be recognised as stale.
   * @throws BlockTagRepeated, before any row but `blocks` is written, if another block of a height has the tag of a block.
   */
  async insert(
    applied: CumulativeRows,
    own: OwnRows,
    { writer, beside }: Pick<ParentState, 'writer' | 'beside'>,
  ): Promise<void> {
    await this.db.insert(applied.blocks, whileNewest(writer))
    const written = await this.#writtenBlocks(applied.ids, beside)
    assertOwnTags(applied.ids, written)
    await this.#keepLeft()
    const tables = [...applied.tables, ...own.others]
    await Promise.all([
      // First, because it takes two inserts.
      this.#insertTransactions(own, writer),
      ...tables.map((rows) => this.db.insert(rows)),
      this.#keepShared(applied.txids, own, written.filter(beside.has)),
    ])
    for (const txid of applied.coinbases) this.#coinbases.delete(txid)
    this.onChanges?.(applied.changes)
  }

  /**
   * Inserts `block_txs` before `txs`, of which a late insert may replace the row of another block: a process that takes over thus
   * finds the transactions of every block whose rows can still arrive.
   */
  async #insertTransactions({ blockTxs, txs }: OwnRows, writer: bigint): Promise<void> {
    await this.db.insert(blockTxs)
    await this.db.insert(txs, whileNewest(writer))
  }

  /** Returns the blocks of the tables at the heights of some blocks, and at those where blocks may be that are not on the chain. */
  async #writtenBlocks(blocks: readonly BlockId[], { above, heights }: Beside): Promise<BlockId[]> {
    const own = blocks.map(({ height }) => height).filter((height) => height <= above)
    const lower = [...new Set([...own, ...heights])]
    const orAt = lower.length === 0 ? '' : ` OR height IN ${integerSet(lower)}`
    return BLOCK_ID.bytes(this.db, `FROM blocks WHERE height > ${String(above)}${orAt}${pointSettings(0)}`)
  }

  /**
   * Keeps the witnesses of transactions that blocks of other branches contain, too: a late insert of these may replace them.
   * @param others the blocks that are not on the chain, nearly always none.
   */
  async #keepShared(txids: readonly string[], { txs }: OwnRows, others: readonly BlockId[]): Promise<void> {
    if (others.length === 0) return
    const heights = integerSet([...new Set(others.map(({ height }) => height))])
    const sql = `SELECT DISTINCT lower(hex(txid)) AS id FROM block_txs
      WHERE height IN ${heights} AND ${blocksFilter(others)} AND witness_tag != 0 AND txid IN ${KEYS}`
    const rows = await queryByKeys<{ id: string }>(this.db, sql, txids)
    if (rows.length === 0) return
    const shared = new Set(rows.map(({ id }) => id))
    const replaced = new EncodedRows(REPLACED_WITNESSES)
    for (const { txid, height, blockTag, witness } of TX.decoded(txs))
      if (shared.has(txid) && witness.length > 0) replaced.add({ txid, height, block_tag: blockTag, witness })
    await this.db.insert(replaced)
  }

  /** Copies the witnesses of blocks that have left the chain, before rows of other blocks replace them. */
  async #keepLeft(): Promise<void> {
    if (this.#left.length === 0) return
    const heights = this.#left.map(({ height }) => height)
    const left = blocksFilter(this.#left)
    const txids = `SELECT txid FROM block_txs WHERE height BETWEEN ${String(Math.min(...heights))} AND ${String(Math.max(...heights))}
      AND ${left} AND witness_tag != 0`
    await this.#keepWitnesses(`(${txids}) AND ${left}`)
    this.#left = []
  }

  async #keepWitnessesOf(txids: readonly string[]): Promise<void> {
    for (const keys of keySlices(txids)) await this.#keepWitnesses(withKeys(KEYS, keys, this.db.isSharded))
  }

  /** Copies witnesses from `txs`. @param txids SQL for the right side of an IN. */
  async #keepWitnesses(txids: string): Promise<void> {
    const copied = 'txid, height, block_tag, witness'
    await this.db.command(
      `INSERT INTO replaced_witnesses (${copied}) SELECT ${copied} FROM txs WHERE txid IN ${txids} AND notEmpty(witness)`,
    )
  }

  /**
   * Writes the rows of blocks of any branch again that a power failure may have lost. Afterwards the blocks of the chain must be
   * written again, because `txs` names the block that was written last.
   */
  async restore(
    blocks: readonly ConnectedBlock[],
    { network, writer }: Pick<ParentState, 'network' | 'writer'>,
  ): Promise<void> {
    const { own, scriptChanges } = scriptChangesOf(blocks, network, { hasBodies: this.hasBodies })
    const { scripts } = new CumulativeRows()
    const script = scriptOf(scriptChanges)
    for (const [index, hash] of scriptChanges.hashes.entries())
      scripts.add({ script_hash: hash, script: script(index) })
    await this.#keepWitnessesOf(scriptChanges.txids)
    await Promise.all([this.db.insert(own.blockHeights), this.db.insert(scripts)])
    await this.#insertTransactions(own, writer)
    await this.#keepWitnessesOf(scriptChanges.txids)
  }

  /** Returns the totals before the blocks of scripts that are not cached, and the scripts that have never been written. */
  async #totals(
    missing: readonly string[],
    filter: string,
    cached: boolean,
    lookedUp: LookedUp,
  ): Promise<{ totals: ReadonlyMap<string, Totals>; unknown: ReadonlySet<string> }> {
    const others = await this.#written(missing.filter((hash) => !lookedUp.requested.has(hash)))
    const written = new Set(missing.filter((hash) => others.has(hash) || lookedUp.written.has(hash)))
    const unknown = new Set(missing.filter((hash) => !written.has(hash)))
    // Rows that are written again may repair an error: rely on the histories alone.
    const hashes = cached ? [...written] : missing
    return { totals: await this.#load(hashes, filter, cached), unknown }
  }

  /**
   * Looks up what a later `apply` needs: the scripts that are not cached, and whether coinbases are repeated.
   * @param below blocks between these and the blocks that are applied. Their scripts are left out.
   */
  async lookUp(scriptChanges: ScriptChanges, below: readonly ScriptChanges[]): Promise<LookedUp> {
    const touched = new Set<string>()
    for (const { hashes } of below) for (const hash of hashes) touched.add(hash)
    const requested = scriptChanges.hashes.filter((hash) => !touched.has(hash) && !this.#cache.has(hash))
    const coinbases = below.flatMap(coinbasesOf).map(({ txid }) => txid)
    const [written, repeated] = await Promise.all([
      this.#written(requested),
      repeatedAmong(this.db, coinbasesOf(scriptChanges), [...this.#coinbases, ...coinbases]),
    ])
    return { requested: new Set(requested), written, repeated }
  }

  /**
   * Returns the scripts that were written before. Most scripts of a backfill are new: this point read saves searching
   * histories.
   */
  async #written(hashes: readonly string[]): Promise<Set<string>> {
    const sql = `SELECT lower(hex(script_hash)) AS hash FROM scripts WHERE script_hash IN ${KEYS20}`
    return new Set((await queryByKeys<{ hash: string }>(this.db, sql, hashes)).map((row) => row.hash))
  }

  /**
   * Reads the totals of scripts from their last rows. Rows of a script are numbered without gaps, so most histories are short.
   */
  async #load(hashes: readonly string[], filter: string, cached: boolean): Promise<Map<string, Totals>> {
    const lastWhere = (condition: string): string =>
      `SELECT lower(hex(script_hash)) AS hash, argMax(${TOTALS_TUPLE}, script_txs.ordinal) AS last
      FROM script_txs ${cached ? '' : 'FINAL'} WHERE ${condition} AND ${filter} GROUP BY script_hash`
    const within = lastWhere(`script_hash IN ${KEYS20} AND script_txs.ordinal <= ${String(LONG_HISTORY)}`)
    const totals = new Map<string, Totals>()
    for (const { hash, last } of await queryByKeys<TotalsRow>(this.db, within, hashes))
      totals.set(hash, toTotals(last))
    const long = [...totals].filter(([, { ordinal }]) => ordinal === LONG_HISTORY).map(([hash]) => hash)
    for (let at = 0; at < long.length; at += ALONE_AT_ONCE) {
      const alone = long.slice(at, at + ALONE_AT_ONCE).map((each) => {
        const script = `script_hash = unhex('${each}')`
        // Reads from the end, up to the first row that is of the chain.
        const end = `SELECT ordinal FROM script_txs WHERE ${script} AND ${filter} ORDER BY ordinal DESC LIMIT 1`
        return this.db.query<TotalsRow>(lastWhere(`${script} AND script_txs.ordinal = (${end})`))
      })
      for (const { hash, last } of (await Promise.all(alone)).flat()) totals.set(hash, toTotals(last))
    }
    return totals
  }
}

interface TotalsRow {
  readonly hash: string
  readonly last: Parameters<typeof toTotals>[0]
}
