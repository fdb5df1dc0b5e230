import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { FolderInUse } from '../../pipelines/errors.js'
import { startEngine, type Engine, type EngineOptions } from '../../services/engine/engine.js'
import { PortTaken } from '../../services/process/ports.js'

const SMALL = { memoryBytes: 1024 ** 3 }

describe('the engine', () => {
  let folder = ''
  const running: Engine[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-engine-test-'))
  })

  afterEach(async () => {
    await Promise.all(running.splice(0).map((engine) => engine.stop()))
    await rm(folder, { recursive: true, force: true })
  })

  async function start(options: Partial<EngineOptions> = {}): Promise<Engine> {
    const engine = await startEngine({ dataDir: folder, ...SMALL, ...options })
    running.push(engine)
    return engine
  }

  it('keeps its data after a clean stop', async () => {
    const first = await start()
    await ask(first, 'CREATE TABLE kept (n Int32) ENGINE = MergeTree ORDER BY n')
    await ask(first, 'INSERT INTO kept VALUES (7)')
    await first.stop()
    expect(await first.exited).toBe('(status 0)')
    const second = await start()
    expect(await ask(second, 'SELECT n FROM kept')).toBe('7')
  })

  it('keeps every acknowledged row after kill -9', async () => {
    const first = await start()
    await ask(
      first,
      'CREATE TABLE tree (n UInt32) ENGINE = MergeTree ORDER BY n SETTINGS fsync_after_insert = 1',
    )
    await ask(first, 'CREATE TABLE rocks (n UInt32, v UInt32) ENGINE = EmbeddedRocksDB PRIMARY KEY n')
    const acknowledged = await insertUntilKilled(first)
    expect(acknowledged).toBeGreaterThan(10)
    const second = await start()
    const rows = `numbers(${String(acknowledged)}) AS wanted`
    for (const table of ['tree', 'rocks']) {
      expect(
        await ask(second, `SELECT count() FROM ${rows} WHERE number NOT IN (SELECT n FROM ${table})`),
      ).toBe('0')
    }
  })

  it('refuses a second start on the same folder, naming it, and the first continues', async () => {
    const first = await start()
    const second = start()
    await expect(second).rejects.toThrow(FolderInUse)
    await expect(second).rejects.toThrow(folder)
    expect(await ask(first, 'SELECT 1')).toBe('1')
  })

  it('waits for an engine that is about to exit, if configured to', async () => {
    const first = await start()
    const tries: string[] = []
    const warn = (_: object, message: string): void => {
      if (message.includes('retrying') && tries.push(message) === 1) void first.stop()
    }
    const quiet = (): void => undefined
    const logger = { debug: quiet, info: quiet, error: quiet, warn }
    const second = await start({ lockWaitMs: 3_600_000, logger })
    expect(tries[0]).toContain(folder)
    expect(await ask(second, 'SELECT 1')).toBe('1')
  })

  it('names a port that is in use', async () => {
    const other = await listen()
    const { port } = other.address() as { port: number }
    try {
      const taken = start({ httpPort: port })
      await expect(taken).rejects.toThrow(PortTaken)
      await expect(taken).rejects.toThrow(String(port))
    } finally {
      other.close()
    }
  })

  it('reports how it died', async () => {
    const engine = await start()
    process.kill(engine.pid, 'SIGKILL')
    expect(await engine.exited).toContain('SIGKILL')
  })

  it('prevents inserts begun in one run from being published in the next', async () => {
    const first = await start()
    const { port } = new URL(first.url)
    const db = new Database({ url: first.url, database: 'default' })
    await db.command('CREATE TABLE announced (number UInt8) ENGINE = MergeTree ORDER BY number')
    const announce = (number: number): Promise<void> =>
      db.guarded('1', (condition) =>
        db.command(`INSERT INTO announced SELECT ${String(number)} WHERE ${condition}`),
      )
    await db.pinEngineRun()
    await announce(1)
    await first.stop()
    await start({ httpPort: Number(port) })
    await expect(announce(2)).rejects.toThrow('was restarted')
    await db.pinEngineRun()
    await announce(3)
    expect(await db.query('SELECT number FROM announced ORDER BY number')).toEqual([
      { number: 1 },
      { number: 3 },
    ])
    await db.close()
  })

  it('is not detected on a server whose system tables may not be read', async () => {
    const server = createHttpServer((_, response) => {
      response.writeHead(403, { 'x-clickhouse-exception-code': '497' })
      response.end('Code: 497. DB::Exception: headwater: Not enough privileges. (ACCESS_DENIED)')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const db = new Database({ url: `http://127.0.0.1:${String(port)}`, database: 'default' })
    await db.pinEngineRun()
    expect(await db.guarded('1', (condition) => Promise.resolve(condition))).toBe('1 AND 1')
    await db.close()
    server.close()
  })

  it('still merges and mutates with its small thread pools', async () => {
    const engine = await start()
    await ask(engine, 'CREATE TABLE small (n UInt32) ENGINE = MergeTree ORDER BY n')
    await ask(engine, 'INSERT INTO small VALUES (1), (2)')
    await ask(engine, 'ALTER TABLE small DELETE WHERE n = 1 SETTINGS mutations_sync = 1')
    expect(await ask(engine, 'SELECT n FROM small')).toBe('2')
  })
})

async function ask(engine: Engine, query: string): Promise<string> {
  const response = await fetch(engine.url, { method: 'POST', body: query, headers: { connection: 'close' } })
  const body = (await response.text()).trim()
  if (!response.ok) throw new Error(body)
  return body
}

/**
 * Inserts rows into both tables and kills the engine meanwhile.
 * @returns the number of rows acknowledged in both.
 */
async function insertUntilKilled(engine: Engine): Promise<number> {
  for (let n = 0; ; n += 1) {
    if (n === 20) setTimeout(() => process.kill(engine.pid, 'SIGKILL'), 50)
    try {
      await ask(engine, `INSERT INTO tree VALUES (${String(n)})`)
      await ask(engine, `INSERT INTO rocks VALUES (${String(n)}, ${String(n)})`)
    } catch {
      return n
    }
  }
}

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      resolve(server)
    })
  })
}
