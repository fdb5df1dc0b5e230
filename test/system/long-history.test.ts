import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { addressOf } from '../../pipelines/chain/address.js'
import { scriptHash } from '../../pipelines/chain/script.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { writeHead } from '../../pipelines/tables/head.js'
import { type Explorer, startExplorer } from '../../services/explorer/host/explorer.js'
import { newestWhales } from '../../services/explorer/core/tables/transactions.js'
import { BUSY, writeBusyScript } from '../harness/busy-script.js'
import { Counting } from '../harness/counting.js'
import { useDatabase } from '../harness/engine.js'
import { getAnswer } from '../harness/pipeline.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { headWith } from '../harness/heads.js'

const TXS = 200_000
/** Four transactions per block; every tenth of them spends what the one before it received. */
const TIP = TXS / 4 - 1
const FINAL = TIP - 500
const SCRIPT = Buffer.from(`76a914${'22'.repeat(20)}88ac`, 'hex')
const ADDRESS = addressOf(SCRIPT, REGTEST) ?? ''
/** A million outputs, of which 990,000 are spent. */
const BUSY_SCRIPT = Buffer.from(`76a914${'33'.repeat(20)}88ac`, 'hex')
const BUSY_ADDRESS = addressOf(BUSY_SCRIPT, REGTEST) ?? ''
const hashAt = BUSY.hashAt

/**
 * The number of rows, of 200,000, that the server may read for an answer, so that it is as fast as for a short
 * history.
 */
const SUMMARY_ROWS = 5_000
const PAGE_ROWS = 20_000

