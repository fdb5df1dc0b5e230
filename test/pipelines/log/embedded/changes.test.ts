import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { FolderChanges } from '../../../../pipelines/log/embedded/changes.js'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import { RecordFile } from '../../../../pipelines/log/embedded/record-file.js'

let dir = ''

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-changes-'))
})

afterEach(async () => {
  vi.restoreAllMocks()
  await rm(dir, { recursive: true, force: true })
})

const write = (name: string): void => {
  const script = `require('node:fs').appendFileSync(${JSON.stringify(join(dir, name))}, 'x')`
  spawnSync(process.execPath, ['-e', script])
}

describe.runIf(process.platform === 'linux')('changes of a folder', () => {
  it('are noticed when another process writes, each by those who wait for this file', async () => {
    const changes = new FolderChanges(dir)
    expect(changes.isWatching).toBe(true)
    expect(changes.sinceLast('chain')).toBe(Number.POSITIVE_INFINITY)
    const [chain, node] = [changes.next('chain', 60_000), changes.next('node', 1_000)]
    write('chain.sqlite-wal')
    expect(await chain).toBe(true)
    expect(changes.sinceLast('chain')).toBeLessThan(60_000)
    expect(await node).toBe(false)
    expect(changes.sinceLast('node')).toBe(Number.POSITIVE_INFINITY)
    changes.close()
    expect(changes.isWatching).toBe(false)
  })

  it('are not waited for after the time, or when the signal aborts', async () => {
    const changes = new FolderChanges(dir)
    expect(await changes.next('chain', 10)).toBe(false)
    const stop = new AbortController()
    const waited = changes.next('chain', 60_000, stop.signal)
    stop.abort()
    expect(await waited).toBe(false)
    expect(await changes.next('chain', 60_000, stop.signal)).toBe(false)
    changes.close()
  })

  it('are not noticed in a folder that cannot be watched, which is no error', async () => {
    const changes = new FolderChanges(join(dir, 'absent'))
    expect(changes.isWatching).toBe(false)
    expect(await changes.next('chain', 10)).toBe(false)
    changes.close()
  })
})

describe('waiting for the log', () => {
  /** Returns how often the file was read during half a second without a record. */
  async function readsWhileIdle(): Promise<number> {
    const log = await openEmbeddedLog(dir)
    await log.wait('chain', 0, 100)
    const last = vi.spyOn(RecordFile.prototype, 'last', 'get')
    await log.wait('chain', 0, 500)
    const reads = last.mock.calls.length
    await log.close()
    return reads
  }

  it.runIf(process.platform === 'linux')('reads it rarely while nothing is written', async () => {
    expect(await readsWhileIdle()).toBeLessThan(20)
  })

  it('ends with the record that another process has appended, whether changes are noticed or not', async () => {
    for (const isWatching of [true, false]) {
      if (!isWatching) vi.spyOn(FolderChanges.prototype, 'isWatching', 'get').mockReturnValue(false)
      const [reader, writer] = [await openEmbeddedLog(dir), await openEmbeddedLog(dir)]
      const next = (await reader.last('chain')) + 1
      const waited = reader.wait('chain', next, 60_000)
      await writer.append('chain', [Buffer.from('a')])
      await waited
      expect(await reader.last('chain')).toBe(next)
      await Promise.all([reader.close(), writer.close()])
    }
  })
})
