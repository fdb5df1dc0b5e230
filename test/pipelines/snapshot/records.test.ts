import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { appendRecords, recordsFile } from '../../../pipelines/snapshot/records.js'
import { valuesOf, WithoutBeginning } from '../../harness/switch-log.js'

const VALUES = Array.from({ length: 300 }, (_, at) => Buffer.alloc(1 + ((at * 37) % 90_000), at % 256))

describe('a file of records', () => {
  let folder: string
  let from: EventLog
  let to: EventLog

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-records-'))
    from = await openEmbeddedLog(join(folder, 'from'))
    to = await openEmbeddedLog(join(folder, 'to'))
    await from.append('chain', VALUES)
  })
  afterEach(async () => {
    await Promise.all([from.close(), to.close()])
    await rm(folder, { recursive: true, force: true })
  })

  async function expectSameRecords(): Promise<void> {
    const values = await valuesOf(to, 'chain')
    expect(values.map(({ length }) => length)).toEqual(VALUES.map(({ length }) => length))
    expect(Buffer.concat(values).equals(Buffer.concat(VALUES))).toBe(true)
  }

  async function fileOf(
    first: number,
    last: number,
    fileBytes = 1e9,
  ): Promise<{ path: string; last: number }> {
    const { content, written } = recordsFile(from, 'chain', { from: first, to: last, fileBytes })
    const path = join(folder, `${String(first)}.gz`)
    await pipeline(content, createWriteStream(path))
    expect(written.rows).toBe(written.last - first + 1)
    return { path, last: written.last }
  }

  it('ends with the record that reaches its size, and the next one continues', async () => {
    let next = 0
    let files = 0
    while (next < VALUES.length) {
      const { path, last } = await fileOf(next, VALUES.length - 1, 400_000)
      await appendRecords(to, 'chain', path, next)
      next = last + 1
      files++
    }
    expect(files).toBeGreaterThan(3)
    await expectSameRecords()
  })

  it('is continued after the records that the topic has, and appended only once', async () => {
    const { path } = await fileOf(0, 299)
    await to.append('chain', VALUES.slice(0, 113))
    await appendRecords(to, 'chain', path, 0)
    await appendRecords(to, 'chain', path, 0)
    await expectSameRecords()
  })

  it('is refused if it does not continue the topic, or is not one of records', async () => {
    const { path } = await fileOf(5, 20)
    await expect(appendRecords(to, 'chain', path, 5)).rejects.toThrow('topic chain has no record 4')
    const cut = join(folder, 'cut.gz')
    await writeFile(cut, gzipSync(Buffer.from([9, 0, 0, 0, 1, 2])))
    await expect(appendRecords(to, 'chain', cut, 0)).rejects.toThrow('cut.gz ends within a record')
    await writeFile(cut, gzipSync(Buffer.alloc(9_000, 1)).subarray(0, 20))
    await expect(appendRecords(to, 'chain', cut, 0)).rejects.toThrow()
    expect(await to.last('chain')).toBe(-1)
  })

  it('is not made of a topic that has lost records', async () => {
    const cut = new WithoutBeginning(from, 7)
    const { content } = recordsFile(cut, 'chain', { from: 5, to: 20, fileBytes: 1e9 })
    const file = createWriteStream(join(folder, 'cut'))
    await expect(pipeline(content, file)).rejects.toThrow('topic chain has lost record 5 meanwhile')
  })

  it('is refused if another process appends to the topic', async () => {
    const { path } = await fileOf(0, 299)
    const append: EventLog['append'] = async (topic, values) => {
      await to.append(topic, [Buffer.from('another')])
      return to.append(topic, values)
    }
    const shared = Object.assign(Object.create(to) as EventLog, {
      append,
      last: to.last.bind(to),
    })
    await expect(appendRecords(shared, 'chain', path, 0)).rejects.toThrow(/another process has written to it/)
  })
})
