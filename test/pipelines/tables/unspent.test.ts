import { beforeAll, describe, expect, it } from 'vitest'
import { sha256 } from '../../../pipelines/chain/hash.js'
import { chainFilter } from '../../../pipelines/tables/chain-view.js'
import type { Database } from '../../../pipelines/tables/clickhouse.js'
import {
  type Asks,
  buildList,
  changesAbove,
  dropOldLists,
  newestList,
  unspentPage,
} from '../../../pipelines/tables/unspent.js'
import { useDatabase, useEngine } from '../../harness/engine.js'

const hex = (text: string): string => sha256(Buffer.from(text)).toString('hex')
const SCRIPT = hex('script')
const EMPTY = { height: -1, hash: '00'.repeat(32), size: 0 }

/** Asks the server, and adds up the rows that it read. */
class Counting implements Asks {
  rows = 0
  constructor(private readonly db: Database) {}

  async query<T>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<T[]> {
    const url = new URL(useEngine())
    const named = Object.entries(params).map(([name, value]) => [`param_${name}`, String(value)])
    const settings = {
      database: this.db.name,
      wait_end_of_query: '1',
      default_format: 'JSONEachRow',
      output_format_json_quote_64bit_integers: '1',
    }
    url.search = String(new URLSearchParams([...Object.entries(settings), ...named] as [string, string][]))
    const answer = await fetch(url, { method: 'POST', body: sql })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text)
    const summary = JSON.parse(answer.headers.get('x-clickhouse-summary') ?? '{}') as { read_rows: string }
    this.rows += Number(summary.read_rows)
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T)
  }
}

describe('the unspent outputs of a script with a million of them, of which 990,000 are spent', () => {
  const database = useDatabase()
  const BLOCKS = 2_000
  const PER_BLOCK = 500
  const TIP = BLOCKS + 100
  /** The list is of a block below the tip: the last spends are above it. */
  const AT = { height: TIP - 10, hash: hex(`block ${String(TIP - 10)}`) }
  const TOTAL = 10_000
  const filter = `height <= ${String(TIP)}`

  beforeAll(async () => {
    const db = database()
    const script = `unhex('${SCRIPT}')`
    const block = (height: string) => `SHA256(concat('block ', toString(${height})))`
    const all = `SELECT number AS n, intDiv(n, ${String(PER_BLOCK)}) AS made, 4294967295 - made AS depth, SHA256(toString(n)) AS txid,
      least(made + 1 + n % 100, ${String(TIP)}) AS gone FROM numbers(${String(BLOCKS * PER_BLOCK)})`
    await db.command(
      `INSERT INTO script_outputs SELECT ${script}, depth, txid, 0, 0, made, ${block('made')}, 1000 + n FROM (${all})`,
    )
    // One in a hundred is left; the last 1,100 that were spent were so above the list.
    const spent = `SELECT *, if(n % 1000 = 1, ${String(TIP - 5)}, gone) AS at FROM (${all}) WHERE n % 100 != 0`
    await db.command(
      `INSERT INTO script_outputs SELECT ${script}, depth, txid, 0, 1, at, ${block('at')}, 1000 + n FROM (${spent})`,
    )
    await db.command(
      `INSERT INTO script_spends SELECT ${script}, at, ${block('at')}, depth, txid, 0 FROM (${spent})`,
    )
    await buildList(db, { scriptHash: SCRIPT, filter: `height <= ${String(AT.height)}` }, EMPTY, AT)
  })

  it('come page by page without those that were spent, in as many rows as a page may read', async () => {
    const list = await newestList(database(), { scriptHash: SCRIPT, filter })
    expect(list.height).toBe(AT.height)
    expect(await changesAbove(database(), { scriptHash: SCRIPT, filter }, list)).toBeGreaterThanOrEqual(1_000)
    const expected = Array.from({ length: TOTAL }, (_, index) => index * 100).map((n) => ({
      txid: hex(String(n)),
      vout: 0,
      height: Math.floor(n / PER_BLOCK),
      value: String(1000 + n),
    }))
    expected.sort((one, other) => other.height - one.height || (one.txid < other.txid ? -1 : 1))
    for (const [offset, limit] of [
      [0, 500],
      [0, 1],
      [250, 100],
      [5_000, 500],
      [9_499, 500],
      [9_990, 100],
    ] as const) {
      const db = new Counting(database())
      const page = await unspentPage(db, { scriptHash: SCRIPT, filter }, { limit, offset, total: TOTAL })
      expect(page, String(offset)).toEqual(expected.slice(offset, offset + limit))
      expect(db.rows, String(offset)).toBeLessThanOrEqual(20_000)
    }
  })
})

