import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { Database } from '../../../../pipelines/tables/clickhouse.js'
import { dropOldHistory } from '../../../../pipelines/tables/mempool/retention.js'
import {
  createMempoolTables,
  DROPPED_KEYS,
  DROPPED_TXS,
  FIRST_SEEN,
} from '../../../../pipelines/tables/mempool/tables.js'
import {
  BLOCK_DIFFERENCES,
  EXPECTED_BLOCKS,
  MEMPOOL_SAMPLES,
} from '../../../../pipelines/tables/mempool/history.js'
import { EncodedRows } from '../../../../pipelines/tables/rowbinary.js'

const HOUR_MS = 3_600_000
const DAY_S = 86_400
const NOW = Date.UTC(2026, 10, 28, 9)
const EVERYTHING = {
  droppedHours: 100_000,
  droppedBytes: 1e15,
  firstSeenDays: 100_000,
  mempoolMinutesDays: 100_000,
  mempoolHoursDays: 100_000,
  expectedBlocksDays: 100_000,
}

let db: Database

beforeEach(async () => {
  db = new Database({ url: inject('engineUrl'), database: `t_${String(process.pid)}_retention_mempool` })
  await createMempoolTables(db, false)
  // Incompressible transactions, one each six hours; the newest one left an hour ago.
  for (let age = 0; age < 8; age++) {
    const place = { left_at: NOW - (1 + 6 * age) * HOUR_MS, position: age, item: 0 }
    const raw = Buffer.from(Array.from({ length: 20_000 }, () => Math.floor(Math.random() * 256)))
    const txid = `${String(age)}0`.repeat(32)
    const tx = {
      ...place,
      txid,
      reason: 3,
      replaced_by: '00'.repeat(32),
      fee: 1n,
      vsize: 1,
      signalled: 2,
      raw,
    }
    await db.insert(new EncodedRows(DROPPED_TXS, [{ ...tx, first_seen: 1 }]))
    const key = { txid_prefix: txid.slice(0, 16), is_replacer: false, ...place }
    await db.insert(new EncodedRows(DROPPED_KEYS, [key]))
    const seen = { txid_prefix: txid.slice(0, 16), first_seen: NOW / 1000 - 30 * age * DAY_S }
    await db.insert(new EncodedRows(FIRST_SEEN, [seen]))
  }
})
afterEach(async () => {
  await db.command(`DROP DATABASE ${db.name} SYNC`)
  await db.close()
})

/** The ages in the tables: those of transactions and of their keys in steps of six hours, of times in steps of 30 days. */
async function ages(): Promise<string[]> {
  const of = async (sql: string): Promise<string> => {
    const rows = await db.query<{ age: string | number }>(`SELECT age FROM (${sql}) ORDER BY age`)
    return rows.map(({ age }) => Number(age)).join('')
  }
  return [
    await of('SELECT position AS age FROM dropped_txs'),
    await of('SELECT position AS age FROM dropped_keys'),
    await of(
      `SELECT intDiv(${String(NOW / 1000)} - first_seen, ${String(30 * DAY_S)}) AS age FROM first_seen`,
    ),
  ]
}

describe('the retention of the history of the mempool', () => {
  it('deletes nothing that is neither too old nor too much', async () => {
    await dropOldHistory(db, EVERYTHING, NOW)
    expect(await ages()).toEqual(['01234567', '01234567', '01234567'])
  })

  it('deletes transactions that left before the limit, at most six hours late, with their keys', async () => {
    await dropOldHistory(db, { ...EVERYTHING, droppedHours: 18 }, NOW)
    const [txs, keys, seen] = await ages()
    // They left 1, 7 and 13 hours ago; that of 19 hours ago may share its partition with one of 18.
    expect(['012', '0123']).toContain(txs)
    expect([keys, seen]).toEqual([txs, '01234567'])
    await dropOldHistory(db, { ...EVERYTHING, droppedHours: 24 }, NOW + 24 * HOUR_MS + 6 * HOUR_MS)
    expect((await ages()).slice(0, 2)).toEqual(['', ''])
  })

  it('deletes the oldest ones if all of them are larger than the limit, even the newest', async () => {
    await dropOldHistory(db, { ...EVERYTHING, droppedBytes: 75_000 }, NOW)
    expect(await ages()).toEqual(['012', '012', '01234567'])
    await dropOldHistory(db, { ...EVERYTHING, droppedBytes: 0 }, NOW)
    expect(await ages()).toEqual(['', '', '01234567'])
  })

  it('deletes times at which confirmed transactions were first seen, at most 30 days late', async () => {
    await dropOldHistory(db, { ...EVERYTHING, firstSeenDays: 90 }, NOW)
    const [txs, , seen] = await ages()
    expect(['0123', '01234']).toContain(seen)
    expect(txs).toBe('01234567')
  })

  it('deletes samples by minute and by hour, and expected blocks, but no samples by day', async () => {
    const sample = { taken_at: NOW, tx_count: 1, vsize: 1, fees: 1n, min_fee: -1, entered: 1, bands: [] }
    const sums = (kind: string) => ({
      [`${kind}_count`]: 1,
      [`${kind}_weight`]: 1,
      [`${kind}_vsize`]: 1,
      [`${kind}_fees`]: 1n,
    })
    const block = { height: 1, hash: '01'.repeat(32), observed_at: NOW }
    const rows = [0, 5, 70, 500].flatMap((days) => {
      const start = NOW / 1000 - days * DAY_S
      return [60, 3_600, 86_400].map((step) => ({ ...sample, step, start: start - (start % step) }))
    })
    await db.insert(new EncodedRows(MEMPOOL_SAMPLES, rows))
    for (const days of [0, 70]) {
      const seen_at = NOW - days * DAY_S * 1000
      const own = { ...block, seen_at, ...sums('expected'), ...sums('mined'), ...sums('matched') }
      await db.insert(new EncodedRows(EXPECTED_BLOCKS, [own as never]))
      const tx = { txid: '02'.repeat(32), fee: 1n, vsize: 1, rated_fee: 1n, rated_vsize: 1, reason: 'unseen' }
      const difference = { height: 1, hash: block.hash, seen_at, kind: 1, item: 0, ...tx }
      await db.insert(new EncodedRows(BLOCK_DIFFERENCES, [difference]))
    }
    const limits = { mempoolMinutesDays: 3, mempoolHoursDays: 100, expectedBlocksDays: 30 }
    await dropOldHistory(db, { ...EVERYTHING, ...limits }, NOW)
    const counts = await db.query<{ name: string; count: string }>(
      `SELECT toString(step) AS name, count() AS count FROM mempool_samples GROUP BY step
       UNION ALL SELECT 'blocks', count() FROM expected_blocks
       UNION ALL SELECT 'differences', count() FROM block_differences`,
    )
    // Partitions of 42 days of hours: that of 70 days ago stays.
    expect(Object.fromEntries(counts.map(({ name, count }) => [name, Number(count)]))).toEqual({
      '60': 1,
      '3600': 3,
      '86400': 4,
      blocks: 1,
      differences: 1,
    })
  })
})
