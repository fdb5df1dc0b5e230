import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Network } from '../../pipelines/chain/networks.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { openLog } from '../../pipelines/log/open.js'
import { pino } from 'pino'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { freePort } from '../../services/process/ports.js'
import { Load } from '../harness/load.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { type Broker, KafkaBrokers } from './broker.js'
import { type Condition, CONDITIONS } from './conditions.js'
import { type Control, unprotectedService } from './controls.js'
import { Disk } from './disk.js'
import type { FeedWatch } from './feed-watch.js'
import { SourceNode } from './source-node.js'
import { TcpProxy } from './tcp-proxy.js'

export interface WorldOptions {
  readonly seed: number
  readonly log: 'embedded' | 'kafka'
  /** The network that is simulated. */
  readonly network: Network
  /** The protection that is removed. */
  readonly control?: Control | undefined
  readonly conditions: readonly Condition[]
}

export const FINALITY_DEPTH = 12
const BROKERS = 3
/** Bytes that stay free unless a fault fills them. */
const LOG_DISK_MB = 1024
const ENGINE_DISK_MB = 8192
const SERVICES = ['engine', 'poller', 'materializer', 'explorer'] as const
export type Service = (typeof SERVICES)[number]

/** Undefined if no file system may be mounted. */
interface Disks {
  readonly log: Disk | undefined
  readonly engine: Disk | undefined
}

/** All processes on a data folder of their own; each connection that can fail goes through a proxy. */
export class World {
  readonly services = new Map<Service, ServiceProcess>()
  /** Superseded processes: they must exit by themselves. */
  retired: ServiceProcess[] = []
  /** The client of the feed, once it exists. */
  watch: FeedWatch | undefined
  readonly explorerUrl: string
  /** Host and port of the Electrum protocol. */
  readonly electrumAddress: string
  readonly #loads: Load[] = []

