import type { EventLog } from '../log/port.js'
import type { Logger } from '../logger.js'
import type { Database } from '../tables/clickhouse.js'
import type { Head } from '../tables/head.js'

export interface MaterializerOptions {
  readonly db: Database
  readonly log: EventLog
  readonly logger: Logger
  /** The name of the network that log and tables must be of; undefined for any. */
  readonly chain?: string | undefined
  /** The number of blocks up to the tip that are not final: readers filter their rows by hash. */
  readonly finalityDepth: number
  /** The number of changed balances since a ranking from which on a new one is built. */
  readonly rankingTail?: number
  /** The number of changes of a script's outputs since a list from which on a new one is built. */
  readonly listTail?: number
  /** False to leave the bodies of transactions to the node, see `OwnRowsOptions`. */
  readonly hasBodies?: boolean | undefined
  /** The number of the newest blocks whose events the log retains, see `LogCut`; undefined for all. */
  readonly logBlocks?: number | undefined
  /** If true, sends an invalid event that the poller refuses to replace to topic `dead-letters`, and continues after it. */
  readonly deadLetterPoison?: boolean
  readonly hooks?: MaterializerHooks
  readonly observer?: MaterializerObserver
}

/** Receives reports of a running materializer. */
export interface MaterializerObserver {
  /** Called after each batch, also an empty one, with the numbers of events, and of blocks connected and disconnected. */
  worked(events: number, blocks: { readonly connected: number; readonly disconnected: number }): void
  /** Called when a step failed and will be retried. */
  failed(error: unknown): void
}

/** Hooks of tests that interrupt the materializer. */
export interface MaterializerHooks {
  /** Called when the rows of a head are written, before the head is. */
  readonly beforeHead?: (head: Head) => void | Promise<void>
  /** Called when a head is written, before it is announced. */
  readonly afterHead?: () => void
  /** Called when a head is announced, before its offset is committed to the log. */
  readonly afterAnnouncement?: () => void
  /** If false, a start does not write rows again: a control that shows that this is needed. */
  readonly repairs?: boolean
}
