import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
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
  pause(): void
  resume(): void
  close(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../../services/kafka/main.js', import.meta.url))
const START_MS = 120_000

/** Kafka as `npm run kafka` runs it: brokers that are started again when they die. */
export class KafkaBrokers implements Broker {
  readonly #pids = new Map<number, number>()
  #turn = 0
  #frozen: number | undefined
  url = ''

  private constructor(private readonly child: ChildProcess) {}

  /** @throws Error where this build has no Kafka, or it does not start. */
  static async start(dataDir: string, logFile: string, brokers: number): Promise<KafkaBrokers> {
    if (!existsSync(MAIN))
      throw new Error('this build has no services/kafka: --log embedded is what there is')
    const child = spawn(process.execPath, [MAIN, '--brokers', String(brokers)], {
      env: { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = createWriteStream(logFile, { flags: 'a' })
    child.stdout.pipe(output, { end: false })
    child.stderr.pipe(output, { end: false })
    const started = new KafkaBrokers(child)
    createInterface(child.stdout).on('line', (line) => {
      started.#read(line)
    })
    await until('Kafka is ready', () => started.url !== '' || child.exitCode !== null, START_MS)
    if (started.url === '') throw new Error(`Kafka did not start: see ${logFile}`)
    return started
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async restart(): Promise<void> {
    await this.#end('SIGTERM')
  }

  pause(): void {
    this.#frozen = this.#next()[1]
    process.kill(this.#frozen, 'SIGSTOP')
  }

  resume(): void {
    if (this.#frozen !== undefined) process.kill(this.#frozen, 'SIGCONT')
    this.#frozen = undefined
  }

  async close(): Promise<void> {
    this.resume()
    if (this.child.exitCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill('SIGTERM')
    await gone
  }

  /** One after the other. */
  #next(): [id: number, pid: number] {
    const all = [...this.#pids]
    const chosen = all[this.#turn++ % all.length]
    if (chosen === undefined) throw new Error('Kafka has not said which brokers there are')
    return chosen
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const [id, pid] = this.#next()
    process.kill(pid, signal)
    await until(`broker ${String(id)} is started again`, () => this.#pids.get(id) !== pid, START_MS)
  }

  #read(line: string): void {
    const ready = /^ready (kafka:\S+)/.exec(line)
    if (ready?.[1] !== undefined) this.url = ready[1]
    const broker = /^broker (\d+) pid (\d+) port \d+/.exec(line)
    if (broker !== null) this.#pids.set(Number(broker[1]), Number(broker[2]))
  }
}
