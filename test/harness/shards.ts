import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { onEachServer } from '../../pipelines/tables/cluster/shards.js'
import { type Engine, startEngine } from '../../services/engine/engine.js'
import { freePort } from '../../services/process/ports.js'
import { onOneServer, statementsOf } from './cluster-schema.js'

const CLUSTER = 'test'

interface Place {
  readonly dataDir: string
  readonly httpPort: number
  readonly tcpPort: number
}

/**
 * Engines that are the shards of one cluster, one server each: they query each other over TCP. One that exits by itself is
 * restarted, as `npm start` does. The embedded engine does so if a server that it is connected to dies in the middle of a
 * query: unlike a ClickHouse server, it ends its process at an error of a connection.
 */
export class Shards {
  readonly #engines: Promise<Engine>[] = []
  /** The shards that were killed and not restarted. */
  readonly #killed = new Set<number>()
  #isClosed = false
  /** The number of times that an engine has exited by itself. */
  exits = 0

  private constructor(
    private readonly folder: string,
    private readonly places: readonly Place[],
  ) {}

  static async start(count: number): Promise<Shards> {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-shards-'))
    const places: Place[] = []
    for (let at = 0; at < count; at++)
      places.push({
        dataDir: join(folder, String(at + 1)),
        httpPort: await freePort(),
        tcpPort: await freePort(),
      })
    const shards = new Shards(folder, places)
    for (let at = 0; at < count; at++) await shards.restart(at)
    return shards
  }

  /** The value of CLICKHOUSE_URL. @param first the index of the server that comes first. */
  urlFrom(first = 0): string {
    const urls = this.places.map(({ httpPort }) => `http://127.0.0.1:${String(httpPort)}`)
    return [...urls.slice(first), ...urls.slice(0, first)].join(',')
  }

  /** Starts an engine that is not running, on its folder and ports. */
  async restart(at: number): Promise<void> {
    this.#killed.delete(at)
    const starting = this.#start(at)
    this.#engines[at] = starting
    const { exited } = await starting
    void exited.then(() => {
      if (this.#isClosed || this.#killed.has(at)) return
      this.exits++
      // If it fails, so does the next use of the engine.
      this.restart(at).catch(() => undefined)
    })
  }

  async #start(at: number): Promise<Engine> {
    const place = this.places[at]
    if (place === undefined) throw new RangeError(`there is no shard ${String(at)}`)
    const shard = this.places.map(({ tcpPort: port }) => ({ replica: { host: '127.0.0.1', port } }))
    return startEngine({
      ...place,
      lockWaitMs: 20_000,
      settings: {
        remote_servers: { [CLUSTER]: { shard }, [`${CLUSTER}_state`]: { shard: shard.slice(0, 1) } },
        macros: { cluster: CLUSTER, shard: String(at + 1), replica: '1' },
      },
    })
  }

  /** Kills an engine, which then stays down until `restart`. */
  async kill(at: number): Promise<void> {
    this.#killed.add(at)
    const engine = await this.#engines[at]
    if (engine === undefined) return
    try {
      process.kill(engine.pid, 'SIGKILL')
    } catch (error) {
      // It has just exited by itself.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    await engine.exited
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const engines = await Promise.allSettled(this.#engines)
    const running = engines.filter((each) => each.status === 'fulfilled')
    await Promise.all(running.map(({ value }) => value.stop()))
    await rm(this.folder, { recursive: true, force: true })
  }
}

/**
 * Applies sharded.sql on each server that the URL names, without what needs a Keeper: tables are not replicated.
 * content/cluster.md describes it for a cluster.
 */
export async function applySharded(db: Database): Promise<void> {
  // Also from dist/, which does not contain it.
  const schema = await readFile(resolve('deploy/clickhouse/sharded.sql'), 'utf8')
  const statements = statementsOf(schema.replaceAll('headwater', db.name)).map(onOneServer)
  const creates = statements.filter((each) => each.startsWith('CREATE'))
  for (const server of db.eachServer()) {
    await server.createIfAbsent()
    for (const each of creates) await server.command(each)
    await server.close()
  }
  for (const each of statements.filter((statement) => !creates.includes(statement))) await db.command(each)
}

/** Returns the number of rows that each server has of a table. */
export async function rowsOfShards(db: Database, table: string): Promise<number[]> {
  const rows: number[] = []
  await onEachServer(db, async (server) => {
    const [found] = await server.query<{ rows: string }>(`SELECT count() AS rows FROM ${table}_shard`)
    rows.push(Number(found?.rows))
  })
  return rows
}
