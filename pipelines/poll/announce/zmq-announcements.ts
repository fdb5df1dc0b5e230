import type { Logger } from '../../logger.js'
import { openZmq, ZmqMissing, type ZmqMessage, type ZmqSubscription } from '../../node/zmq.js'
import type { Alarm, AnnouncementSource } from './alarm.js'

export interface ZmqAnnouncementsOptions {
  /** The endpoint at which the node publishes, such as `tcp://127.0.0.1:28332`. */
  readonly url: string
  readonly logger: Logger
  /** Subscribes to topics of an endpoint; for tests. */
  readonly open?: typeof openZmq
}

/** Topics of Bitcoin Core. A node publishes only the topics that it is configured for. */
const TOPICS = ['hashblock', 'hashtx', 'sequence']
/** Bytes 33 of `sequence`: a block was connected or disconnected. Others are about the mempool. */
const CONNECTED = 'C'.charCodeAt(0)
const DISCONNECTED = 'D'.charCodeAt(0)
const HASH_BYTES = 32

/**
 * Learns of new blocks and transactions from the node's ZMQ publisher. Delivery: none is guaranteed. A publisher drops messages
 * when its queue is full or the connection is lost, and the poller finds the change at its next regular poll.
 */
export class ZmqAnnouncements implements AnnouncementSource {
  readonly #options: ZmqAnnouncementsOptions

  constructor(options: ZmqAnnouncementsOptions) {
    this.#options = options
  }

  async run(alarm: Alarm, signal: AbortSignal): Promise<void> {
    const subscription = this.#opened()
    if (subscription === undefined) return
    const close = (): void => {
      subscription.close()
    }
    signal.addEventListener('abort', close)
    try {
      if (signal.aborted) return
      for await (const message of subscription.messages) announce(message, alarm)
    } finally {
      signal.removeEventListener('abort', close)
      close()
    }
  }

  /** Subscribes, or reports that the package is missing: the poller then only polls. @throws StartRefused for an invalid endpoint. */
  #opened(): ZmqSubscription | undefined {
    const { url, logger, open = openZmq } = this.#options
    try {
      return open(url, TOPICS, {
        connected: () => {
          logger.info({ url }, 'ZMQ publisher of the node connected')
        },
        disconnected: () => {
          logger.warn({ url }, 'ZMQ publisher of the node unreachable, polling and reconnecting')
        },
      })
    } catch (error) {
      if (!(error instanceof ZmqMissing)) throw error
      logger.error({ err: error, code: error.code }, `${error.message}; polling only`)
      return undefined
    }
  }
}

function announce([topic, body]: ZmqMessage, alarm: Alarm): void {
  const kind = body?.[HASH_BYTES]
  const isSequence = topic?.toString('latin1') === 'sequence'
  const isOfMempool = isSequence
    ? kind !== CONNECTED && kind !== DISCONNECTED
    : topic?.toString('latin1') === 'hashtx'
  if (isOfMempool) alarm.mempool()
  else alarm.block()
}
