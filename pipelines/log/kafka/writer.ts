import { CompressionTypes, type KafkaClient, type Producer } from './client.js'
import { PARTITION } from '../port.js'

/**
 * Appends to topics. Delivery: a batch is one record batch of Kafka, so it is there whole, once and in order, or not at all:
 * the producer is idempotent, and acknowledged by all replicas that are in step. After an error nobody knows which; what was
 * sent may even come later. So the events themselves carry epoch and sequence, and readers drop what comes twice or too late.
 */
export class KafkaWriter {
  readonly #client: KafkaClient
  #producer: Promise<Producer> | undefined
  #pen: Promise<unknown> = Promise.resolve()

  constructor(client: KafkaClient) {
    this.#client = client
  }

  /** @returns the offset of the last value. */
  append(topic: string, values: readonly Uint8Array[]): Promise<number> {
    const written = this.#pen.then(() => this.#send(topic, values))
    this.#pen = written.catch(() => undefined)
    return written
  }

  async close(): Promise<void> {
    await this.#pen
    await this.#forget()
  }

  async #send(topic: string, values: readonly Uint8Array[]): Promise<number> {
    this.#producer ??= this.#connect()
    try {
      const producer = await this.#producer
      const [written] = await producer.send({
        topic,
        acks: -1,
        compression: CompressionTypes.GZIP,
        messages: values.map((value) => ({
          value: Buffer.from(value.buffer, value.byteOffset, value.length),
          partition: PARTITION,
        })),
      })
      if (written?.baseOffset === undefined)
        throw new Error(`the brokers did not return the offset in ${topic}`)
      return Number(written.baseOffset) + values.length - 1
    } catch (error) {
      // Its numbering may now be one behind the broker's: the next batch would be taken for this one, and dropped.
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
