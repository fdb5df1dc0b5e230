import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import { openLog } from '../../../../pipelines/log/open.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import { FORMAT, LogFormatError } from '../../../../pipelines/log/embedded/record-file.js'
import { openEventLog } from '../../../../services/process/event-log.js'
import { StartRefused } from '../../../../pipelines/errors.js'

let dir: string
let log: EventLog

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'headwater-log-'))
  log = await openEmbeddedLog(dir)
})

afterEach(async () => {
  await log.close()
  rmSync(dir, { recursive: true, force: true })
})

const text = (value: string): Buffer => Buffer.from(value)
const texts = async (topic: 'chain' | 'node', from: number, limit: number): Promise<string[]> =>
  (await log.read(topic, from, limit)).map((record) => Buffer.from(record.value).toString())

/** Returns a value of any size whose every byte depends on its number. */
function patterned(number: number, size: number): Buffer {
  const value = Buffer.alloc(size, number % 251)
  value.writeUInt32BE(number, 0)
  return value
}

/**
 * Starts a process that appends batches of three to a topic until it is killed, and prints each acknowledged
 * position.
 */
function appender(topic: string): ReturnType<typeof spawn> {
  const code = `
    const { openEmbeddedLog } = await import(${JSON.stringify(pathToFileURL(join(process.cwd(), 'dist/pipelines/log/embedded/embedded.js')).href)})
    const log = await openEmbeddedLog(${JSON.stringify(dir)})
    for (;;) process.stdout.write(String(await log.append(${JSON.stringify(topic)}, [0, 1, 2].map(() => Buffer.alloc(500)))) + '\\n')`
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

describe('positions', () => {
  it('begin at 0, are consecutive and are returned by append', async () => {
    expect(await log.last('chain')).toBe(-1)
    expect(await log.first('chain')).toBe(0)
    expect(await log.append('chain', [text('a'), text('b')])).toBe(1)
    expect(await log.append('chain', [text('c')])).toBe(2)
    expect(await log.append('chain', [])).toBe(2)
    expect(await log.last('chain')).toBe(2)
    expect((await log.read('chain', 0, 10)).map((each) => each.position)).toEqual([0, 1, 2])
    expect(await texts('chain', 1, 1)).toEqual(['b'])
    expect(await texts('chain', 3, 10)).toEqual([])
  })

  it('are separate for each topic, and each consumer commits its own', async () => {
    await log.append('chain', [text('a'), text('b')])
    expect(await log.append('node', [text('x')])).toBe(0)
    expect(await log.committed('chain', 'materializer')).toBe(-1)
    await log.commit('chain', 'materializer', 1)
    expect(await log.committed('chain', 'materializer')).toBe(1)
    expect(await log.committed('node', 'materializer')).toBe(-1)
  })

  it('stay consecutive when appends overlap', async () => {
    const ends = await Promise.all(
      Array.from({ length: 50 }, (_, i) => log.append('chain', [text(`${i}a`), text(`${i}b`)])),
    )
    expect([...ends].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => 2 * i + 1))
    const all = await texts('chain', 0, 1000)
    for (const [i, end] of ends.entries()) expect(all.slice(end - 1, end + 1)).toEqual([`${i}a`, `${i}b`])
  })
})

describe('values', () => {
  it('are read back byte for byte at any size, and do not change when more is read', async () => {
    const sizes = [4, 100, 2000, 4095, 4096, 9000, 32_767, 32_768, 40_000, 300_000, 5, 70_000, 3_000_000, 12]
    await log.append(
      'chain',
      sizes.map((size, i) => patterned(i, size)),
    )
    const first = await log.read('chain', 0, 100, 1e9)
    await log.append(
      'chain',
      sizes.map((size, i) => patterned(i + 100, size)),
    )
    await log.read('chain', 0, 100, 1e9)
    for (const [i, size] of sizes.entries())
      expect(patterned(i, size).equals(first[i]?.value ?? text(''))).toBe(true)
  })

  it('are read up to a number of bytes, at least one value', async () => {
    await log.append(
      'chain',
      Array.from({ length: 10 }, (_, i) => patterned(i, 10_000)),
    )
    expect(await log.read('chain', 0, 10, 1)).toHaveLength(1)
    expect(await log.read('chain', 0, 10, 25_000)).toHaveLength(3)
  })

  it('are read up to the limit, and none are read for a limit of zero', async () => {
    await log.append('chain', [text('a'), text('b')])
    expect(await texts('chain', 0, 0)).toEqual([])
    expect(await texts('chain', -5, 1)).toEqual(['a'])
    expect(await texts('chain', 0, 1)).toEqual(['a'])
  })
})

