import { generationOf, offsetOf } from '../events/positions.js'
import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import type { Database } from '../tables/clickhouse.js'
import type { Head } from '../tables/head.js'
import { SHOWN_HEADS } from '../tables/writers.js'

/** The number of new blocks after which the log is cut again. */
const CUT_EVERY = 16

export interface LogCutParts {
  readonly db: Database
  readonly log: EventLog
  readonly logger: Logger
  /** The number of blocks that the log retains; undefined for all. */
  readonly logBlocks?: number | undefined
}

/**
 * Drops the events of topic `chain` that the index does not need any more: those up to a head that is some number of blocks below the
 * tip. Every block of the chain above that head was connected after it, so a reorganisation of fewer blocks, a repair of the newest
 * rows and a restart find their events. What is older comes from the node again, if a repair or another index needs it.
 */
export class LogCut {
  #cutAt = Number.NEGATIVE_INFINITY

  constructor(private readonly parts: LogCutParts) {}

  /** Cuts the log if the index has enough new blocks. Logs errors: the index continues without. @param head the newest published head. */
  async consider(head: Head | undefined): Promise<void> {
    const { logger, logBlocks } = this.parts
    if (logBlocks === undefined || head === undefined || head.tipHeight < this.#cutAt + CUT_EVERY) return
    this.#cutAt = head.tipHeight
    try {
      await this.#cut(head, logBlocks)
    } catch (error) {
      logger.warn({ err: error }, 'cannot drop old events of topic chain; trying again later')
    }
  }

  async #cut(head: Head, logBlocks: number): Promise<void> {
    const { db, log, logger } = this.parts
    const [row] = await db.query<{ newest: string }>(
      `SELECT toString(heads.position) AS newest FROM heads
       WHERE tip_height <= {height:Int64} AND heads.position <= {position:Int64} AND ${SHOWN_HEADS}
       ORDER BY heads.position DESC LIMIT 1`,
      { height: head.tipHeight - logBlocks, position: head.position },
    )
    const position = Number(row?.newest ?? -1)
    // Positions of a log that this one has replaced say nothing about it.
    if (position < 0 || generationOf(position) !== generationOf(head.position)) return
    const before = offsetOf(position)
    if (before <= (await log.first('chain'))) return
    await log.drop('chain', before)
    logger.debug({ before }, 'dropped old events of topic chain')
  }
}
