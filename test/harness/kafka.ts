import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { Kafka, logLevel } from 'kafkajs'
import { ServiceProcess } from './processes.js'
import { until } from './until.js'

/** Why there can be no Kafka here; undefined where it may be had. */
export const WITHOUT_KAFKA = [
  ['java', '-version'],
  ['mvn', '--version'],
]
  .filter(([command = '', arg = '']) => spawnSync(command, [arg]).status !== 0)
  .map(([command]) => `${command ?? ''} is not installed`)
  .at(0)

if (WITHOUT_KAFKA !== undefined) console.warn(`SKIPPED: everything that needs Kafka, for ${WITHOUT_KAFKA}`)

/** Real brokers on loopback, as `npm run kafka` starts them. */
export class KafkaCluster {
  private constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly process: ServiceProcess,
  ) {}

  static async start(brokers: 1 | 3): Promise<KafkaCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-kafka-'))
    const log = join(folder, 'kafka.log')
    const process = new ServiceProcess(
      'kafka',
      { DATA_DIR: folder, HOME: globalThis.process.env['HOME'] ?? '' },
      log,
      ['--brokers', String(brokers)],
    ).start()
    let url = ''
    await until(
      'Kafka is ready',
      async () => {
        const said = await readFile(log, 'utf8').catch(() => '')
        if (!process.alive) throw new Error(`Kafka does not run: ${said}`)
        url = /^ready (kafka:\S+)$/m.exec(said)?.[1] ?? ''
        return url !== ''
      },
      120_000,
    )
    return new KafkaCluster(url, folder, process)
  }

  /** The process of a broker, by its number from 1, as it runs now. */
  async pid(broker: number): Promise<number> {
    const said = await readFile(join(this.folder, 'kafka.log'), 'utf8')
    const lines = [...said.matchAll(/^broker (\d) pid (\d+) /gm)].filter(([, id]) => Number(id) === broker)
    return Number(lines.at(-1)?.[2])
  }

  /** How many replicas of a topic are in step. */
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

  /** Of the log named by a prefix, so that tests do not meet. */
  logUrl(prefix: string): string {
    return `${this.url}/${prefix}`
  }

  async stop(): Promise<void> {
    await this.process.kill('SIGTERM')
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
}
