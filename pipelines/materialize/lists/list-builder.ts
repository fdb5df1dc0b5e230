import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../logger.js'
import type { ChainView } from '../../tables/chain-view.js'
import type { Database } from '../../tables/clickhouse.js'

/** ClickHouse settings of each step: at each block of rows it yields briefly to other queries, and it uses one core at most. */
const STEP_SETTINGS = {
  priority: '2',
  low_priority_query_wait_time_ms: 50,
  max_threads: 1,
  max_insert_threads: 1,
  max_memory_usage: '1000000000',
}

export interface ListBuilderParts {
  readonly db: Database
  readonly logger: Logger
  /** The name of the list, for log messages. */
  readonly name: string
  /** Called at each failure; the step is retried. */
  readonly onFailure: (error: unknown) => void
  /** Additional ClickHouse settings of each step. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined
}

/**
 * Builds lists in the background, in steps, on its own connections, so that applying events never waits for it. A list belongs
 * to a block, and stays valid when later events are applied. No list is built during a backfill.
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

  /** Stops after the current step. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#running
    await this.db.close()
  }

  /**
   * Stops after the current step; `proceed` continues. Call it before rows are written at or below the final height, which steps
   * rely on.
   * @param meanwhile runs while no step does.
   */
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

  /** Builds the lists that are due, as long as `canProceed`. */
  protected abstract work(): Promise<void>

  /** Prepares a retry. @returns the time until then in milliseconds. */
  protected abstract recover(error: unknown): number | Promise<number>

  protected get canProceed(): boolean {
    return !this.#isPaused && !this.#isClosed && !this.#isFilling
  }

  /** The state of the newest head. */
  protected get view(): ChainView {
    if (this.#view === undefined) throw new Error('there is no head yet')
    return this.#view
  }

  /** Starts or continues the work that is due. @param isFilling whether the index is far behind the node. */
  protected proceed(view: ChainView, isFilling: boolean): void {
    this.#view = view
    this.#isFilling = isFilling
    if (this.#running !== undefined || !this.canProceed || view.head.tipHeight < 0) return
    if (performance.now() < this.#retryAt || !this.isDue()) return
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Runs a step, and then pauses for as long as it took, or a multiple of that. */
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