describe('an address with 200,000 transactions', () => {
  const database = useDatabase()
  let folder: string
  let log: EventLog
  let explorer: Explorer

  beforeAll(async () => {
    const db = database()
    const script = `unhex('${scriptHash(SCRIPT)}')`
    const block = (height: string) => `SHA256(concat('block ', toString(${height})))`
    const tag = (height: string) => `reinterpretAsUInt32(reverse(substring(${block(height)}, 29, 4)))`
    const at = `intDiv(number, 4) AS height, ${tag('intDiv(number, 4)')} AS block_tag`
    await db.command(`INSERT INTO blocks (height, hash, block_tag, prev_hash, tx_count, bits, time) SELECT number,
      ${block('number')}, ${tag('number')}, ${block('number - 1')}, 4, 545259519, 1771804800 + number
      FROM numbers(${String(TIP + 1)})`)
    const totals = 'total_received, unspent_count'
    await db.command(`INSERT INTO script_txs (script_hash, ordinal, height, block_tag, tx_index, ${totals}) SELECT ${script},
      number + 1, ${at}, number % 4, (number + 1) * 1000, number + 1 FROM numbers(${String(TXS)})`)
    await db.command(`INSERT INTO block_txs (height, block_tag, tx_index, txid) SELECT ${at}, number % 4,
      SHA256(toString(number)) FROM numbers(${String(TXS)})`)
    await db.command(`INSERT INTO script_outputs SELECT ${script}, 0, 4294967295 - intDiv(number, 4),
      substring(SHA256(toString(number)), 1, 16), 0, 0, ${tag('intDiv(number, 4)')}, number % 4, 1000 FROM numbers(${String(TXS)})`)
    await writeBusyScript(db, scriptHash(BUSY_SCRIPT))
    // Rows of a branch that is being written: more of them than are read first, and none of them visible.
    await db.command(`INSERT INTO script_txs (script_hash, ordinal, height, block_tag, tx_index, ${totals}) SELECT ${script},
      ${String(TXS)} + number, ${String(TIP)}, 1, number, 1, 1 FROM numbers(100)`)
    await writeHead(
      db,
      headWith({
        position: 7,
        tipHeight: TIP,
        tipHash: hashAt(TIP),
        finalHeight: FINAL,
        sequence: 7n,
        writtenAt: Date.now(),
        reached: true,
      }),
    )
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    explorer = await startExplorer({
      port: 0,
      answerDeadlineMs: PATIENT_DEADLINE_MS,
      db,
      log,
      logger: pino({ level: 'silent' }),
    })
  })

  afterAll(async () => {
    await explorer.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  const get = (path: string) => getAnswer(`${explorer.url}/api/v1/address/${path}`)

  /**
   * Counts the rows that the server reads for an answer: its queries are run again, one by one, with the same
   * parameters.
   */
  async function rowsRead(path: string): Promise<number> {
    const spies = [vi.spyOn(Database.prototype, 'query'), vi.spyOn(Database.prototype, 'bytes')] as const
    expect((await get(path)).status).toBe(200)
    const calls = spies.flatMap(({ mock }) => mock.calls.map(([sql, params]) => [sql, params] as const))
    const requested = calls.filter(([sql]) => /FROM (script_|unspent_|block_txs)/.test(sql))
    for (const spy of spies) spy.mockRestore()
    expect(requested.length).toBeGreaterThan(0)
    const counting = new Counting(database())
    for (const [sql, params = {}] of requested) await counting.query(sql, params)
    return counting.rows
  }

  it('answers its summary from a few rows, even if rows of another branch follow its own', async () => {
    const { body } = await get(ADDRESS)
    expect(body).toMatchObject({ tx_count: TXS, balance: String(TXS * 1000), unspent_count: TXS })
    expect(await rowsRead(`${ADDRESS}/txs?limit=1&page=2`)).toBeLessThan(SUMMARY_ROWS)
  })

  it('answers its first and its last page from a few rows', async () => {
    const first = await get(`${ADDRESS}/txs?limit=100`)
    expect(first.body.total).toBe(TXS)
    expect(first.body.items.map((item: { block_height: number }) => item.block_height)).toEqual(
      Array.from({ length: 100 }, (_, index) => TIP - Math.floor(index / 4)),
    )
    const last = await get(`${ADDRESS}/txs?limit=100&page=2000`)
    expect(last.body.items).toHaveLength(100)
    expect(last.body.items.at(-1)).toMatchObject({ block_height: 0, tx_index: 0 })
    expect((await get(`${ADDRESS}/txs?limit=100&page=2001`)).body.items).toEqual([])
    for (const path of ['/txs?limit=99', '/txs?limit=99&page=2020', '/txs?sort=asc&limit=50'])
      expect(await rowsRead(ADDRESS + path), path).toBeLessThan(PAGE_ROWS)
  })

  it('answers as of an early block from a few rows', async () => {
    const height = 30_001
    const path = `${ADDRESS}?at=${String(height)}`
    expect(await rowsRead(path)).toBeLessThan(PAGE_ROWS)
    const txs = 4 * (height + 1)
    const { body, headers } = await get(path)
    expect(body).toMatchObject({ tx_count: txs, balance: String(txs * 1000), unspent_count: txs })
    expect([headers.get('x-chain-height'), headers.get('x-chain-tip')]).toEqual([
      String(height),
      hashAt(height),
    ])
    expect((await get(`${ADDRESS}?at=0`)).body.tx_count).toBe(4)
    const history = `${ADDRESS}/txs?limit=99&at=${String(height)}`
    expect(await rowsRead(history)).toBeLessThan(PAGE_ROWS)
    expect((await get(history)).body).toMatchObject({ total: txs, items: { 0: { block_height: height } } })
    const unspent = `${ADDRESS}/utxos?limit=500&at=${String(height)}`
    expect(await rowsRead(unspent)).toBeLessThan(1.5 * PAGE_ROWS)
    expect((await get(unspent)).body).toMatchObject({ total: txs, items: { 0: { block_height: height } } })
  })

  it('answers the first and the last of its unspent outputs', async () => {
    const { body } = await get(`${ADDRESS}/utxos?limit=500`)
    expect(body.total).toBe(TXS)
    expect(body.items[0]).toMatchObject({ block_height: TIP, value: '1000', spent_txid: null })
    const last = await get(`${ADDRESS}/utxos?limit=500&offset=${String(TXS - 500)}`)
    expect(last.body.items).toHaveLength(500)
    expect(last.body.items.at(-1).block_height).toBe(0)
  })

  it('answers no page of unspent outputs from more than a few rows if they were spent long ago', async () => {
    const listed = BUSY.listed()
    for (const [offset, limit] of [
      [0, 500],
      [0, 1],
      [4_700, 100],
      [BUSY.unspent - 500, 500],
      [BUSY.unspent - 3, 100],
    ] as const) {
      const path = `${BUSY_ADDRESS}/utxos?limit=${String(limit)}&offset=${String(offset)}`
      // First, because a later answer would come from the cache.
      expect(await rowsRead(path), path).toBeLessThan(PAGE_ROWS)
      const { body } = await get(path)
      expect(body.total).toBe(BUSY.unspent)
      expect(body.items.map(({ txid }: { txid: string }) => txid)).toEqual(
        listed.slice(offset, offset + limit).map(({ txid }) => txid),
      )
    }
  })
})

describe('a million transactions of which twenty move large amounts', () => {
  const database = useDatabase()
  const RARE = 1_000_000_000_000n
  const filter = 'height < 1000000'

  beforeAll(async () => {
    // Between two large ones there are more transactions than fit into one granule.
    await database().command(
      `INSERT INTO block_txs (height, block_tag, tx_index, txid, moved) SELECT intDiv(number, 10) AS height,
       intHash32(height), number % 10, SHA256(toString(number)), if(number % 50000 = 77, 2 * ${String(RARE)}, number % 1000)
       FROM numbers(1000000)`,
    )
  })

  it.each([
    [20, 20],
    [100, 20],
    [5, 5],
  ])('%i whale alerts are found in the rows around the existing ones', async (limit, count) => {
    const counting = new Counting(database())
    const found = await newestWhales(counting, RARE, filter, limit)
    expect(found.map(({ height }) => height)).toEqual(
      Array.from({ length: count }, (_, index) => 5000 * (19 - index) + 7),
    )
    expect(counting.rows).toBeLessThanOrEqual(count * 1024 + 1024)
  })
})