  private constructor(
    readonly options: WorldOptions,
    readonly folder: string,
    readonly node: SourceNode,
    readonly simnode: ServiceProcess,
    readonly links: { readonly node: TcpProxy; readonly writer: TcpProxy; readonly reader: TcpProxy },
    readonly engineUrl: string,
    readonly broker: Broker | undefined,
    readonly disks: Disks,
    readonly db: Database,
    /** The log, opened by a process beside the others. */
    readonly log: EventLog,
    explorerPort: number,
    electrumPort: number,
  ) {
    this.explorerUrl = `http://127.0.0.1:${String(explorerPort)}`
    this.electrumAddress = `127.0.0.1:${String(electrumPort)}`
    const database = (link: TcpProxy): Record<string, string> => ({ CLICKHOUSE_URL: link.url })
    const env = {
      engine: { DATA_DIR: this.#at('engine') },
      poller: {},
      materializer: database(links.writer),
      explorer: {
        ...database(links.reader),
        ANSWER_DEADLINE_MS: '5000',
        EXPLORER_PORT: String(explorerPort),
        EXPLORER_GRPC_PORT: '0',
        ELECTRUM_PORT: String(electrumPort),
        ELECTRUM_RATE_LIMIT_PER_MINUTE: '0',
      },
    }
    for (const name of SERVICES) this.services.set(name, this.#newService(name, env[name]))
  }

  /** @throws Error if the world cannot be made on this machine. */
  static async start(options: WorldOptions): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-chaos-'))
    const simnodePort = await freePort()
    const engineUrl = `http://127.0.0.1:${String(await freePort())}`
    const hasSlowDisk = options.conditions.includes('slow disk')
    const disks: Disks = {
      log: hasSlowDisk ? undefined : Disk.mount(join(folder, 'log'), LOG_DISK_MB),
      engine: hasSlowDisk ? undefined : Disk.mount(join(folder, 'engine'), ENGINE_DISK_MB),
    }
    const broker = options.log === 'kafka' ? await startBrokers(folder, disks) : undefined
    const simnode = simnodeProcess(folder, simnodePort, options).start()
    const nodeUrl = `http://127.0.0.1:${String(simnodePort)}`
    const logUrl = broker?.url ?? `sqlite://${join(folder, 'log', 'events')}`
    const links = {
      node: await TcpProxy.before(nodeUrl),
      writer: await TcpProxy.before(engineUrl),
      reader: await TcpProxy.before(engineUrl),
    }
    const db = new Database({ url: engineUrl, database: 'headwater' })
    const log = await openLog({
      url: logUrl,
      dataDir: folder,
      logger: pino({ level: 'silent' }),
      ssl: false,
      sasl: undefined,
    })
    const node = new SourceNode(nodeUrl)
    const world = new World(
      ...([options, folder, node, simnode, links, engineUrl, broker, disks, db, log] as const),
      await freePort(),
      await freePort(),
    )
    try {
      await until('the node answers', () => node.answers())
      await world.startEngine()
      for (const name of ['poller', 'materializer', 'explorer'] as const) world.service(name).start()
      for (const condition of options.conditions)
        world.#loads.push(new Load({ ...CONDITIONS[condition], folder }))
      return world
    } catch (error) {
      await world.close(true)
      throw new Error(`${error instanceof Error ? error.message : String(error)}; ${world.whatIsLeft}`, {
        cause: error,
      })
    }
  }

  service(name: Service): ServiceProcess {
    const service = this.services.get(name)
    if (service === undefined) throw new Error(`no such process: ${name}`)
    return service
  }

  /** Starts the engine and waits until it answers. */
  async startEngine(): Promise<void> {
    this.service('engine').start()
    await this.engineAnswers()
  }

  async engineAnswers(): Promise<void> {
    await until('engine listening', async () => (await fetch(`${this.engineUrl}/ping`)).ok)
  }

  /** Kills ClickHouse itself (kill -9), not only the process that supervises it. */
  async killEngine(): Promise<void> {
    const state = await readFile(join(this.#at('engine'), 'engine.json'), 'utf8')
    process.kill((JSON.parse(state) as { pid: number }).pid, 'SIGKILL')
    await this.service('engine').kill()
  }

  /** Starts a second process of the same name; the first one must exit by itself. */
  another(name: 'poller' | 'materializer'): ServiceProcess {
    this.retired.push(this.service(name))
    const env = name === 'materializer' ? { CLICKHOUSE_URL: this.links.writer.url } : {}
    const next = this.#newService(name, env)
    this.services.set(name, next)
    return next.start()
  }

  /**
   * Ends all faults.
   * @returns the names of processes that had died by themselves.
   */
  async repair(): Promise<Service[]> {
    await this.node.clearFaults()
    for (const link of Object.values(this.links)) await link.repair()
    this.disks.log?.free()
    this.disks.engine?.free()
    this.broker?.resume()
    for (const retired of this.retired) retired.signal('SIGCONT')
    const died = SERVICES.filter((name) => !this.service(name).alive)
    for (const name of died) {
      if (name === 'engine') await this.startEngine()
      else this.service(name).start()
    }
    return died
  }

  /** The path of the data folder that `close` keeps, and the command that removes it. */
  get whatIsLeft(): string {
    const mounted = [this.disks.log, this.disks.engine].flatMap((disk) => disk?.folder ?? [])
    const unmount = mounted.length === 0 ? '' : `umount ${mounted.join(' ')} && `
    return `the data is in ${this.folder}; to remove it: ${unmount}rm -r ${this.folder}`
  }

  /**
   * Stops everything.
   * @param keep keeps the data folder.
   */
  async close(keep: boolean): Promise<void> {
    for (const load of this.#loads) await load.stop()
    await this.db.close()
    for (const retired of this.retired) await retired.kill()
    for (const name of ['explorer', 'materializer', 'poller'] as const) await this.service(name).kill()
    // SIGTERM first: an engine whose supervisor is killed continues to write for a moment.
    await this.service('engine').kill('SIGTERM')
    await this.log.close()
    await this.broker?.close()
    await this.simnode.kill()
    for (const link of Object.values(this.links)) await link.close()
    if (keep) return
    this.disks.log?.unmount()
    this.disks.engine?.unmount()
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }

  #at(name: string): string {
    return join(this.folder, name)
  }

  #newService(name: Service, own: Readonly<Record<string, string>>): ServiceProcess {
    const { control, log, conditions } = this.options
    const env = {
      DATA_DIR: this.folder,
      LOG_URL: this.broker?.url ?? `sqlite://${this.#at('log/events')}`,
      NODE_RPC_URL: this.links.node.url,
      RATE_LIMIT_PER_MINUTE: '0',
      POLL_INTERVAL_MS: '50',
      FINALITY_DEPTH: String(FINALITY_DEPTH),
      LOG_LEVEL: log === 'kafka' ? 'warn' : 'info',
      ...own,
    }
    const file = this.#at(`${name}.log`)
    if (name === 'engine')
      return new ServiceProcess(name, env, file, ['--http-port', new URL(this.engineUrl).port])
    if (control !== undefined && name === unprotectedService(control))
      return new ServiceProcess(name, env, file, [control], `test/chaos/unprotected-${name}.js`)
    if (name === 'poller' && conditions.includes('single records'))
      return new ServiceProcess(name, env, file, ['--in-flight', '1'])
    return new ServiceProcess(name, env, file)
  }
}

/** Removes what already exists if they cannot be made. */
async function startBrokers(folder: string, disks: Disks): Promise<Broker> {
  try {
    // On a slow disk no file system is mounted for it.
    await mkdir(join(folder, 'log'), { recursive: true })
    return await KafkaBrokers.start(join(folder, 'log'), join(folder, 'kafka.log'), BROKERS)
  } catch (error) {
    for (const disk of Object.values(disks) as Disks[keyof Disks][]) disk?.unmount()
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

function simnodeProcess(folder: string, port: number, { seed, network }: WorldOptions): ServiceProcess {
  return new ServiceProcess('simnode', { DATA_DIR: folder, LOG_LEVEL: 'warn' }, join(folder, 'simnode.log'), [
    '--port',
    String(port),
    '--seed',
    String(seed),
    '--chain',
    network.name,
    '--blocks',
    '60',
    '--txs-per-block',
    '6',
    '--block-interval-ms',
    '0',
  ])
}
