import { describe, expect, it, vi } from 'vitest'
import { DatabaseUnavailable } from '../../../../pipelines/tables/clickhouse.js'
import { writeHead } from '../../../../pipelines/tables/head.js'
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
import { useDatabase } from '../../../harness/engine.js'
import { headWith } from '../../../harness/heads.js'

const HEAD = headWith()

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
