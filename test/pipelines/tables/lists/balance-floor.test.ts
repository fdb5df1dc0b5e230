import { describe, expect, it } from 'vitest'
import {
  balanceFloor,
  dropBalances,
  NO_BALANCES,
  setBalanceFloor,
} from '../../../../pipelines/tables/lists/balance-floor.js'
import { newestRanking, richest } from '../../../../pipelines/tables/lists/ranking.js'
import { claimWriting, Superseded } from '../../../../pipelines/tables/writers.js'
import { useDatabase } from '../../../harness/engine.js'

describe('the height above which all blocks have balances', () => {
  const db = useDatabase()
  const all = 'height <= 5000'
  const heights = async (): Promise<number[]> => {
    const sql = 'SELECT DISTINCT height FROM script_balances ORDER BY height'
    return (await db().query<{ height: number }>(sql)).map(({ height }) => height)
  }

  it('decides which rankings are used, and which balances are dropped', async () => {
    expect(await balanceFloor(db())).toBe(-1)
    const page = { offset: 0, limit: 10 }
    await db().command(
      `INSERT INTO script_balances SELECT arrayJoin([500, 1500, 2500]) AS at, 1, unhex(leftPad(hex(at), 40, '0')), toString(at), 0, 7, 1, 0`,
    )
    expect(await newestRanking(db(), all)).toEqual({ height: -1, hash: '', size: 0 })
    expect(await richest(db(), all, page)).toHaveLength(3)
    const first = await claimWriting(db(), -1)
    await setBalanceFloor(db(), NO_BALANCES, first)
    expect(await newestRanking(db(), all)).toBeUndefined()
    expect(await richest(db(), all, page)).toBeUndefined()
    await db().command(
      "INSERT INTO rankings (height, block_hash, block_tag, size, built_at) SELECT 2400, unhex(repeat('ab', 32)), 1, 0, now64(3)",
    )
    await setBalanceFloor(db(), 2400, first)
    expect((await newestRanking(db(), all))?.height).toBe(2400)
    expect(await richest(db(), all, page)).toHaveLength(1)
    // Queries that began before the floor was set may still need them.
    await dropBalances(db(), 600)
    expect(await heights()).toEqual([500, 1500, 2500])
    await dropBalances(db(), 0)
    expect(await heights()).toEqual([2500])
  })

  it('is not changed by a writer that was superseded', async () => {
    const before = await balanceFloor(db())
    const writer = await claimWriting(db(), -1)
    await claimWriting(db(), -1)
    await expect(setBalanceFloor(db(), 4000, writer)).rejects.toThrow(Superseded)
    expect(await balanceFloor(db())).toBe(before)
  })
})
