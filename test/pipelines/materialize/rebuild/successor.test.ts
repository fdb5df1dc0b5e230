import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openEmbeddedLog } from '../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../pipelines/log/port.js'
import { CannotReplay, assertBuildable } from '../../../../pipelines/materialize/rebuild/replay.js'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { type Head, writeHead } from '../../../../pipelines/tables/head.js'
import { createTables } from '../../../../pipelines/tables/schema-version.js'
import { servingDatabase } from '../../../../pipelines/tables/serving.js'
import {
  claimAgain,
  claimWriting,
  handOver,
  assertNewestWriter,
  newestWriter,
  numberAfter,
  Superseded,
} from '../../../../pipelines/tables/writers.js'
import { dropDatabase, useDatabase } from '../../../harness/engine.js'

const HEAD: Head = {
  ...{ position: 3, previous: -1, chain: 'regtest', tipHeight: 1, tipHash: 'ab'.repeat(32), finalHeight: -1 },
  ...{ epoch: 1, sequence: 3n, disconnected: [], connected: [], blocksBefore: 0, reorgsBefore: 0 },
  ...{ writtenAt: 1, writer: 0n, reached: false },
}

describe('a build', () => {
  const own = useDatabase()

  it('is refused with a reason', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const log = await openEmbeddedLog(folder)
    const db = own()
    const refusal = (name: string, from: Pick<EventLog, 'first' | 'last'> = log): Promise<void> =>
      assertBuildable(db, from, name)
    for (const name of ['', '1st', 'a-b', 'a b', 'x'.repeat(64), "a'b", 'a;b'])
      await expect(refusal(name), name).rejects.toThrow('consists of letters')
    await expect(refusal(db.name)).rejects.toThrow(`${db.name} is the database that serves`)
    await expect(refusal('other')).rejects.toThrow('nothing is indexed')
    await writeHead(db, HEAD)
    await expect(refusal('other')).rejects.toThrow('the log is empty')
    await log.append('chain', [Buffer.from('x')])
    const late = { first: () => Promise.resolve(7), last: () => Promise.resolve(9) }
    await expect(refusal('other', late)).rejects.toThrow('begins at position 7')
    await expect(refusal('system')).rejects.toThrow("tables that are not Headwater's")
    const query = db.query.bind(db)
    const replicated = vi.spyOn(db, 'query').mockImplementation(async (sql, ...rest) => {
      return sql.startsWith('SELECT engine') ? [{ engine: 'ReplicatedMergeTree' }] : query(sql, ...rest)
    })
    await expect(refusal('other')).rejects.toThrow('is replicated')
    replicated.mockRestore()
    await refusal('other')
    const index = db.sibling(`${db.name}_index`)
    await createTables(index)
    await refusal(index.name)
    await claimWriting(index, -1)
    await expect(refusal(index.name)).rejects.toThrow(CannotReplay)
    await expect(refusal(index.name)).rejects.toThrow('is an independent index')
    await claimWriting(index, -1, db.name)
    await refusal(index.name)
    await dropDatabase(index)
    await log.close()
  })
})

describe('a switch over', () => {
  const own = useDatabase()
  const another = useDatabase()

  it('does not happen in a run of the engine that lost rows, and is not announced if its row may be lost', async () => {
    const db = own()
    await writeHead(db, HEAD)
    vi.spyOn(db, 'guarded').mockImplementationOnce((_, insert) => insert('0'))
    expect(await handOver(db, 'other', HEAD)).toBe(false)
    expect(await servingDatabase(db)).toBe(db.name)
    vi.spyOn(db, 'assertNoLostWrites').mockRejectedValueOnce(new DatabaseUnavailable('rows were lost'))
    await expect(handOver(db, 'other', HEAD)).rejects.toThrow('rows were lost')
    await expect(handOver(db, 'other', HEAD)).rejects.toThrow(Superseded)
  })

  it('is final: a claim of the same moment is earlier, and one that was prepared before it and arrives after it is void', async () => {
    const db = another()
    await writeHead(db, HEAD)
    const first = await newestWriter(db)
    expect(await handOver(db, 'other', HEAD)).toBe(true)
    const handedOver = await newestWriter(db)
    for (let draw = 0; draw < 100; draw++) expect(numberAfter(first)).toBeLessThan(handedOver)
    const late = numberAfter(handedOver)
    await db.command(`INSERT INTO writers (writer, position) VALUES (${String(late)}, 0)`)
    expect(await servingDatabase(db)).toBe('other')
    await expect(assertNewestWriter(db, late)).rejects.toMatchObject({
      name: 'Superseded',
      successor: 'other',
    })
    await expect(claimWriting(db, HEAD.position)).rejects.toThrow(Superseded)
    await expect(claimAgain(db, { last: late, next: late + 1n }, 0)).rejects.toThrow('0 of 1 rows')
    const next = { ...HEAD, position: HEAD.position + 1, writer: late }
    await expect(writeHead(db, next)).rejects.toThrow('0 of 1 rows')
  })
})
