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
} from '../../tables/ranking.js'
import {
  beginBuild,
  type Build,
  buildStep,
  isFinished,
  openBuilds,
  STEP_TABLES,
} from '../../tables/ranking-steps.js'
import { assertNewestWriter } from '../../tables/writers.js'
import { ListBuilder } from './list-builder.js'

/** Rows of balances above a ranking from which on a new one is built, at least: what a reader of the rich list lays over it. */
const RANKING_TAIL = 25_000
/** Rows that a step takes: a second of one core, 200 MB. Halved where a step was refused or took too long. */
const STEP_ROWS = 250_000
const LEAST_STEP_ROWS = 100
/** A ranking that nobody chooses any more is still read by whoever chose it before: longer than any query may take. */
const KEPT_MS = 600_000
/** Rows go this long after their ranking's entry, at least. */
const CLEANING_MS = 60_000
const FIRST_RETRY_MS = 60_000
const LONGEST_RETRY_MS = 3_600_000

export interface RankingBuilderOptions {
  /** The number under which the chain is written; left out for a database that nobody has claimed. */
  readonly writer?: () => bigint
  /** Called at each failure; it is tried again. */
  readonly onFailure?: (error: unknown) => void
  readonly tail?: number | undefined
  readonly stepRows?: number
  readonly keptMs?: number
  readonly cleaningMs?: number
  readonly firstRetryMs?: number
  /** Of ClickHouse, for each step. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** How long a step rests, as a multiple of the time that it took; left out: 1. */
  readonly rest?: number
  /** For tests: called when a step is done, before the next one. */
  readonly afterStep?: () => void | Promise<void>
}

/** Builds rankings in steps that are noted, so that a build goes on after a restart, and is dropped where its block leaves the chain. */
export class RankingBuilder extends ListBuilder {
  readonly #options: Required<Omit<RankingBuilderOptions, 'settings' | 'tail'>> & { readonly tail: number }
  /** Undefined until it was looked for. */
  #newest: Ranking | undefined
  /** Rows above the newest ranking. */
  #rows = 0
  /** The one that is open. */
  #build: Build | undefined
  /** Whether those that an earlier process left were looked for. */
  #knowsBuild = false
  #stepRows: number
  #failures = 0
  #cleanAt: number | undefined = Number.NEGATIVE_INFINITY
  /** Rankings that no reader chooses, by hash, since when; partitions without entry that the last cleaning saw. */
  #unused = new Map<string, number>()
  #forgotten = new Set<string>()

