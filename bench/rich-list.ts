import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { RankingBuilder } from '../pipelines/materialize/lists/ranking-builder.js'
import { ChainView } from '../pipelines/tables/chain-view.js'
import { Database } from '../pipelines/tables/clickhouse.js'
import type { Head } from '../pipelines/tables/head.js'
import { createTables } from '../pipelines/tables/schema-version.js'
import { newestRanking, richest } from '../pipelines/tables/lists/ranking.js'
import { engineOf, withProcesses } from './processes.js'
import { median } from './repetitions.js'
import type { Figure } from './report.js'

export interface RichListOptions {
  readonly addresses: number
  /** The number of balances that change in a block while pages are read. */
  readonly changes: number
}

const BLOCKS = 1000

/**
 * Measures a ranking of many funded addresses, from nothing and from the previous one, with the engine's memory
 * meanwhile; and pages of the rich list, the first and one in the middle, while balances change. The rows are
 * generated inside the database, two for each address.
 */
export async function richList({ addresses, changes }: RichListOptions): Promise<Figure[]> {
  return withProcesses(async (start) => {
    const { url } = await engineOf(start)
    const db = new Database({ url, database: 'headwater', timeoutMs: 600_000 })
    const builder = new RankingBuilder(db, pino({ level: 'warn' }, process.stderr), {
      keptMs: 0,
      cleaningMs: 0,
    })
    try {
      await createTables(db)
      await generate(db, addresses)
      const idleMb = await memoryMb(db)
      const first = await timed(db, () => built(builder, db, BLOCKS - 1))
      const filter = viewAt(BLOCKS + 99).tagFilter()
      const reads = { first: [] as number[], deep: [] as number[] }
      for (let height = BLOCKS; height < BLOCKS + 100; height++) {
        await change(db, height, addresses, changes)
        for (const [page, offset] of [
          ['first', 0],
          ['deep', Math.floor(addresses / 2)],
        ] as const) {
          const began = performance.now()
          await richest(db, filter, { offset, limit: 100 })
          reads[page].push(performance.now() - began)
        }
      }
      const second = await timed(db, () => built(builder, db, BLOCKS + 99))
      return [
        { name: 'addresses', value: addresses, unit: 'addresses' },
        { name: 'first_build', value: first.seconds, unit: 's' },
        { name: 'next_build', value: second.seconds, unit: 's' },
        { name: 'engine_memory_before', value: idleMb, unit: 'MB' },
        { name: 'engine_peak_memory', value: Math.max(first.peakMb, second.peakMb), unit: 'MB' },
        { name: 'changed_rows', value: 100 * changes, unit: 'rows' },
        ...Object.entries(reads).flatMap(([page, times]) => [
          { name: `${page}_page_median`, value: median(times), unit: 'ms' },
          { name: `${page}_page_slowest`, value: Math.max(...times), unit: 'ms' },
        ]),
      ]
    } finally {
      await builder.close()
      await db.close()
    }
  })
}

const hashOf = (height: number): string => height.toString(16).padStart(64, '0')

function viewAt(height: number): ChainView {
  const head = { chain: 'main', tipHeight: height, tipHash: hashOf(height), finalHeight: height } as Head
  return new ChainView(head, new Map(), new Map())
}

const COLUMNS = 'height, block_tag, script_hash, address, before, balance, tx_count, is_dilithium'
const HASH = "unhex(leftPad(lower(hex(toUInt32(height))), 64, '0'))"

/** Each address twice: in a block of the first half, and with its last balance in one of the second. */
async function generate(db: Database, addresses: number): Promise<void> {
  for (const half of [0, 1]) {
    await db.command(
      `INSERT INTO script_balances (${COLUMNS})
       SELECT toUInt32(intDiv(number * ${String(BLOCKS / 2)}, ${String(addresses)}) + ${String((half * BLOCKS) / 2)}) AS height, height,
         substring(SHA256(toString(number)), 1, 20), concat('bc1q', lower(hex(MD5(toString(number))))), 0,
         1 + cityHash64(number, ${String(half)}) % pow(10, 1 + cityHash64(number) % 12)::UInt64, ${String(half + 1)}, 0
       FROM numbers(${String(addresses)})`,
    )
  }
  await db.command(
    `INSERT INTO blocks (height, hash, block_tag, funded_addresses) SELECT toUInt32(number) AS height, ${HASH}, height, ${String(addresses)}
     FROM numbers(${String(BLOCKS + 100)})`,
  )
}

async function change(db: Database, height: number, addresses: number, changes: number): Promise<void> {
  await db.command(
    `INSERT INTO script_balances (${COLUMNS})
     SELECT ${String(height)} AS height, height, substring(SHA256(toString(number)), 1, 20), concat('bc1q', lower(hex(MD5(toString(number))))),
       1 + cityHash64(number, 1) % pow(10, 1 + cityHash64(number) % 12)::UInt64, 1 + cityHash64(number, ${String(height)}) % 1000000, 3, 0
     FROM (SELECT DISTINCT ${String(height - BLOCKS)} * ${String(changes)} + number * 7 % ${String(changes)} AS number
       FROM numbers(${String(changes)})) WHERE number < ${String(addresses)}`,
  )
}

async function built(builder: RankingBuilder, db: Database, height: number): Promise<void> {
  const view = viewAt(height)
  builder.consider(view, Number.MAX_SAFE_INTEGER, false)
  await builder.idle()
  const newest = await newestRanking(db, view.tagFilter())
  if (newest?.hash !== hashOf(height)) throw new Error(`the ranking of block ${String(height)} was not built`)
}

/** Returns the memory that the engine itself reports. */
async function memoryMb(db: Database): Promise<number> {
  const sql = "SELECT value FROM system.metrics WHERE metric = 'MemoryTracking'"
  return Number((await db.query<{ value: string }>(sql))[0]?.value ?? 0) / 1024 / 1024
}

async function timed(db: Database, work: () => Promise<void>): Promise<{ seconds: number; peakMb: number }> {
  const began = performance.now()
  let [isOver, peakMb] = [false, 0]
  const done = work().finally(() => (isOver = true))
  while (!isOver) {
    peakMb = Math.max(peakMb, await memoryMb(db))
    await Promise.race([done.catch(() => undefined), sleep(100)])
  }
  await done
  return { seconds: (performance.now() - began) / 1000, peakMb }
}
