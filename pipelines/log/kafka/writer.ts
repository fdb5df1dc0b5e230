import { CompressionTypes, type KafkaClient, type Producer } from './client.js'
import { PARTITION } from '../port.js'

/**
 * Appends to topics. Delivery: a batch is one record batch of Kafka, so it is written once, completely and in order, or not at
 * all: the producer is idempotent, and all in-sync replicas acknowledge. After an error the outcome is unknown; the batch may
 * even arrive later. Therefore each event contains its epoch and sequence, and readers drop events that arrive twice or too
 * late.
 */
export class KafkaWriter {
  readonly #client: KafkaClient
  #producer: Promise<Producer> | undefined
  #queue: Promise<unknown> = Promise.resolve()

  constructor(client: KafkaClient) {
    this.#client = client
  }

  /** Appends values to a topic. @returns the offset of the last one. */
  append(topic: string, values: readonly Uint8Array[]): Promise<number> {
    const position = this.#queue.then(() => this.#send(topic, values))
    this.#queue = position.catch(() => undefined)
    return position
  }

  async close(): Promise<void> {
    await this.#queue
    await this.#forget()
  }

  async #send(topic: string, values: readonly Uint8Array[]): Promise<number> {
    this.#producer ??= this.#connect()
    try {
      const producer = await this.#producer
      const [ack] = await producer.send({
        topic,
        acks: -1,
        compression: CompressionTypes.GZIP,
        messages: values.map((value) => ({
          value: Buffer.from(value.buffer, value.byteOffset, value.length),
          partition: PARTITION,
        })),
      })
      if (ack?.baseOffset === undefined) throw new Error(`the brokers did not return the offset in ${topic}`)
      return Number(ack.baseOffset) + values.length - 1
    } catch (error) {
      // The producer's sequence may now be behind the broker's, which would drop the next batch as a duplicate of this one.
      await this.#forget()
      throw error
    }
  }

  async #connect(): Promise<Producer> {
    const producer = this.#client.producer()
    await producer.connect()
    return producer
  }

  async #forget(): Promise<void> {
    const before = this.#producer
    this.#producer = undefined
    await before?.then((producer) => producer.disconnect()).catch(() => undefined)
  }
}
