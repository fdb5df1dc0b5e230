import type { BlockId } from '../../chain/block.js'
import { networkNamed } from '../../chain/networks.js'
import type { Logger } from '../../logger.js'
import type { ChainView } from '../../tables/chain-view.js'
import { type Database, DatabaseUnavailable, QueryRefused } from '../../tables/clickhouse.js'
import {
  announcedRankings,
  dropRankingPart,
  dropRankings,
  newestRanking,
  type Ranking,
  rankingParts,
  rowsAbove,
} from '../../tables/lists/ranking.js'
import {
  beginBuild,
  type Build,
  buildStep,
  isFinished,
  openBuilds,
  STEP_TABLES,
} from '../../tables/lists/ranking-steps.js'
import { balanceFloor, dropBalances, NO_BALANCES, setBalanceFloor } from '../../tables/lists/balance-floor.js'
import { assertNewestWriter } from '../../tables/writers.js'
import { ListBuilder } from './list-builder.js'

/** The minimum number of balances changed since a ranking for a new one: readers of the rich list apply them on top of it. */
const RANKING_TAIL = 25_000
/** The number of rows per step, which takes a second of one core and 200 MB. Halved after a step was refused or took too long. */
const STEP_ROWS = 250_000
const MIN_STEP_ROWS = 100
/** The time for which a superseded ranking is kept for queries that have chosen it: longer than any query may take. */
const KEPT_MS = 600_000
/** The minimum time between dropping a ranking's entry and its rows. */
const CLEANING_MS = 60_000
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 3_600_000

export interface RankingBuilderOptions {
  /** Returns the writer number of the chain; by default 0, for a database without a writer. */
  readonly writer?: () => bigint
  /** Called at each failure; the step is retried. */
  readonly onFailure?: (error: unknown) => void
  readonly tail?: number | undefined
  readonly stepRows?: number
  readonly keptMs?: number
  readonly cleaningMs?: number
  readonly firstRetryMs?: number
  /** Additional ClickHouse settings of each step. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** The pause after a step as a multiple of the time that it took; 1 by default. */
  readonly rest?: number
  /** Called after each step; for tests. */
  readonly afterStep?: () => void | Promise<void>
}

/**
 * Builds rankings in recorded steps, so that a build continues after a restart. A build is dropped when its block leaves the
 * chain.
 */
export class RankingBuilder extends ListBuilder {
  readonly #options: Required<Omit<RankingBuilderOptions, 'settings' | 'tail'>> & { readonly tail: number }
  /** The newest ranking of the chain on which one can be based; undefined for none, and until it is read. */
  #newest: Ranking | undefined
  #knowsNewest = false
  /** The number of balances changed since the newest ranking. */
  #rows = 0
  /** The current build. */
  #build: Build | undefined
  /** True if builds of earlier processes were read. */
  #knowsBuild = false
  #stepRows: number
  #failures = 0
  #cleanAt: number | undefined = Number.NEGATIVE_INFINITY
  /** The times since which rankings are superseded, by hash; and partitions without entry that the last cleaning found. */
  #unused = new Map<string, number>()
  #forgotten = new Set<string>()