describe('lists of unspent outputs', () => {
  const database = useDatabase()
  const FORK = 50
  const hashOf = (height: number, branch: string): string =>
    hex(`${height > FORK ? branch : ''} ${String(height)}`)
  const filterOf = (tip: number, branch: string): string => {
    const tail = Array.from({ length: tip - 30 }, (_, index) => hashOf(31 + index, branch))
    return chainFilter(30, tail, [], 'height', 'block_hash')
  }

  interface Coin {
    readonly txid: string
    readonly height: number
    readonly value: number
  }

  /** Outputs by a made-up chain: some are spent, on each of two branches others. */
  beforeAll(async () => {
    const [outputs, spends]: [string[], string[]] = [[], []]
    const row = (height: number, hash: string): string => `${String(height)}, unhex('${hash}')`
    let seed = 7
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (const branch of ['a', 'b']) {
      const unspent: Coin[] = []
      seed = 7
      for (let height = 0; height <= 70; height++) {
        if (height === FORK + 1 && branch === 'b') seed = 11
        const hash = hashOf(height, branch)
        for (let index = 0; index < 6; index++) {
          const coin = { txid: hex(`${hash} ${String(index)}`), height, value: random(1_000) }
          unspent.push(coin)
          const depth = 4_294_967_295 - height
          outputs.push(
            `(unhex('${SCRIPT}'), ${String(depth)}, unhex('${coin.txid}'), 0, 0, ${row(height, hash)}, ${String(coin.value)})`,
          )
        }
        for (let index = 0; index < 5; index++) {
          const [coin] = unspent.splice(random(unspent.length), 1)
          if (coin === undefined) continue
          const key = `${String(4_294_967_295 - coin.height)}, unhex('${coin.txid}'), 0`
          outputs.push(`(unhex('${SCRIPT}'), ${key}, 1, ${row(height, hash)}, ${String(coin.value)})`)
          spends.push(`(unhex('${SCRIPT}'), ${row(height, hash)}, ${key})`)
        }
      }
    }
    await database().command(`INSERT INTO script_outputs VALUES ${outputs.join(', ')}`)
    await database().command(`INSERT INTO script_spends VALUES ${spends.join(', ')}`)
  })

  /** By all rows, as if there were no list. */
  const plain = async (filter: string) => {
    const rows = await database().query<{ txid: string; made: number; value: string }>(
      `SELECT lower(hex(txid)) AS txid, any(toUInt32(4294967295 - depth)) AS made, toString(any(script_outputs.value)) AS value FROM script_outputs
       WHERE ${filter} GROUP BY script_outputs.txid HAVING max(spent) = 0 ORDER BY any(depth), txid`,
    )
    return rows.map(({ txid, made, value }) => ({ txid, vout: 0, height: made, value }))
  }

  it('give every page as it is without them, whatever was listed, on either branch', async () => {
    const db = database()
    const build = async (tip: number, branch: string): Promise<void> => {
      const of = { scriptHash: SCRIPT, filter: filterOf(tip, branch) }
      await buildList(db, of, await newestList(db, of), { height: tip, hash: hashOf(tip, branch) })
    }
    const steps: readonly (readonly [number, string])[] = [
      [0, 'a'],
      [35, 'a'],
      [45, 'a'],
      [60, 'a'],
      [60, 'a'],
      [66, 'b'],
    ]
    let compared = 0
    for (const [tip, branch] of steps) {
      if (tip > 0) await build(tip, branch)
      for (const [top, of] of [
        [70, 'a'],
        [70, 'b'],
        [66, 'b'],
        [52, 'a'],
      ] as const) {
        const filter = filterOf(top, of)
        const all = await plain(filter)
        expect(all.length).toBeGreaterThan(40)
        for (const [offset, limit] of [
          [0, 500],
          [0, 7],
          [9, 3],
          [20, 20],
          [all.length - 2, 10],
        ] as const) {
          const page = { limit, offset, total: all.length }
          expect(await unspentPage(db, { scriptHash: SCRIPT, filter }, page)).toEqual(
            all.slice(offset, offset + limit),
          )
          compared++
        }
      }
    }
    expect(compared).toBe(120)
    expect((await newestList(db, { scriptHash: SCRIPT, filter: filterOf(70, 'b') })).height).toBe(66)
  })

  it('are dropped when newer ones have taken their place for longer than a query takes; a page does not need them', async () => {
    const db = database()
    await db.command(
      `ALTER TABLE unspent_lists UPDATE built_at = now64(3) - INTERVAL 1 HOUR WHERE 1 SETTINGS mutations_sync = 1`,
    )
    await dropOldLists(db)
    const heights = await db.query<{ at: number }>(
      'SELECT DISTINCT height AS at FROM unspent_lists ORDER BY at',
    )
    expect(heights.map(({ at }) => at)).toEqual([60, 66])
    const rows = await db.query<{ at: number }>(
      'SELECT DISTINCT at_height AS at FROM unspent_outputs ORDER BY at',
    )
    expect(rows.map(({ at }) => at)).toEqual([60, 66])
    // Rows that are gone although their list stands there: as if a deletion had been cut off.
    await db.command('ALTER TABLE unspent_outputs DELETE WHERE at_height = 66 SETTINGS mutations_sync = 1')
    const filter = filterOf(70, 'b')
    const all = await plain(filter)
    const page = { limit: 30, offset: 30, total: all.length }
    expect(await unspentPage(db, { scriptHash: SCRIPT, filter }, page)).toEqual(all.slice(30, 60))
  })
})
