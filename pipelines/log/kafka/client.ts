import { hostname } from 'node:os'
import kafkajs, { type Kafka, type KafkaConfig, type logCreator, type Producer } from 'kafkajs'
// Not part of the driver's public API, whose only reader is a member of a consumer group: see content/decisions/0013.
import Cluster from 'kafkajs/src/cluster/index.js'
import defaultSocketFactory from 'kafkajs/src/network/socketFactory.js'
import type { Logger } from '../../logger.js'

// Node cannot import names of this CommonJS module.
export const { CompressionTypes, ConfigResourceTypes } = kafkajs
export type { Admin, Consumer, Producer } from 'kafkajs'

export type SaslMechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512'

/** Addresses and credentials of the brokers. */
export interface KafkaAccess {
  /** `host:port` of one or more brokers, from which the driver learns all others. */
  readonly brokers: readonly string[]
  readonly ssl: boolean
  readonly sasl: { mechanism: SaslMechanism; username: string; password: string } | undefined
}

/** Retries of one request within the driver. The caller retries after longer pauses, and logs it. */
const RETRY = { retries: 4, initialRetryTime: 100, maxRetryTime: 1000 }
const CONNECT_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 15_000
/** The maximum age of the metadata. It is also refreshed after every failure. */
const METADATA_MAX_AGE_MS = 60_000

/** Creates clients of the driver; the only code that imports it. */
export class KafkaClient {
  readonly kafka: Kafka
  readonly #config: KafkaConfig

  constructor({ brokers, ssl, sasl }: KafkaAccess, logger: Logger) {
    this.#config = {
      // Shows operators which process is which member of a group.
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

  /** Returns an idempotent producer: brokers store a batch once, even if it is sent again after a lost response. */
  producer(): Producer {
    return this.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // By default the driver retries indefinitely, even while the process stops. After a failure the producer must not be
      // reused.
      retry: RETRY,
    })
  }

  /** Returns connections to all brokers, for single requests. */
  cluster(): Cluster {
    const { brokers, ssl, sasl, clientId, connectionTimeout, requestTimeout, retry } = this.#config
    return new Cluster({
      brokers,
      ssl,
      sasl,
      clientId,
      connectionTimeout,
      requestTimeout,
      retry,
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

/** Logs all messages of the driver at level `debug`: it calls every lost connection an error, and callers log what matters. */
function loggingTo(logger: Logger): logCreator {
  return () =>
    ({ namespace, log }) => {
      logger.debug({ ...log, message: undefined, timestamp: undefined, namespace }, log.message)
    }
}