describe('wait', () => {
  it('resolves when the record exists, at once if it already does, and when the time is up', async () => {
    // Longer than the timeout of the test.
    const never = 3_600_000
    const waited = log.wait('chain', 0, never)
    await log.append('chain', [text('a')])
    await waited
    await log.wait('chain', 0, never)
    await log.wait('chain', 1, 30)
  })

  it('resolves without throwing when the signal aborts', async () => {
    const stop = new AbortController()
    const waited = log.wait('chain', 0, 60_000, stop.signal)
    stop.abort()
    await waited
    await log.wait('chain', 0, 60_000, stop.signal)
  })
})

describe('retention', () => {
  it('removes old records on append, a bounded number at a time, and never the newest', async () => {
    let now = 1_000
    const other = await openEmbeddedLog(join(dir, 'short'), { retentionMs: { node: 100 }, now: () => now })
    await other.append(
      'node',
      Array.from({ length: 60 }, (_, i) => text(String(i))),
    )
    now = 2_000
    expect(await other.append('node', [text('60')])).toBe(60)
    expect(await other.first('node')).toBe(18)
    for (let i = 61; i < 64; i++) await other.append('node', [text(String(i))])
    expect(await other.first('node')).toBe(60)
    now = 9_000
    await other.append('node', [text('64')])
    expect(await other.first('node')).toBe(64)
    expect((await other.read('node', 0, 10)).map((each) => [each.position, each.time])).toEqual([[64, 9_000]])
    await other.close()
  })

  it('ends early for records that are dropped, but never for the newest', async () => {
    const other = await openEmbeddedLog(join(dir, 'dropped'))
    await other.drop('chain', 5)
    const values = Array.from({ length: 100 }, (_, i) => text(String(i)))
    await other.append('chain', values)
    await other.drop('chain', 70)
    expect((await other.read('chain', 0, 2)).map(({ position }) => position)).toEqual([70, 71])
    for (const before of [3, 1_000, 1_000]) await other.drop('chain', before)
    expect([await other.first('chain'), await other.append('chain', [text('100')])]).toEqual([99, 100])
    await other.close()
  })

  it('keeps the chain indefinitely', async () => {
    let now = 1_000
    const other = await openEmbeddedLog(join(dir, 'kept'), { now: () => now })
    await other.append('chain', [text('a')])
    now = Number.MAX_SAFE_INTEGER
    await other.append('chain', [text('b')])
    expect(await other.first('chain')).toBe(0)
    await other.close()
  })
})

describe('several processes', () => {
  it('append to different topics at once, and a kill -9 loses no acknowledged record', async () => {
    const child = appender('node')
    let acknowledged = -1
    child.stdout?.on('data', (chunk: Buffer) => {
      acknowledged = Number(chunk.toString().trim().split('\n').at(-1))
    })
    await log.wait('node', 30, 60_000)
    for (let i = 0; i < 30; i++) await log.append('chain', [text(String(i))])
    child.kill('SIGKILL')
    await once(child, 'close')
    const next = await log.append('node', [text('after')])
    expect(acknowledged).toBeGreaterThanOrEqual(29)
    expect(next).toBeGreaterThan(acknowledged)
    expect(next % 3).toBe(0)
    expect(await log.last('chain')).toBe(29)
  })
})

describe('closing', () => {
  it('waits for pending calls, may be done twice, and keeps the data', async () => {
    const appended = log.append('chain', [text('a')])
    await Promise.all([log.close(), log.close()])
    expect(await appended).toBe(0)
    await expect(log.last('chain')).rejects.toThrow('is closed')
    log = await openEmbeddedLog(dir)
    expect(await texts('chain', 0, 10)).toEqual(['a'])
  })
})

describe('two logs in one process', () => {
  it("see each other's records, and one continues after the other was closed", async () => {
    const other = await openEmbeddedLog(dir)
    await other.append(
      'chain',
      Array.from({ length: 70 }, (_, i) => patterned(i, 20_000)),
    )
    for (let round = 0; round < 20; round++) {
      await Promise.all([log.read('chain', 0, 70, 1e9), other.append('node', [text('x')])])
    }
    expect(await log.last('node')).toBe(19)
    expect(await other.read('chain', 0, 70, 1e9)).toHaveLength(70)
    await other.close()
    expect(await log.append('chain', [text('a')])).toBe(70)
    expect(await texts('chain', 70, 1)).toEqual(['a'])
  })
})

