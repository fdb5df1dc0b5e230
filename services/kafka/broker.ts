import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** JVM options of a broker with little load: a small heap, because Kafka relies on the page cache. */
const HEAP = ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']
const STOP_MS = 10_000

export interface BrokerPlan {
  /** Number of the broker, from 1. */
  readonly id: number
  readonly port: number
  readonly controllerPort: number
}

export interface BrokerOptions {
  readonly plan: BrokerPlan
  /** The plans of all brokers of the cluster, including this one. */
  readonly plans: readonly BrokerPlan[]
  readonly libraries: string
  readonly folder: string
  /** 22 characters of base64, the same for all brokers. */
  readonly clusterId: string
  /** Called when its process has exited, for whatever reason. */
  readonly onExit: () => void
}

/** A Kafka process on loopback that is both broker and controller. */
export class Broker {
  readonly #options: BrokerOptions
  #child: ChildProcess | undefined

  constructor(options: BrokerOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Formats the folder if it is new. @throws if Kafka refuses it. */
  async format(): Promise<void> {
    const { folder, clusterId } = this.#options
    await mkdir(folder, { recursive: true })
    await writeFile(this.#settingsFile, settings(this.#options))
    const format = ['format', `--cluster-id=${clusterId}`, '-c', this.#settingsFile, '--ignore-formatted']
    await promisify(execFile)('java', this.#java('kafka.tools.StorageTool', ...format))
  }

  start(): void {
    const log = openSync(join(this.#options.folder, 'broker.log'), 'a')
    // Not in the process group of the terminal: on Ctrl-C this process stops the brokers itself.
    const child = spawn('java', this.#java('kafka.Kafka', this.#settingsFile), {
      stdio: ['ignore', log, log],
      detached: true,
    })
    closeSync(log)
    this.#child = child
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined
      this.#options.onExit()
    })
  }

  /** Stops the process, and kills it if that takes too long. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const exit = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await exit
    clearTimeout(force)
  }

  get #settingsFile(): string {
    return join(this.#options.folder, 'server.properties')
  }

  #java(main: string, ...args: string[]): string[] {
    return [...HEAP, '-cp', join(this.#options.libraries, '*'), main, ...args]
  }
}

/** Returns server.properties: the defaults of Kafka, except for the limits of a small cluster on one machine and faster detection of dead brokers. */
function settings({ plan, plans, folder }: BrokerOptions): string {
  const replicas = String(Math.min(3, plans.length))
  const lines = {
    'process.roles': 'broker,controller',
    'node.id': String(plan.id),
    'controller.quorum.voters': plans
      .map(({ id, controllerPort }) => `${String(id)}@127.0.0.1:${String(controllerPort)}`)
      .join(','),
    listeners: `PLAINTEXT://127.0.0.1:${String(plan.port)},CONTROLLER://127.0.0.1:${String(plan.controllerPort)}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${String(plan.port)}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': plans.length < 3 ? '1' : '2',
    'group.initial.rebalance.delay.ms': '0',
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    'controlled.shutdown.enable': 'true',
  }
  return Object.entries(lines)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
