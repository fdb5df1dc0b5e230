import { pause } from '../../pause.js'
import { isDefect } from '../../errors.js'
import type { Logger } from '../../logger.js'
import { NodeClient } from '../../node/client.js'
import { NodeRefusedError, NodeRpcError } from '../../node/errors.js'
import type { Alarm, AnnouncementSource } from './alarm.js'

export interface BlockWaitOptions {
  /** The URL of the node's RPC. */
  readonly url: string
  readonly logger: Logger
  /** The maximum time of one call, in milliseconds. */
  readonly waitMs?: number
}

/**
 * Short, because a node does not notice that the caller of a waiting call has disconnected: its thread stays occupied until the
 * time is over.
 */
const WAIT_MS = 5_000
/** The time after which an abandoned call has ended, as a multiple of its own: it may have reached the node late. */
const ABANDONED = 1.25
/** Additional time for the reply, in which the call may be queued behind others. */
const REPLY_MS = 10_000
/** The number of consecutive replies without a new tip, long before the time was over, after which the method is not used. */
const MAX_EARLY = 3

/**
 * Learns of new blocks by `waitfornewblock`, which occupies one of the node's RPC threads: there is at most one call at a time, on
 * a connection of its own, and none while the log is behind, when all threads fetch blocks. To keep this limit across restarts and
 * errors, a call is only sent when an earlier, abandoned call must have ended. The next call is sent before the poller fetches
 * the new block, so a block that follows at once is announced too.
 */
export class BlockWait implements AnnouncementSource {
  readonly #options: BlockWaitOptions
  readonly #waitMs: number

  constructor(options: BlockWaitOptions) {
    this.#options = options
    this.#waitMs = options.waitMs ?? WAIT_MS
  }

  async run(alarm: Alarm, signal: AbortSignal): Promise<void> {
    const { url } = this.#options
    const node = new NodeClient(url, { timeoutMs: this.#waitMs + REPLY_MS, maxAttempts: 1 })
    try {
      await this.#wait(node, alarm, signal)
    } finally {
      node.close()
    }
  }

  async #wait(node: NodeClient, alarm: Alarm, signal: AbortSignal): Promise<void> {
    let tip: string | undefined
    let early = 0
    let failures = 0
    let pauseMs = ABANDONED * this.#waitMs
    while (early < MAX_EARLY) {
      // Even a sleep of 0 would delay the next call, and a block in between would not be announced.
      if (pauseMs > 0) await pause(pauseMs, signal)
      await alarm.untilLevel(signal)
      if (signal.aborted) return
      pauseMs = 0
      const sentAt = performance.now()
      try {
        const { hash } = await node.newBlock(this.#waitMs, signal)
        if (hash !== tip) alarm.block()
        const isEarly = hash === tip && performance.now() - sentAt < this.#waitMs / 2
        early = isEarly ? early + 1 : 0
        tip = hash
        failures = 0
      } catch (error) {
        if (signal.aborted) return
        if (isDefect(error)) throw error
        if (error instanceof NodeRpcError || error instanceof NodeRefusedError) {
          this.#ended(error.message)
          return
        }
        pauseMs = ABANDONED * this.#waitMs
        // The poller reports that a node is unreachable; here it only delays announcements.
        if (++failures === 1) this.#options.logger.debug({ err: error }, 'waitfornewblock failed, retrying')
      }
    }
    this.#ended('the node answers waitfornewblock without waiting')
  }

  #ended(reason: string): void {
    this.#options.logger.info({ reason }, 'waitfornewblock unavailable, polling only')
  }
}
