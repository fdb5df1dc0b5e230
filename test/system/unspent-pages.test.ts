import { beforeAll, describe, expect, it } from 'vitest'
import { blockTag } from '../../pipelines/chain/block.js'
import { sha256 } from '../../pipelines/chain/hash.js'
import { chainTagFilter } from '../../pipelines/tables/chain-view.js'
import {
  buildList,
  changesAbove,
  dropOldLists,
  dropUnfinishedLists,
  newestList,
  type UnspentOutput,
  unspentPage,
} from '../../pipelines/tables/lists/unspent.js'
import { claimWriting, Superseded } from '../../pipelines/tables/writers.js'
import { BUSY, tagOf, writeBusyScript } from '../harness/busy-script.js'
import { Counting } from '../harness/counting.js'
import { useDatabase } from '../harness/engine.js'

const hex = (text: string): string => sha256(Buffer.from(text)).toString('hex')
const SCRIPT = hex('script').slice(0, 40)

describe('the unspent outputs of a script with a million of them, of which 990,000 are spent', () => {
  const database = useDatabase()
  const filter = `height <= ${String(BUSY.tip)}`

  beforeAll(() => writeBusyScript(database(), SCRIPT))

  it('are returned page by page without the spent ones, from no more rows than a page may read', async () => {
    const list = await newestList(database(), { scriptHash: SCRIPT, filter })
    expect(list.height).toBe(BUSY.listedAt)
    expect(await changesAbove(database(), { scriptHash: SCRIPT, filter }, list)).toBeGreaterThanOrEqual(1_000)
    const expected = BUSY.listed()
    for (const [offset, limit] of [
      [0, 500],
      [0, 1],
      [250, 100],
      [5_000, 500],
      [9_499, 500],
      [9_990, 100],
    ] as const) {
      const db = new Counting(database())
      const of = { scriptHash: SCRIPT, filter }
      const page = await unspentPage(db, of, await newestList(db, of), { limit, offset, total: BUSY.unspent })
      expect(page, String(offset)).toEqual(expected.slice(offset, offset + limit))
      expect(db.rows, String(offset)).toBeLessThanOrEqual(20_000)
    }
  })
})

describe('lists of unspent outputs', () => {
  const database = useDatabase()
  const FORK = 50
  const FIRST_LIST = 35
  const hashOf = (height: number, branch: string): string =>
    hex(`${height > FORK ? branch : ''} ${String(height)}`)
  const filterOf = (tip: number, branch: string): string => {
    const tail = Array.from(
      { length: tip - 30 },
      (_, index) => [31 + index, hashOf(31 + index, branch)] as const,
    )
    return chainTagFilter(30, tail, [])
  }

  interface Coin {
    readonly txid: string
    readonly height: number
    readonly value: number
  }

  /** Outputs of an invented chain: some are spent, different ones on each of two branches. */
  beforeAll(async () => {
    const [outputs, txs, totals]: [string[], string[], string[]] = [[], [], []]
    const row = (height: number, hash: string): string => `${String(height)}, ${String(blockTag(hash))}`
    let seed = 7
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (const branch of ['a', 'b']) {
      const unspent: Coin[] = []
      seed = 7
      for (let height = 0; height <= 70; height++) {
        if (height === FORK + 1 && branch === 'b') seed = 11
        const hash = hashOf(height, branch)
        const depth = String(4_294_967_295 - height)
        for (let index = 0; index < 6; index++) {
          // The first 15 bytes of all txids of a block are the same.
          const txid = `${hex(hash).slice(0, 30)}0${String(index)}${hex(`${hash} ${String(index)}`).slice(32)}`
          const coin = { txid, height, value: random(1_000) }
          unspent.push(coin)
          outputs.push(
            `(unhex('${SCRIPT}'), 0, ${depth}, unhex('${coin.txid.slice(0, 32)}'), 0, 0, ${String(blockTag(hash))}, ${String(index)}, ${String(coin.value)})`,
          )
          txs.push(`(${row(height, hash)}, ${String(index)}, unhex('${coin.txid}'))`)
        }
        for (let index = 0; index < 5; index++) {
          const [coin] = unspent.splice(random(unspent.length), 1)
          if (coin === undefined) continue
          const of = `unhex('${coin.txid.slice(0, 32)}'), 0, ${String(height - coin.height)}`
          outputs.push(
            `(unhex('${SCRIPT}'), 1, ${depth}, ${of}, ${String(blockTag(hash))}, 0, ${String(coin.value)})`,
          )
        }
        totals.push(
          `(unhex('${SCRIPT}'), ${String(height + 1)}, ${row(height, hash)}, ${String(unspent.length)})`,
        )
      }
    }
    await database().command(`INSERT INTO script_outputs VALUES ${outputs.join(', ')}`)
    await database().command(
      `INSERT INTO block_txs (height, block_tag, tx_index, txid) VALUES ${txs.join(', ')}`,
    )
    const columns = 'script_hash, ordinal, height, block_tag, unspent_count'
    await database().command(`INSERT INTO script_txs (${columns}) VALUES ${totals.join(', ')}`)
  })

  /** From all rows, as if there were no list. */
  const plain = async (filter: string) => {
    const rows = await database().query<{ prefix: string; made: number; value: string }>(
      `SELECT lower(hex(txid_prefix)) AS prefix, any(output_height) AS made, toString(any(script_outputs.value)) AS value FROM script_outputs
       WHERE ${filter} GROUP BY txid_prefix HAVING max(spent) = 0 ORDER BY any(output_height) DESC, prefix`,
    )
    const txs = await database().query<{ place: string; txid: string }>(
      `SELECT concatWithSeparator(' ', height, block_tag, tx_index) AS place, lower(hex(block_txs.txid)) AS txid FROM block_txs`,
    )
    const byPlace = new Map(txs.map(({ place, txid }) => [place, txid]))
    const byPrefix = new Map(txs.map(({ place, txid }) => [txid.slice(0, 32), { place, txid }]))
    const all = rows.map(({ prefix, made, value }) => {
      const { place = '', txid = 'missing' } = byPrefix.get(prefix) ?? {}
      return { txid, vout: 0, height: made, txIndex: Number(place.split(' ')[2]), value }
    })
    /** Returns the outputs of a page with their txids, which those that are in no list do not have. */
    const named = (page: readonly UnspentOutput[]) =>
      page.map(({ txid, vout, height, blockTag, txIndex, value }) => {
        const place = [height, blockTag, txIndex].join(' ')
        return { txid: txid ?? byPlace.get(place), vout, height, txIndex, value }
      })
    return { all, named }
  }

  it('give every page as it is without them, whatever was listed, on either branch', async () => {
    const db = database()
    const build = async (tip: number, branch: string): Promise<void> => {
      const of = { scriptHash: SCRIPT, filter: filterOf(tip, branch) }
      await buildList(db, of, await newestList(db, of), { height: tip, hash: hashOf(tip, branch) }, 0n)
    }
    const steps: readonly (readonly [number, string])[] = [
      [0, 'a'],
      [FIRST_LIST, 'a'],
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
        const { all, named } = await plain(filter)
        expect(all.length).toBeGreaterThan(40)
        for (const [offset, limit] of [
          [0, 500],
          [0, 7],
          [9, 3],
          [20, 20],
          [all.length - 2, 10],
        ] as const) {
          const page = { limit, offset, total: all.length }
          const list = await newestList(db, { scriptHash: SCRIPT, filter })
          expect(named(await unspentPage(db, { scriptHash: SCRIPT, filter }, list, page))).toEqual(
            all.slice(offset, offset + limit),
          )
          compared++
        }
      }
    }
    expect(compared).toBe(120)
    expect((await newestList(db, { scriptHash: SCRIPT, filter: filterOf(70, 'b') })).height).toBe(66)
  })

  it('are dropped when newer ones have replaced them for longer than a query takes; a page does not need them', async () => {
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
    // Rows that are missing although their list exists, as after an interrupted deletion.
    await db.command('ALTER TABLE unspent_outputs DELETE WHERE at_height = 66 SETTINGS mutations_sync = 1')
    const filter = filterOf(70, 'b')
    const { all, named } = await plain(filter)
    const page = { limit: 30, offset: 30, total: all.length }
    const list = await newestList(db, { scriptHash: SCRIPT, filter })
    expect(named(await unspentPage(db, { scriptHash: SCRIPT, filter }, list, page))).toEqual(
      all.slice(30, 60),
    )
  })
})