describe('openLog', () => {
  it('opens the embedded log without a URL, and a remote one by its URL', async () => {
    const rest = { logger: pino({ level: 'silent' }), ssl: false, sasl: undefined }
    const opened = await openLog({ url: undefined, dataDir: dir, ...rest })
    expect(await opened.last('chain')).toBe(-1)
    await opened.close()
    const elsewhere = await openLog({ url: `sqlite://${dir}/else where`, dataDir: '/nowhere', ...rest })
    expect(await elsewhere.append('chain', [text('a')])).toBe(0)
    await elsewhere.close()
  })
})

/** Starts a process that opens a file of the log, runs code on it, prints a line and is then frozen. */
async function frozen(topic: string, code: string): Promise<ChildProcess> {
  const source = `
    const { RecordFile } = await import(${JSON.stringify(pathToFileURL(join(process.cwd(), 'dist/pipelines/log/embedded/record-file.js')).href)})
    const { DatabaseSync } = await import('@photostructure/sqlite')
    const path = ${JSON.stringify(join(dir, `${topic}.sqlite`))}
    ${code}
    process.stdout.write('there')
    setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout ?? child, 'data')
  child.kill('SIGSTOP')
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

describe('a process that is frozen', () => {
  it('fails the appends of others to its topic after a timeout if it is appending, and blocks nothing else', async () => {
    const other = await openEmbeddedLog(dir, { busyMs: 300 })
    await other.append('chain', [text('a')])
    const child = await frozen('chain', 'globalThis.file = new RecordFile(path); file.lock()')
    let turns = 0
    const turning = setInterval(() => turns++, 1)
    const appended = other.append('chain', [text('b')])
    // Appends to one topic are ordered: this one waits for the one before.
    const next = other.append('chain', [text('c')])
    await expect(appended).rejects.toThrow('another process has had the event log locked for 0.3 s')
    await expect(next).rejects.toThrow('locked')
    clearInterval(turning)
    // The event loop was not blocked meanwhile.
    expect(turns).toBeGreaterThan(10)
    expect(await other.append('node', [text('x')])).toBe(0)
    expect(await other.last('chain')).toBe(0)
    await killed(child)
    expect(await other.append('chain', [text('d')])).toBe(1)
    expect(await texts('chain', 0, 10)).toEqual(['a', 'd'])
    await other.close()
  })

  it('blocks no append if it is reading; the growth of the write-ahead log is logged, and it is truncated afterwards', async () => {
    const warnings: string[] = []
    const logger = pino({ base: null }, { write: (line: string) => warnings.push(line) })
    const other = await openEmbeddedLog(dir, { logger, largeWalBytes: 80 * 2 ** 20 })
    await other.append('chain', [text('a')])
    const child = await frozen(
      'chain',
      `globalThis.db = new DatabaseSync(path); db.exec('BEGIN'); db.prepare('SELECT count(*) FROM records').get()`,
    )
    for (let i = 0; i < 12; i++) await other.append('chain', [Buffer.alloc(8 * 2 ** 20)])
    expect(warnings.filter((line) => line.includes('the write-ahead log grows'))).toHaveLength(1)
    expect(statSync(join(dir, 'chain.sqlite-wal')).size).toBeGreaterThan(80 * 2 ** 20)
    await killed(child)
    await other.append('chain', [text('b')])
    expect(statSync(join(dir, 'chain.sqlite-wal')).size).toBe(0)
    expect(await other.last('chain')).toBe(13)
    await other.close()
  })
})

describe('a file of another version', () => {
  it('is refused with instructions: one of a later format, and any other database', async () => {
    await log.append('chain', [text('a')])
    await log.close()
    const db = new DatabaseSync(join(dir, 'node.sqlite'))
    db.exec(`PRAGMA user_version = ${String(FORMAT + 1)}`)
    await expect(openEmbeddedLog(dir)).rejects.toThrow(LogFormatError)
    await expect(openEmbeddedLog(dir)).rejects.toThrow(
      /node\.sqlite has format 2 of the event log, this version reads up to 1: run the version that wrote it/,
    )
    db.exec(`PRAGMA user_version = ${String(FORMAT)}; PRAGMA application_id = 1`)
    await expect(openEmbeddedLog(dir)).rejects.toThrow(/is a database, but not a file of the event log/)
    db.close()
    const config = { logUrl: undefined, dataDir: join(dir, 'service'), kafkaSsl: 'false' as const }
    const settings = {
      ...config,
      kafkaSaslMechanism: 'plain' as const,
      kafkaUsername: undefined,
      kafkaPassword: undefined,
    }
    const logger = pino({ level: 'silent' })
    await (await openEventLog(settings, logger)).close()
    const newer = new DatabaseSync(join(dir, 'service/log/chain.sqlite'))
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    await expect(openEventLog(settings, logger)).rejects.toThrow(StartRefused)
    log = await openEmbeddedLog(join(dir, 'another'))
  })
})