  constructor(db: Database, logger: Logger, options: RankingBuilderOptions = {}) {
    const { onFailure = () => undefined, settings } = options
    super({ db, logger, name: 'the ranking', onFailure, settings })
    this.#options = {
      ...{ writer: () => 0n, stepRows: STEP_ROWS, keptMs: KEPT_MS, cleaningMs: CLEANING_MS },
      ...{ firstRetryMs: FIRST_RETRY_MS, rest: 1, afterStep: () => undefined },
      ...{ ...options, onFailure, tail: options.tail ?? RANKING_TAIL },
    }
    this.#stepRows = this.#options.stepRows
  }

  /**
   * Begins or goes on with what is due. Call when a head was shown, and now and then without one.
   * @param written rows of balances since the last call.
   * @param isFilling the index is far behind the node.
   */
  consider(view: ChainView, written: number, isFilling: boolean): void {
    this.#rows += written
    const newest = this.#newest
    if (newest !== undefined && newest.size > 0 && !view.isCanonical(newest.height, newest.hash))
      this.#newest = undefined
    this.goOn(view, isFilling)
  }

  /** Drops a build of a block above this height. Call before rows are written that its steps would take for final. */
  async abandonAbove(height: number): Promise<void> {
    await this.pause(async () => {
      const builds = await openBuilds(this.db)
      for (const build of builds.filter((each) => each.height > height)) await this.#drop(build)
      this.#build = undefined
      this.#knowsBuild = false
    })
  }

  protected override isDue(): boolean {
    return this.#isBuildDue() || performance.now() >= (this.#cleanAt ?? Number.POSITIVE_INFINITY)
  }

  #isBuildDue(): boolean {
    if (this.#newest === undefined || !this.#knowsBuild || this.#build !== undefined) return true
    // Grows with what a build costs, and slower than that, for each page of the rich list costs this much.
    const { tail } = this.#options
    return this.#rows >= Math.max(tail, Math.sqrt((tail / 5) * this.#newest.size))
  }

  protected override async work(): Promise<void> {
    const { afterStep, rest } = this.#options
    await this.#look()
    for (let build = this.#build; build !== undefined && this.canGoOn; build = this.#build) {
      const open = build
      await this.rested(async () => {
        await this.#step(open)
        await afterStep()
      }, rest)
    }
    if (this.canGoOn) await this.#clean()
    this.#failures = 0
  }

  /** Looks for an open build and for the newest ranking, and begins a build where it is time for one. */
  async #look(): Promise<void> {
    const view = this.view
    if (!this.#knowsBuild) {
      const builds = await openBuilds(this.db)
      this.#build = builds.findLast(({ height, hash }) => view.isCanonical(height, hash))
      for (const each of builds) if (each !== this.#build) await this.#drop(each)
      this.#knowsBuild = true
    }
    const filter = filterOf(view)
    if (this.#newest === undefined) {
      const newest = await newestRanking(this.db, filter)
      this.#rows = await rowsAbove(this.db, newest, filter)
      this.#newest = newest
      this.#cleanAt ??= performance.now()
    }
    // Announced, and its steps not dropped.
    if (this.#build?.hash === this.#newest.hash) await this.#dropOpen(this.#build)
    if (this.#build !== undefined || !this.#isBuildDue()) return
    const { tipHeight: height, tipHash: hash } = view.head
    if (hash === this.#newest.hash) return
    this.#build = await beginBuild(this.db, filter, { height, hash }, this.#options.writer())
    this.#rows = 0
  }

  async #step(build: Build): Promise<void> {
    const view = this.view
    if (!view.isCanonical(build.height, build.hash)) return this.#dropOpen(build)
    const { writer } = this.#options
    const next = await buildStep(this.db, filterOf(view), build, this.#stepRows, writer())
    if (!isFinished(next)) {
      this.#build = next
      return
    }
    this.logger.info(next, 'ranking built')
    this.#newest = next
    this.#stepRows = this.#options.stepRows
    this.#rows = await rowsAbove(this.db, next, filterOf(this.view))
    this.#cleanAt = performance.now()
    await this.#dropOpen(build)
  }

  async #dropOpen(build: Build): Promise<void> {
    await this.#drop(build)
    this.#build = undefined
  }

  /** Takes the rows of a build's steps away; its ranks, where it was not finished, go with the next cleaning. */
  async #drop({ height, hash }: Build): Promise<void> {
    for (const table of STEP_TABLES) {
      for (const part of await rankingParts(this.db, table))
        if (part.height === height && part.hash === hash) await dropRankingPart(this.db, table, part)
    }
    this.#cleanAt = performance.now()
  }

  /** Never again at once: a build that fails at each head would have all of the database's time. */
  protected override async recover(error: unknown): Promise<number> {
    const isDatabase = error instanceof DatabaseUnavailable || error instanceof QueryRefused
    if (isDatabase) this.#stepRows = Math.max(LEAST_STEP_ROWS, Math.floor(this.#stepRows / 2))
    else if (this.#build !== undefined) await this.#drop(this.#build).catch(() => undefined)
    // A step may have been noted although it failed.
    this.#build = undefined
    this.#knowsBuild = false
    return Math.min(this.#options.firstRetryMs * 2 ** this.#failures++, LONGEST_RETRY_MS)
  }

  /**
   * Takes away what no reader may use: rankings other than the newest of the chain and the newest that is final (which a
   * reorganisation makes the newest again), some minutes after they were last chosen; then their rows, and those of builds
   * that were dropped, a round later.
   */
  async #clean(): Promise<void> {
    const now = performance.now()
    const view = this.view
    const { keptMs, cleaningMs, writer } = this.#options
    // To one that was superseded those of the chain would seem unused.
    await assertNewestWriter(this.db, writer())
    const announced = await announcedRankings(this.db)
    const canonical = announced.filter(({ height, hash }) => view.isCanonical(height, hash))
    const used = [canonical[0], canonical.find(({ height }) => height <= view.head.finalHeight)]
    const unused = announced.filter((each) => !used.includes(each))
    this.#unused = new Map(unused.map(({ hash }) => [hash, this.#unused.get(hash) ?? now]))
    const over = unused.filter(({ hash }) => now - (this.#unused.get(hash) ?? now) >= keptMs)
    await dropRankings(this.db, over)
    const kept = new Set(announced.filter((each) => !over.includes(each)).map(({ hash }) => hash))
    const parts = await rankingParts(this.db, 'ranked_balances')
    const orphans = parts.filter(({ hash }) => !kept.has(hash))
    const doomed = orphans.filter(({ id }) => this.#forgotten.has(id))
    for (const part of doomed) await dropRankingPart(this.db, 'ranked_balances', part)
    this.#forgotten = new Set(orphans.filter((each) => !doomed.includes(each)).map(({ id }) => id))
    const isDone = this.#forgotten.size === 0 && unused.length === over.length
    this.#cleanAt = isDone ? undefined : now + cleaningMs
  }
}

const filterOf = (view: ChainView): string => view.sqlFilter('height', 'block_hash')
