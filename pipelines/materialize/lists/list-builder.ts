import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../logger.js'
import type { ChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'

/** Other queries go first, for a moment at each block of rows, and a step has one core at most. */
const STEP_SETTINGS = {
  ...{ priority: '2', low_priority_query_wait_time_ms: 50 },
  ...{ max_threads: 1, max_insert_threads: 1, max_memory_usage: '1000000000' },
}

export interface ListBuilderParts {
  readonly db: Database
  readonly logger: Logger
  /** What is built, for the log. */
  readonly name: string
  /** Called at each failure; it is tried again. */
  readonly onFailure: (error: unknown) => void
  /** Of ClickHouse, for each step. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined
}

/**
 * Builds lists beside the applying of events, so that nothing has to wait for them: in steps, on connections of its own. A list is
 * true of its block whatever is applied meanwhile. None is built while the chain is filled.
 */
export abstract class ListBuilder {
  protected readonly db: Database
  protected readonly logger: Logger
  readonly #parts: ListBuilderParts
  #view: ChainView | undefined
  #isFilling = false
  #isPaused = false
  #isClosed = false
  #retryAt = Number.NEGATIVE_INFINITY
  #running: Promise<void> | undefined

  protected constructor(parts: ListBuilderParts) {
    const { db, logger, settings } = parts
    this.#parts = parts
    this.logger = logger
    this.db = db.sibling(db.name, { ...STEP_SETTINGS, ...settings })
  }

  /** Resolves when nothing is being built. */
  async idle(): Promise<void> {
    await this.#running
  }

  /** Ends after the step that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
    await this.db.close()
  }

  /** Ends after the step that is under way, and goes on when it is considered again. Call before rows are written that a step would take for final. */
  async pause(meanwhile?: () => Promise<void>): Promise<void> {
    this.#isPaused = true
    try {
      await this.#running
      await meanwhile?.()
    } finally {
      this.#isPaused = false
    }
  }

  protected abstract isDue(): boolean

  /** Does what is due, as long as it can go on. */
  protected abstract work(): Promise<void>

  /** Prepares to try again. @returns after how many milliseconds. */
  protected abstract recover(error: unknown): number | Promise<number>

  protected get canGoOn(): boolean {
    return !this.#isPaused && !this.#isClosed && !this.#isFilling
  }

  /** What the newest head shows. */
  protected get view(): ChainView {
    if (this.#view === undefined) throw new Error('there is no head yet')
    return this.#view
  }

  /** Begins what is due, or goes on with it. @param isFilling the index is far behind the node. */
  protected goOn(view: ChainView, isFilling: boolean): void {
    this.#view = view
    this.#isFilling = isFilling
    if (this.#running !== undefined || !this.canGoOn || view.head.tipHeight < 0) return
    if (performance.now() < this.#retryAt || !this.isDue()) return
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Rests after a step, as long as it took or a multiple of that. */
  protected async rested(step: () => Promise<void>, multiple = 1): Promise<void> {
    const began = performance.now()
    await step()
    await sleep((performance.now() - began) * multiple)
  }

  async #run(): Promise<void> {
    try {
      await this.db.pinEngineRun()
      await this.work()
    } catch (error) {
      const { logger, name, onFailure } = this.#parts
      const retryMs = await this.recover(error)
      this.#retryAt = performance.now() + retryMs
      logger.warn({ err: error, retryMs }, `${name} could not be built`)
      onFailure(error)
    }
  }
}
