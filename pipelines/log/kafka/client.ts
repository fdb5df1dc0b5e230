import { hostname } from 'node:os'
import kafkajs, { type Kafka, type KafkaConfig, type logCreator, type Producer } from 'kafkajs'
// Not in the driver's public face, whose only reader is a member of a consumer group: see content/decisions/0013.
import Cluster from 'kafkajs/src/cluster/index.js'
import defaultSocketFactory from 'kafkajs/src/network/socketFactory.js'
import type { Logger } from '../../logger.js'

// CommonJS: Node does not see its names.
export const { CompressionTypes, ConfigResourceTypes } = kafkajs
export type { Admin, Consumer, Producer } from 'kafkajs'

export type SaslMechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512'

/** How brokers are reached. */
export interface KafkaAccess {
  /** `host:port` each; any one of them tells of the others. */
  readonly brokers: readonly string[]
  readonly ssl: boolean
  readonly sasl: { mechanism: SaslMechanism; username: string; password: string } | undefined
}

/** Tries of one request within the driver. Whoever asked for it tries again, with a longer breath, and says so. */
const RETRY = { retries: 4, initialRetryTime: 100, maxRetryTime: 1000 }
const CONNECT_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 15_000
/** Leaders are also looked for again after every failure. */
const METADATA_MAX_AGE_MS = 60_000

/** The one place that knows the driver: makes its clients. */
export class KafkaClient {
  readonly kafka: Kafka
  readonly #config: KafkaConfig

  constructor({ brokers, ssl, sasl }: KafkaAccess, logger: Logger) {
    this.#config = {
      // So that an operator sees in the group which process is which.
      clientId: `headwater-${hostname()}-${String(process.pid)}`,
      brokers: [...brokers],
      ssl,
      ...(sasl === undefined ? {} : { sasl: sasl as NonNullable<KafkaConfig['sasl']> }),
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      retry: RETRY,
      logLevel: kafkajs.logLevel.WARN,
      logCreator: loggingTo(logger),
    }
    this.kafka = new kafkajs.Kafka(this.#config)
  }

  /** An idempotent one: what it sends again after a lost answer the brokers take once. */
  producer(): Producer {
    return this.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // The driver would try for ever, deaf to a process that is to stop. Who gives up must not use the producer again.
      retry: RETRY,
    })
  }

  /** Connections to all brokers, for requests that are made one by one. */
  cluster(): Cluster {
    const { brokers, ssl, sasl, clientId, connectionTimeout, requestTimeout, retry } = this.#config
    return new Cluster({
      ...{ brokers, ssl, sasl, clientId, connectionTimeout, requestTimeout, retry },
      enforceRequestTimeout: true,
      metadataMaxAge: METADATA_MAX_AGE_MS,
      allowAutoTopicCreation: false,
      maxInFlightRequests: null,
      isolationLevel: 0,
      logger: this.kafka.logger(),
      socketFactory: defaultSocketFactory(),
    })
  }
}

/** The driver calls every lost connection an error; here what matters is said by whoever asked, so it is all `debug`. */
function loggingTo(logger: Logger): logCreator {
  return () =>
    ({ namespace, log }) => {
      logger.debug({ ...log, message: undefined, timestamp: undefined, namespace }, log.message)
    }
}
