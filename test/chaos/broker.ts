import { KafkaCluster } from '../harness/kafka.js'
import { until } from '../harness/until.js'

/** The faults of the log's server, if the log has one. Each acts on one broker and returns when it is over. */
export interface Broker {
  /** LOG_URL for the processes. */
  readonly url: string
  /** Kills the broker (kill -9); its supervisor starts it again. */
  kill(): Promise<void>
  /** Stops the broker as an operator would; it is started again. */
  restart(): Promise<void>
  /** Freezes the broker: it does not respond, and its connections stay open. */
  pause(): Promise<void>
  resume(): void
  close(): Promise<void>
}

const RESTART_MS = 120_000

/** Kafka as `npm run kafka` runs it: brokers that are restarted when they die. */
export class KafkaBrokers implements Broker {
  #turn = 0
  #frozen: number | undefined

  private constructor(
    private readonly cluster: KafkaCluster,
    private readonly brokers: number,
  ) {}

  /** @throws Error if Kafka is not installed and cannot be installed. */
  static async start(dataDir: string, logFile: string, brokers: 1 | 3): Promise<KafkaBrokers> {
    return new KafkaBrokers(await KafkaCluster.start(brokers, dataDir, logFile), brokers)
  }

  get url(): string {
    return this.cluster.url
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async restart(): Promise<void> {
    await this.#end('SIGTERM')
  }

  async pause(): Promise<void> {
    this.#frozen = await this.cluster.pid(this.#next())
    process.kill(this.#frozen, 'SIGSTOP')
  }

  resume(): void {
    if (this.#frozen !== undefined) process.kill(this.#frozen, 'SIGCONT')
    this.#frozen = undefined
  }

  async close(): Promise<void> {
    this.resume()
    await this.cluster.stop()
  }

  /** One broker after the other. */
  #next(): number {
    return 1 + (this.#turn++ % this.brokers)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const broker = this.#next()
    const pid = await this.cluster.pid(broker)
    process.kill(pid, signal)
    const isBack = async (): Promise<boolean> => (await this.cluster.pid(broker)) !== pid
    await until(`broker ${String(broker)} is started again`, isBack, RESTART_MS)
  }
}
