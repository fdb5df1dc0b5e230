import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { ROOT, ServiceProcess } from './processes.js'
import { until } from './until.js'

/** Kept between runs, removed with the packages. */
export const KAFKA_LIBRARIES = join(ROOT, 'node_modules/.cache/headwater-kafka')
const START_MS = 120_000

/** Real brokers on loopback, as `npm run kafka` starts them. */
export class KafkaCluster {
  private constructor(
    readonly url: string,
    private readonly log: string,
    private readonly process: ServiceProcess,
    private readonly ownFolder: string | undefined,
  ) {}

  /**
   * @param given a folder that the caller removes; by default one that is removed here.
   * @param log the output of the brokers' supervisor, beside their folder.
   */
  static async start(brokers: 1 | 3, given?: string, log?: string): Promise<KafkaCluster> {
    const folder = given ?? (await mkdtemp(join(tmpdir(), 'headwater-kafka-')))
    const file = log ?? join(folder, 'kafka.log')
    await mkdir(KAFKA_LIBRARIES, { recursive: true })
    await symlink(KAFKA_LIBRARIES, join(folder, 'kafka-libraries'))
    const env = { DATA_DIR: folder, HOME: process.env['HOME'] ?? '' }
    const keeper = new ServiceProcess('kafka', env, file, ['--brokers', String(brokers)]).start()
    const url = await until(
      'Kafka is ready',
      async () => {
        const said = await readFile(file, 'utf8').catch(() => '')
        return keeper.alive ? /^ready (kafka:\S+)$/m.exec(said)?.[1] : `not: ${said}`
      },
      START_MS,
    )
    if (!keeper.alive) throw new Error(`Kafka does not run: ${url}`)
    return new KafkaCluster(url, file, keeper, given === undefined ? folder : undefined)
  }

  /** Returns the running process of a broker, numbered from 1. */
  async pid(broker: number): Promise<number> {
    const said = await readFile(this.log, 'utf8')
    const lines = [...said.matchAll(/^broker (\d) pid (\d+) /gm)].filter(([, id]) => Number(id) === broker)
    return Number(lines.at(-1)?.[2])
  }

  /** Returns the number of in-sync replicas of a topic. */
  async isrOf(topic: string): Promise<number> {
    const brokers = this.url.replace('kafka://', '').split(',')
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin()
    try {
      await admin.connect()
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
      return topics[0]?.partitions[0]?.isr.length ?? 0
    } catch {
      return 0
    } finally {
      await admin.disconnect()
    }
  }

  /** Returns the log of a prefix of its own, so that tests do not share topics. */
  logUrl(prefix: string): string {
    return `${this.url}/${prefix}`
  }

  async stop(): Promise<void> {
    await this.process.kill('SIGTERM')
    if (this.ownFolder !== undefined)
      await rm(this.ownFolder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
}
