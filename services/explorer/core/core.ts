import type { Logger } from '../../../pipelines/logger.js'
import type { Limiter } from '../../access/rate-limit.js'
import type { Reader } from './answering/reader.js'
import type { SendTransaction } from './commands/send-transaction.js'
import type { AddressFeed } from './feed/address-feed.js'
import type { Feed } from './feed/feed.js'
import type { ScriptFeed } from './feed/script-feed.js'
import type { Lag } from './following/lags.js'
import type { Condition } from './health/condition.js'
import type { Health } from './health/health.js'
import type { NodeCommands } from './node/node-commands.js'
import type { Read } from './reads/read.js'

/** The commands that change something outside of the explorer. */
export interface Commands {
  readonly sendTransaction: SendTransaction
  /** Calls the node with its own answers. */
  readonly node: NodeCommands
  /** Limits the transactions of each client. Not set: no limit. */
  readonly limit: Limiter | undefined
}

/** The part of an explorer that every face uses: no face sees tables, followers or the state behind it. */
export interface Core {
  /** The declared reads. */
  readonly reads: readonly Read[]
  /** Answers a read, or runs an operation of several reads on one state. */
  readonly reader: Reader
  /** The channels. */
  readonly feed: Feed
  /** The changes of scripts. */
  readonly scripts: ScriptFeed
  /** The changes of scripts for clients that name them by addresses. */
  readonly addresses: AddressFeed
  /** Not set: transactions are not broadcast. */
  readonly commands: Commands | undefined
  readonly health: () => Health
  readonly condition: () => Condition
  /** Returns the parts of the log's topics that are not processed yet. */
  readonly lags: () => Promise<readonly Lag[]>
  /** Returns what the replies of the node lack that other versions have, each with its consequence. */
  readonly nodeGaps: () => readonly string[]
  /** The ports of the protocols that have listeners of their own, by the names of the protocols. They are added when all listen. */
  readonly ports: Map<string, number>
  readonly logger: Logger
  /** Counts and logs an error that is no failure of a request. @param what the route or method, for the log. */
  readonly defect: (error: unknown, what: string) => void
}
