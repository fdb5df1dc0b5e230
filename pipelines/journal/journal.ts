import { setImmediate } from 'node:timers/promises'
import type { PoolEntry } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { networkNamed } from '../chain/networks.js'
import { WrongChainError } from '../errors.js'
import { endsBefore } from '../log/replacement.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import { type LeanTx, leanTx } from '../mempool/lean-tx.js'
import { MempoolEvents } from '../mempool/mempool-events.js'
import { pause } from '../pause.js'
import type { Database } from '../tables/clickhouse.js'
import { createMempoolTables, JOURNAL, journalPosition } from '../tables/mempool/tables.js'
import { EncodedRows } from '../tables/rowbinary.js'
import type { Book } from './book.js'

const READ_AT_ONCE = 256
const READ_BYTES = 4 * 2 ** 20
/** The size of unwritten rows at which they are written at once. */
const FLUSH_BYTES = 8 * 2 ** 20
/** The time for which rows are gathered. Explorers have the newest in memory. */
const FLUSH_MS = 2_000
const RECORD_MS = 60_000
const WAIT_MS = 1_000
const MAX_BACKOFF_MS = 30_000
/** The interval at which what is too old is deleted. */
const RETAIN_MS = 600_000

export interface MempoolJournalOptions {
  /** The database of the mempool's history; it need not exist. */
  readonly db: Database
  /** Returns the name of the network; undefined while it is not known. */
  readonly chain: () => Promise<string | undefined>
  /** Returns whether the server belongs to a cluster. */
  readonly isCluster: () => Promise<boolean>
  readonly log: EventLog
  readonly logger: Logger
  readonly books: readonly Book[]
  /** Called at the start and then every few minutes, to delete what is too old. */
  readonly retain?: () => Promise<void>
  readonly observer?: {
    /** Called when a step failed; it is retried. */
    failed(error: unknown): void
  }
  /** The time for which rows are gathered, in milliseconds; by default 2,000. */
  readonly flushMs?: number
  /** The time after which the position is recorded although there were no rows, in milliseconds; by default 60,000. */
  readonly recordMs?: number
}

/**
 * Writes the history of the mempool from topic `node`. Delivery: at least once, and rows are pure functions of the log, so exactly
 * once in effect. Its errors are reported and retried, and never affect the chain.
 */
export class MempoolJournal {
  readonly #options: MempoolJournalOptions
  #position = -1

  constructor(options: MempoolJournalOptions) {
    this.#options = options
  }

  /** The position of topic `node` up to which the tables are known to be written; -1 for none. */
  get position(): number {
    return this.#position
  }

  /** Follows the log until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger, observer } = this.#options
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#follow(signal, () => {
          failures = 0
        })
      } catch (error) {
        observer?.failed(error)
        const waitMs = Math.min(MAX_BACKOFF_MS, 500 * 2 ** failures++)
        logger.warn({ err: error, waitMs }, 'writing the history of the mempool failed, retrying')
        await pause(waitMs, signal)
      }
    }
  }

  /** Follows the log from the recorded position. Returns when the log was replaced, or the signal aborts. */
  async #follow(signal: AbortSignal, onWritten: () => void): Promise<void> {
    const { db, log, logger, books, flushMs = FLUSH_MS, recordMs = RECORD_MS, retain } = this.#options
    const chain = await this.#chain(signal)
    if (chain === undefined) return
    await createMempoolTables(db, await this.#options.isCluster())
    const events = new MempoolEvents(log, logger)
    const network = networkNamed(chain)
    const lean = (entry: PoolEntry): LeanTx | undefined => leanTx(entry, network)
    this.#position = await this.#recorded(chain)
    for (const book of books) book.reset(chain)
    let next = this.#position < 0 ? await log.first('node') : await events.snapshotBefore(this.#position)
    let last = { position: this.#position, time: 0 }
    let [writtenAt, retainedAt] = [performance.now(), Number.NEGATIVE_INFINITY]
    while (!signal.aborted) {
      const records = await log.read('node', next, READ_AT_ONCE, READ_BYTES)
      for (const record of records) {
        const isWritten = record.position <= this.#position
        for (const event of events.eventsWith([record], lean))
          for (const book of books) await book.apply(event, isWritten)
        // A record of a snapshot has a thousand transactions.
        await setImmediate()
        next = record.position + 1
        if (!isWritten) last = { position: record.position, time: record.time }
      }
      const bytes = books.reduce((sum, book) => sum + book.bytes, 0)
      const dueMs = (bytes > 0 ? flushMs : recordMs) - (performance.now() - writtenAt)
      if (last.position > this.#position && (dueMs <= 0 || bytes >= FLUSH_BYTES)) {
        await Promise.all(books.map((book) => book.flush()))
        await db.insert(new EncodedRows(JOURNAL, [{ id: 0, chain, ...last }]))
        this.#position = last.position
        writtenAt = performance.now()
        onWritten()
      }
      if (retain !== undefined && performance.now() - retainedAt > RETAIN_MS) {
        // What is too old may stay; what is new must be written.
        await retain().catch((error: unknown) => {
          this.#options.observer?.failed(error)
          logger.warn({ err: error }, 'cannot delete old history of the mempool')
        })
        retainedAt = performance.now()
      }
      if (records.length > 0) continue
      await log.wait('node', next, Math.min(WAIT_MS, Math.max(1, dueMs)), signal)
      if (await endsBefore(log, 'node', next)) return
    }
  }

  /** Waits for the name of the network. @returns undefined if the signal aborts first. */
  async #chain(signal: AbortSignal): Promise<string | undefined> {
    for (; !signal.aborted; await pause(WAIT_MS, signal)) {
      const chain = await this.#options.chain()
      if (chain !== undefined) return chain
    }
    return undefined
  }

  /**
   * Returns the recorded position; -1 if there is none, or if the log was replaced, or has dropped the events after it.
   * @throws WrongChainError for the tables of another network.
   */
  async #recorded(chain: string): Promise<number> {
    const { db, log } = this.#options
    const recorded = await journalPosition(db)
    if (recorded === undefined) return -1
    if (recorded.chain !== chain)
      throw new WrongChainError(
        `database ${db.name} contains the history of ${recorded.chain}, the log contains ${chain}: drop the database, or use another CLICKHOUSE_DATABASE`,
      )
    const [record] = await log.read('node', recorded.position, 1)
    return record?.position === recorded.position && record.time === recorded.time ? recorded.position : -1
  }
}
