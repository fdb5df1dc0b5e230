import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { addressOf } from '../../../pipelines/chain/address.js'
import { sha256 } from '../../../pipelines/chain/hash.js'
import { scriptHash } from '../../../pipelines/chain/script.js'
import { openEmbeddedLog } from '../../../pipelines/log/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { writeHead } from '../../../pipelines/tables/head.js'
import { type Explorer, startExplorer } from '../../../services/explorer/explorer.js'
import { useDatabase } from '../../harness/engine.js'
import { getAnswer } from '../../harness/pipeline.js'

const TXS = 200_000
/** Four transactions a block; every tenth of them spends what the one before it received. */
const TIP = TXS / 4 - 1
const FINAL = TIP - 500
const SCRIPT = Buffer.from(`76a914${'22'.repeat(20)}88ac`, 'hex')
const ADDRESS = addressOf(SCRIPT, 'regtest') ?? ''
const hashAt = (height: number): string => sha256(Buffer.from(`block ${String(height)}`)).toString('hex')

/** Rows that the server may read for an answer, of 200,000: what makes it as quick as that of a short history. */
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
    await db.command(`INSERT INTO blocks (height, hash, prev_hash, tx_count, bits)
      SELECT number, ${block('number')}, ${block('number - 1')}, 4, 545259519 FROM numbers(${String(TIP + 1)})`)
    await db.command(`INSERT INTO script_txs SELECT ${script}, number + 1, intDiv(number, 4), ${block('intDiv(number, 4)')},
      number % 4, SHA256(toString(number)), 1771804800 + number, 1000, 0, (number + 1) * 1000, 0, number + 1, 0, 1771804800, 0, []
      FROM numbers(${String(TXS)})`)
    await db.command(`INSERT INTO script_outputs SELECT ${script}, 4294967295 - intDiv(number, 4), SHA256(toString(number)), 0, 0,
      intDiv(number, 4), ${block('intDiv(number, 4)')}, 1000 FROM numbers(${String(TXS)})`)
    // Rows of a branch that is being written: more of them than are looked at first, and none of them visible.
    await db.command(`INSERT INTO script_txs SELECT ${script}, ${String(TXS)} + number, ${String(TIP)}, SHA256('elsewhere'),
      number, SHA256(toString(number)), 0, 1, 0, 1, 0, 1, 0, 0, 0, [] FROM numbers(100)`)
    await writeHead(db, {
      ...{
        position: 7,
        previous: -1,
        chain: 'regtest',
        tipHeight: TIP,
        tipHash: hashAt(TIP),
        finalHeight: FINAL,
      },
      ...{ epoch: 1, sequence: 7n, disconnected: [], connected: [], blocksBefore: 0, reorgsBefore: 0 },
      writtenAt: Date.now(),
      writer: 0n,
      reached: true,
    })
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    explorer = await startExplorer({ port: 0, db, log, logger: pino({ level: 'silent' }) })
  })

  afterAll(async () => {
    await explorer.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  const get = (path: string) => getAnswer(`${explorer.url}/api/v1/address/${ADDRESS}${path}`)

  /** The rows that the server reads for an answer: its queries are asked again, each by itself, with what they were given. */
  async function rowsRead(path: string): Promise<number> {
    const query = vi.spyOn(Database.prototype, 'query')
    expect((await get(path)).status).toBe(200)
    const asked = query.mock.calls.filter(([sql]) => sql.includes('FROM script_txs'))
    query.mockRestore()
    expect(asked.length).toBeGreaterThan(0)
    const rows = await Promise.all(
      asked.map(async ([sql, params = {}]) => {
        const given = Object.entries(params).map(([name, value]) => [`param_${name}`, String(value)])
        const search = new URLSearchParams([
          ['database', database().name],
          ['wait_end_of_query', '1'],
          ...given,
        ])
        const response = await fetch(`${inject('engineUrl')}/?${search.toString()}`, {
          method: 'POST',
          body: sql,
        })
        expect(response.ok, await response.text()).toBe(true)
        const summary = JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}') as {
          read_rows?: string
        }
        return Number(summary.read_rows)
      }),
    )
    return rows.reduce((sum, each) => sum + each, 0)
  }

  it('answers its summary from a few rows, though rows of another branch stand at its end', async () => {
    const { body } = await get('')
    expect(body).toMatchObject({ tx_count: TXS, balance: String(TXS * 1000), unspent_count: TXS })
    expect(await rowsRead('/txs?limit=1&page=2')).toBeLessThan(SUMMARY_ROWS)
  })

  it('answers its first and its last page from a few rows', async () => {
    const first = await get('/txs?limit=100')
    expect(first.body.total).toBe(TXS)
    expect(first.body.items.map((item: { block_height: number }) => item.block_height)).toEqual(
      Array.from({ length: 100 }, (_, index) => TIP - Math.floor(index / 4)),
    )
    const last = await get('/txs?limit=100&page=2000')
    expect(last.body.items).toHaveLength(100)
    expect(last.body.items.at(-1)).toMatchObject({ block_height: 0, tx_index: 0 })
    expect((await get('/txs?limit=100&page=2001')).body.items).toEqual([])
    for (const path of ['/txs?limit=99', '/txs?limit=99&page=2020', '/txs?sort=asc&limit=50'])
      expect(await rowsRead(path), path).toBeLessThan(PAGE_ROWS)
  })

  it('answers the first and the last of its unspent outputs', async () => {
    const { body } = await get('/utxos?limit=500')
    expect(body.total).toBe(TXS)
    expect(body.items[0]).toMatchObject({ block_height: TIP, value: '1000', spent_txid: null })
    const last = await get(`/utxos?limit=500&offset=${String(TXS - 500)}`)
    expect(last.body.items).toHaveLength(500)
    expect(last.body.items.at(-1).block_height).toBe(0)
  })
})
