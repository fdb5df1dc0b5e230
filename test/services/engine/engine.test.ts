import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FolderInUse, startEngine, type Engine, type EngineOptions } from '../../../services/engine/engine.js'
import { PortTaken } from '../../../services/ports.js'

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

  it('keeps its data over a clean stop', async () => {
    const first = await start()
    await ask(first, 'CREATE TABLE kept (n Int32) ENGINE = MergeTree ORDER BY n')
    await ask(first, 'INSERT INTO kept VALUES (7)')
    await first.stop()
    expect(await first.exited).toBe('(status 0)')
    const second = await start()
    expect(await ask(second, 'SELECT n FROM kept')).toBe('7')
  })

  it('gives back every acknowledged row after kill -9', async () => {
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

  it('refuses a second start on the same folder, naming it, and the first goes on', async () => {
    const first = await start()
    const second = start()
    await expect(second).rejects.toThrow(FolderInUse)
    await expect(second).rejects.toThrow(folder)
    expect(await ask(first, 'SELECT 1')).toBe('1')
  })

  it('waits for an engine that is about to go, where it is told to', async () => {
    const first = await start()
    setTimeout(() => void first.stop(), 300)
    const second = await start({ lockWaitMs: 10_000 })
    expect(await ask(second, 'SELECT 1')).toBe('1')
  })

  it('names a port that is taken', async () => {
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

  it('tells how it died', async () => {
    const engine = await start()
    process.kill(engine.pid, 'SIGKILL')
    expect(await engine.exited).toContain('SIGKILL')
  })

  it('still merges and mutates with its small pools', async () => {
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

/** Inserts row after row into both tables and kills the engine meanwhile. @returns how many were acknowledged in both. */
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