describe('a list of unspent outputs', () => {
  const database = useDatabase()
  const of = { scriptHash: SCRIPT, filter: 'height <= 3' }
  const none = { height: -1, tag: 0, size: 0 }
  const at = { height: 3, hash: hex('3') }

  beforeAll(async () => {
    const script = `unhex('${SCRIPT}')`
    await database().command(
      `INSERT INTO script_outputs SELECT ${script}, 0, 4294967295 - number, substring(SHA256(toString(number)), 1, 16), 0, 0, ${tagOf('SHA256(toString(number))')}, 1, 7
       FROM numbers(3)`,
    )
    await database().command(
      `INSERT INTO block_txs (height, block_tag, tx_index, txid)
       SELECT number, ${tagOf('SHA256(toString(number))')}, 1, SHA256(toString(number)) FROM numbers(3)`,
    )
    await database().command(
      `INSERT INTO script_txs (script_hash, ordinal, height, block_tag, unspent_count)
       SELECT ${script}, number + 1, number, ${tagOf('SHA256(toString(number))')}, number + 1 FROM numbers(4)`,
    )
  })

  const listed = async (): Promise<number> => (await newestList(database(), of)).height

  it('is not published if it has fewer outputs than the totals of its script', async () => {
    const build = buildList(database(), of, none, at, 0n)
    await expect(build).rejects.toThrow(/has 3, but the script has 4/)
    expect(await listed()).toBe(-1)
    await dropUnfinishedLists(database())
    expect(await database().query('SELECT ordinal FROM unspent_outputs')).toEqual([])
  })

  it('is not published by a writer that was superseded', async () => {
    const earlier = { ...of, filter: 'height <= 2' }
    const writer = await claimWriting(database(), -1)
    const two = { height: 2, hash: hex('2') }
    expect(await buildList(database(), earlier, none, two, writer)).toMatchObject({ size: 3 })
    expect(await listed()).toBe(2)
    await claimWriting(database(), -1)
    await database().command('TRUNCATE TABLE unspent_lists')
    await expect(buildList(database(), earlier, none, two, writer)).rejects.toThrow(Superseded)
    expect(await listed()).toBe(-1)
  })
})
