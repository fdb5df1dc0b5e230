import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedLog, type UpgradeProgress } from '../../../../pipelines/log/embedded/embedded.js'
import { isOldFormat } from '../../../../pipelines/log/embedded/format.js'
import { until } from '../../../harness/until.js'
import { openAsBefore, type OldRecord, writeOldLog } from '../../../harness/old-log.js'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'headwater-old-log-'))
})

afterEach(() => {
  rmSync(dir, { recursive: true, force: true })
})

/** Differs for every record, in most of its bytes. */
function valueOf(topic: string, position: number, size: number): Buffer {
  const value = Buffer.alloc(size)
  for (let i = 0; i < size; i++) value[i] = (position * 31 + i * 7 + topic.length) % 253
  return value
}

function* recordsOf(
  topic: string,
  first: number,
  count: number,
  size: (i: number) => number,
): Generator<OldRecord> {
  for (let i = 0; i < count; i++) {
    const position = first + i
    yield { topic, position, time: 1_700_000_000_000 + position, value: valueOf(topic, position, size(i)) }
  }
}

/** Starts a process of an earlier version that has opened the log and read from it. */
const USES_OLD_LOG = `
  const root = require('lmdb').open({ path: process.argv[1], compression: false, maxDbs: 8, encoding: 'binary', keyEncoding: 'binary' })
  const store = root.openDB('chain', { encoding: 'binary', keyEncoding: 'binary' })
  for (const key of store.getKeys({ limit: 1 })) console.log(key.length)
  setInterval(() => undefined, 1000)`

/** Starts a process that opens the folder, and so converts it. */
function opener(): ReturnType<typeof spawn> {
  const code = `
    const { openEmbeddedLog } = await import(${JSON.stringify(pathToFileURL(join(process.cwd(), 'dist/pipelines/log/embedded/embedded.js')).href)})
    let reports = 0
    const log = await openEmbeddedLog(${JSON.stringify(dir)}, { onUpgrade: ({ done }) => { reports++; console.log(done) } })
    console.log('last', await log.last('chain'), reports > 0)
    await log.close()`
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function outputOf(child: ReturnType<typeof spawn>): Promise<string> {
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await once(child, 'close')
  return text
}

/** Asserts that every record exists at its position, with its time and its bytes. */
async function expectAll(records: Iterable<OldRecord>): Promise<void> {
  const log = await openEmbeddedLog(dir)
  for (const { topic, position, time, value } of records) {
    const [found] = await log.read(topic as 'chain', position, 1)
    expect([found?.position, found?.time]).toEqual([position, time])
    expect(value.equals(found?.value ?? Buffer.alloc(0)), `${topic} ${String(position)}`).toBe(true)
  }
  await log.close()
}

describe('a log in the format of earlier versions', () => {
  it('is converted when it is opened: every topic from its first record on, times, bytes, and positions of consumers', async () => {
    const records = [
      ...recordsOf('chain', 0, 400, (i) => [10, 3000, 60_000][i % 3] ?? 1),
      ...recordsOf('chain', 400, 2, () => 9_000_000),
      ...recordsOf('node', 5_000, 300, () => 120),
      ...recordsOf('committed', 77, 1, () => 0),
    ]
    await writeOldLog(dir, records, { 'chain/materializer': 390 })
    expect(await isOldFormat(dir)).toBe(true)
    const seen: UpgradeProgress[] = []
    const log = await openEmbeddedLog(dir, { onUpgrade: (progress) => seen.push(progress) })
    expect(seen.at(-1)).toEqual({ done: records.length, total: records.length })
    expect(await Promise.all([log.last('chain'), log.last('node'), log.last('committed')])).toEqual([
      401, 5_299, 77,
    ])
    expect(await log.last('dead-letters')).toBe(-1)
    expect(await Promise.all([log.first('chain'), log.first('node')])).toEqual([0, 5_000])
    expect(await log.committed('chain', 'materializer')).toBe(390)
    expect(await log.append('chain', [Buffer.from('next')])).toBe(402)
    await log.close()
    await expectAll(records)
    expect(await isOldFormat(dir)).toBe(false)
    expect(readdirSync(dir).filter((name) => !name.includes('.sqlite'))).toEqual(['data.mdb'])
    expect(existsSync(join(dir, 'upgrade.sqlite'))).toBe(false)
  })

  it('cannot be created again by an earlier version, neither after the conversion nor in a new folder', async () => {
    await writeOldLog(
      dir,
      recordsOf('chain', 0, 3, () => 10),
    )
    for (const folder of [dir, join(dir, 'new')]) {
      await (await openEmbeddedLog(folder)).close()
      await expect(openAsBefore(folder)).rejects.toThrow(/Is a directory/)
      const log = await openEmbeddedLog(folder)
      expect(await log.last('chain')).toBe(folder === dir ? 2 : -1)
      await log.close()
    }
  })

  it('is converted by one process while another waits, which continues if the first one is killed', async () => {
    const records = [...recordsOf('chain', 0, 300, () => 200_000)]
    await writeOldLog(dir, records)
    const killed = opener()
    await once(killed.stdout ?? killed, 'data')
    killed.kill('SIGKILL')
    await once(killed, 'close')
    // Its converted records exist, and the old log is still the valid one.
    expect(existsSync(join(dir, 'chain.sqlite'))).toBe(true)
    expect(await isOldFormat(dir)).toBe(true)
    const outputs = await Promise.all([opener(), opener(), opener()].map((child) => outputOf(child)))
    for (const output of outputs) expect(output).toContain('last 299')
    await expectAll(records)
  })

  it('is converted as soon as no process of an earlier version has it open', async () => {
    await writeOldLog(
      dir,
      recordsOf('chain', 0, 3, () => 10),
    )
    const old = spawn(process.execPath, ['-e', USES_OLD_LOG, dir], { stdio: ['pipe', 'pipe', 'inherit'] })
    await once(old.stdout, 'data')
    const lines: { readonly pid?: number }[] = []
    const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line) as object) })
    const opening = openEmbeddedLog(dir, { logger })
    await until('it waits', () => lines.some(({ pid }) => pid === old.pid))
    expect(await isOldFormat(dir)).toBe(true)
    old.kill('SIGKILL')
    const log = await opening
    expect(await log.last('chain')).toBe(2)
    await log.close()
  })

  it('is refused if it is damaged, and stays as it is', async () => {
    await writeOldLog(
      dir,
      recordsOf('chain', 0, 3, () => 10),
    )
    writeFileSync(join(dir, 'data.mdb'), Buffer.alloc(65_536, 7))
    await expect(openEmbeddedLog(dir)).rejects.toThrow(/is damaged .* delete the folder/)
    expect(await isOldFormat(dir)).toBe(true)
  })
})