  constructor(db: Database, logger: Logger, options: RankingBuilderOptions = {}) {
    const { onFailure = () => undefined, settings } = options
    super({ db, logger, name: 'the ranking', onFailure, settings })
    this.#options = {
      writer: () => 0n,
      stepRows: STEP_ROWS,
      keptMs: KEPT_MS,
      cleaningMs: CLEANING_MS,
      firstRetryMs: FIRST_RETRY_MS,
      rest: 1,
      afterStep: () => undefined,
      ...options,
      onFailure,
      tail: options.tail ?? RANKING_TAIL,
    }
    this.#stepRows = this.#options.stepRows
  }

  /**
   * Starts or continues the work that is due. Call it after each head, and regularly without one.
   * @param rows the number of rows of balances written since the last call.
   * @param isFilling whether the index is far behind the node.
   */
  consider(view: ChainView, rows: number, isFilling: boolean): void {
    this.#rows += rows
    const newest = this.#newest
    if (newest !== undefined && newest.size > 0 && !view.isCanonical(newest.height, newest.hash))
      this.#knowsNewest = false
    this.proceed(view, isFilling)
  }

  /**
   * Drops a build of a block above a height. Call it before rows are written at or below the final height, which steps rely on.
   */
  async abandonAbove(height: number): Promise<void> {
    await this.pause(async () => {
      const builds = await openBuilds(this.db)
      for (const build of builds.filter((each) => each.height > height)) await this.#drop(build)
      this.#build = undefined
      this.#knowsBuild = false
    })
  }

  /** Waits for the current step, and reads again afterwards which rankings and builds can be continued. */
  async changeFloor(change: () => Promise<void>): Promise<void> {
    await this.pause(async () => {
      await change()
      this.#build = undefined
      this.#knowsBuild = false
      this.#knowsNewest = false
    })
  }

  protected override isDue(): boolean {
    return this.#isBuildDue() || performance.now() >= (this.#cleanAt ?? Number.POSITIVE_INFINITY)
  }

  #isBuildDue(): boolean {
    if (!this.#knowsNewest || !this.#knowsBuild || this.#build !== undefined) return true
    if (this.#newest === undefined) return true
    // Grows with the cost of a build, but more slowly, because each page of the rich list costs this much.
    const { tail } = this.#options
    return this.#rows >= Math.max(tail, Math.sqrt((tail / 5) * this.#newest.size))
  }

  protected override async work(): Promise<void> {
    const { afterStep, rest } = this.#options
    await this.#prepare()
    for (let build = this.#build; build !== undefined && this.canProceed; build = this.#build) {
      const open = build
      await this.rested(async () => {
        await this.#step(open)
        await afterStep()
      }, rest)
    }
    if (this.canProceed) await this.#clean()
    this.#failures = 0
  }

  /** Reads the open builds and the newest ranking, and starts a build if one is due. */
  async #prepare(): Promise<void> {
    const view = this.view
    if (!this.#knowsBuild) {
      const [floor, builds] = await Promise.all([balanceFloor(this.db), openBuilds(this.db)])
      this.#build = builds.findLast(({ height, hash }) => height >= floor && view.isCanonical(height, hash))
      for (const each of builds) if (each !== this.#build) await this.#drop(each)
      this.#knowsBuild = true
    }
    const filter = filterOf(view)
    if (!this.#knowsNewest) {
      const newest = await newestRanking(this.db, filter)
      this.#rows = newest === undefined ? 0 : await rowsAbove(this.db, newest, filter)
      this.#newest = newest
      this.#knowsNewest = true
      this.#cleanAt ??= performance.now()
    }
    // The build is announced, but its steps are not dropped yet.
    if (this.#build !== undefined && this.#build.hash === this.#newest?.hash)
      await this.#dropOpen(this.#build)
    if (this.#build !== undefined || !this.#isBuildDue()) return
    const at = this.#newest === undefined ? await this.#firstBlock() : tipOf(view)
    if (at === undefined || at.hash === this.#newest?.hash) return
    this.#build = await beginBuild(this.db, filter, at, this.#options.writer())
    this.#rows = 0
  }

  /**
   * Returns the block of a ranking that is based on no other one: the highest final one, so that no reorganisation above it leaves
   * readers without a ranking. Undefined while the changes above it are missing.
   */
  async #firstBlock(): Promise<BlockId | undefined> {
    const { head } = this.view
    const height = Math.max(head.finalHeight, await balanceFloor(this.db))
    if (height >= head.tipHeight) return height === head.tipHeight ? tipOf(this.view) : undefined
    const sql = `SELECT lower(hex(hash)) AS id FROM blocks WHERE height = {height:UInt32} AND ${filterOf(this.view)} LIMIT 1`
    const [block] = await this.db.query<{ id: string }>(sql, { height })
    return block && { height, hash: block.id }
  }

  async #step(build: Build): Promise<void> {
    const view = this.view
    if (!view.isCanonical(build.height, build.hash)) return this.#dropOpen(build)
    const { writer } = this.#options
    const on = { writer: writer(), network: networkNamed(view.head.chain) }
    const next = await buildStep(this.db, filterOf(view), build, this.#stepRows, on)
    if (!isFinished(next)) {
      this.#build = next
      return
    }
    this.logger.info(next, 'ranking built')
    this.#newest = next
    this.#knowsNewest = true
    this.#stepRows = this.#options.stepRows
    this.#rows = await rowsAbove(this.db, next, filterOf(this.view))
    this.#cleanAt = performance.now()
    await this.#dropOpen(build)
  }

  async #dropOpen(build: Build): Promise<void> {
    await this.#drop(build)
    this.#build = undefined
  }

  /** Drops the rows of a build's steps. The next cleaning drops the ranks of an unfinished build. */
  async #drop({ height, hash }: Build): Promise<void> {
    for (const table of STEP_TABLES) {
      for (const part of await rankingParts(this.db, table))
        if (part.height === height && part.hash === hash) await dropRankingPart(this.db, table, part)
    }
    this.#cleanAt = performance.now()
  }

  /** Delays retries: a build that fails at each head would take up the database. */
  protected override async recover(error: unknown): Promise<number> {
    const isDatabase = error instanceof DatabaseUnavailable || error instanceof QueryRefused
    if (isDatabase) this.#stepRows = Math.max(MIN_STEP_ROWS, Math.floor(this.#stepRows / 2))
    else if (this.#build !== undefined) await this.#drop(this.#build).catch(() => undefined)
    // A step may have been recorded although it failed.
    this.#build = undefined
    this.#knowsBuild = false
    return Math.min(this.#options.firstRetryMs * 2 ** this.#failures++, MAX_RETRY_MS)
  }

  /**
   * Drops rankings other than the chain's newest ranking and its newest final ranking (which a reorganisation makes the newest
   * again), some minutes after they were superseded. The next cleaning drops the rows of dropped rankings and builds.
   */
  async #clean(): Promise<void> {
    const now = performance.now()
    const view = this.view
    const { keptMs, cleaningMs, writer } = this.#options
    // A superseded materializer would consider rankings of the current chain unused.
    await assertNewestWriter(this.db, writer())
    const announced = await announcedRankings(this.db)
    const canonical = announced.filter(({ height, hash }) => view.isCanonical(height, hash))
    const used = [canonical[0], canonical.find(({ height }) => height <= view.head.finalHeight)]
    const unused = announced.filter((each) => !used.includes(each))
    this.#unused = new Map(unused.map(({ hash }) => [hash, this.#unused.get(hash) ?? now]))
    const over = unused.filter(({ hash }) => now - (this.#unused.get(hash) ?? now) >= keptMs)
    await dropRankings(this.db, over)
    const hashes = new Set(announced.filter((each) => !over.includes(each)).map(({ hash }) => hash))
    const parts = await rankingParts(this.db, 'ranked_balances')
    const orphans = parts.filter(({ hash }) => !hashes.has(hash))
    const doomed = orphans.filter(({ id }) => this.#forgotten.has(id))
    for (const part of doomed) await dropRankingPart(this.db, 'ranked_balances', part)
    this.#forgotten = new Set(orphans.filter((each) => !doomed.includes(each)).map(({ id }) => id))
    await this.#dropBalances(
      announced.filter((each) => !over.includes(each)),
      used[1],
    )
    const isDone = this.#forgotten.size === 0 && unused.length === over.length
    this.#cleanAt = isDone ? undefined : now + cleaningMs
  }

  /**
   * Drops the balances that no ranking needs. Only with a final one, so that a reorganisation finds a ranking to continue from.
   * @param rankings the announced rankings.
   */
  async #dropBalances(rankings: readonly Ranking[], final: Ranking | undefined): Promise<void> {
    const { keptMs, writer } = this.#options
    const lowest = Math.min(...rankings.map(({ height }) => height))
    const floor = await balanceFloor(this.db)
    if (final !== undefined && floor < lowest && floor !== NO_BALANCES)
      await setBalanceFloor(this.db, lowest, writer())
    await dropBalances(this.db, Math.ceil(keptMs / 1000))
  }
}

const tipOf = ({ head }: ChainView): BlockId => ({ height: head.tipHeight, hash: head.tipHash })

const filterOf = (view: ChainView): string => view.tagFilter()
