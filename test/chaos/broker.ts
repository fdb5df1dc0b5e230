import { KafkaCluster } from '../harness/kafka.js'
import { until } from '../harness/until.js'

/** The log's server, where the log has one: what can happen to it. Each acts on one broker, and returns when it is done. */
export interface Broker {
  /** LOG_URL of the processes. */
  readonly url: string
  /** kill -9; whoever runs it starts it again. */
  kill(): Promise<void>
  /** Ends it as an operator would; it is started again. */
  restart(): Promise<void>
  /** It does not answer any more, and its connections stay. */
  pause(): Promise<void>
  resume(): void
  close(): Promise<void>
}

const RESTART_MS = 120_000

/** Kafka as `npm run kafka` runs it: brokers that are started again when they die. */
export class KafkaBrokers implements Broker {
  #turn = 0
  #frozen: number | undefined

  private constructor(
    private readonly cluster: KafkaCluster,
    private readonly brokers: number,
  ) {}

  /** @throws Error where it cannot be had. */
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

  /** One after the other. */
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
