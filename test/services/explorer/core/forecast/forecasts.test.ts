import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { RATE_STEPS, stepOf } from '../../../../../pipelines/mempool/rate-steps.js'
import { Database } from '../../../../../pipelines/tables/clickhouse.js'
import { MEMPOOL_ARRIVALS } from '../../../../../pipelines/tables/mempool/history.js'
import { createMempoolTables } from '../../../../../pipelines/tables/mempool/tables.js'
import { EncodedRows } from '../../../../../pipelines/tables/rowbinary.js'
import { RecentArrivals } from '../../../../../services/explorer/core/forecast/arrivals.js'
import { Forecasts, futuresOf } from '../../../../../services/explorer/core/forecast/forecasts.js'

const sizesAt = (rate: number, vsize: number): number[] =>
  Array.from({ length: RATE_STEPS }, (_, step) => (step === stepOf(rate) ? vsize : 0))
const NOTHING = { seconds: 0, vsizes: [] }

describe('the forecast of fees', () => {
  let db: Database
  beforeAll(async () => {
    db = new Database({ url: inject('engineUrl'), database: 'forecasts_mempool' })
    await createMempoolTables(db, false)
  })
  afterAll(async () => {
    vi.useRealTimers()
    await db.command(`DROP DATABASE IF EXISTS ${db.name} SYNC`)
    await db.close()
  })

  it('knows what entered in the last half hour and in the last day, and reads it once a minute', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const now = 1_800_000_000
    vi.setSystemTime(now * 1000 + 30_000)
    const minute = (before: number, rate: number, entered: number, dropped = 0) => ({
      start: now - before * 60,
      entered: sizesAt(rate, entered).map(BigInt),
      dropped: sizesAt(rate, dropped).map(BigInt),
    })
    const rows = [
      minute(1, 10, 6_000),
      minute(2, 2, 9_000, 1_000),
      minute(100, 10, 3_000),
      minute(1_441, 10, 900_000),
    ]
    await db.insert(new EncodedRows(MEMPOOL_ARRIVALS, rows))
    // Written twice, as after a crash.
    await db.insert(new EncodedRows(MEMPOOL_ARRIVALS, rows.slice(0, 2)))
    let queries = 0
    const arrivals = new RecentArrivals({
      query: (sql, params) => {
        queries++
        return db.query(sql, params)
      },
    })
    const { lately, usually } = (await arrivals.newest()).arrivals
    const at = ({ vsizes }: typeof lately, rate: number): number | undefined => vsizes[stepOf(rate)]
    expect([lately.seconds, at(lately, 0.1), at(lately, 10), at(lately, 11)]).toEqual([120, 14_000, 6_000, 0])
    expect([usually.seconds, at(usually, 0.1), at(usually, 10)]).toEqual([180, 17_000, 9_000])
    await arrivals.newest()
    expect(queries).toBe(2)
    vi.setSystemTime(now * 1000 + 66_000)
    await arrivals.newest()
    expect(queries).toBe(4)
  })

  it('asks again after a failure', async () => {
    let isDown = true
    const query = (): Promise<never[]> => (isDown ? Promise.reject(new Error('down')) : Promise.resolve([]))
    const arrivals = new RecentArrivals({ query })
    await expect(arrivals.newest()).rejects.toThrow('down')
    isDown = false
    expect((await arrivals.newest()).arrivals.lately.seconds).toBe(0)
  })

  it('takes what blocks confirmed for what arrives, until it has been observed for some time', () => {
    const situation = { sizes: sizesAt(5, 200_000), capacity: 1_000_000, spacing: 600, mined: 100 }
    const { lately } = futuresOf(situation, { lately: NOTHING, usually: NOTHING }).market.arriving
    // It is assumed to pay what the waiting transactions pay.
    expect([lately[stepOf(5)], lately[stepOf(5) + 1]]).toEqual([100, 0])
    const seen = { seconds: 600, vsizes: Array.from({ length: RATE_STEPS }, () => 120_000) }
    const half = futuresOf(situation, { lately: seen, usually: seen }).market.arriving
    expect([half.lately[stepOf(5)], half.usually[stepOf(5) + 1]]).toEqual([150, 100])
    const empty = { ...situation, sizes: sizesAt(5, 0) }
    const alone = futuresOf(empty, { lately: NOTHING, usually: NOTHING }).market.arriving
    expect([alone.lately[0], alone.lately[1]]).toEqual([100, 0])
  })

  it('is computed once for a situation', async () => {
    const forecasts = new Forecasts({ query: () => Promise.resolve([]) })
    const situation = { sizes: sizesAt(5, 200_000), capacity: 1_000_000, spacing: 600, mined: 100 }
    const { futures } = await forecasts.of(situation)
    expect((await forecasts.of({ ...situation })).futures).toBe(futures)
    expect((await forecasts.of({ ...situation, spacing: 500 })).futures).not.toBe(futures)
  })
})
