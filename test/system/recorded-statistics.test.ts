import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { scriptType } from '../../pipelines/chain/script.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import {
  dateOfBlock,
  isDilithium,
  naiveDays,
  naiveMoved,
  naiveOpReturns,
  naivePools,
} from '../harness/naive-statistics.js'
import { baseUnits } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { type Frame, readFrames, readOracles, TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

/** The part of the reorganisations before and after which everything is compared: one in so many. */
const ONE_IN = IS_WHOLE ? 1 : 9
const WHALE = 100_000_000_000n

interface MiningPool {
  readonly name: string
  readonly addresses: readonly string[]
  readonly tags: readonly string[]
  readonly link: string
}

const POOLS: readonly MiningPool[] = [
  { name: 'ViaBTC', addresses: [], tags: ['viabtc'], link: 'https://example.com/' },
  { name: 'F2Pool', addresses: [], tags: ['/F2POOL/'], link: '' },
  { name: 'Ant Pool', addresses: [], tags: ['mined by antpool'], link: '' },
]

/** Rankings and the final height are far below the tip of some frames and above the fork of others. */
const SETTINGS = { finalityDepth: 3, rankingTail: 150 }

describe('the statistics of the recording', () => {
  const frames = readFrames()
  const oracles = readOracles()
  const chain = new NaiveChain()
  let folder: string
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let pools: readonly MiningPool[] = POOLS

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-definitions-'))
    await writeFile(join(folder, 'pools.json'), JSON.stringify(pools))
    node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: 0 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      ...SETTINGS,
      explorer: { definitions: { pools: join(folder, 'pools.json') } },
    })
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await rm(folder, { recursive: true })
  })

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers are read as a client would
  const body = async (path: string): Promise<any> => {
    const answer = await pipeline.get(path)
    expect(answer.status, path).toBe(200)
    return answer.body
  }

  async function checkDays(): Promise<void> {
    const days = naiveDays(chain.blocks)
    const { items } = await body('/stats/daily?limit=365')
    const reported = days.map(({ work, dilithiumTransactions, totalAddresses, ...day }) => day)
    expect(items.map(({ avg_difficulty, hashrate, ...day }: Record<string, unknown>) => day)).toEqual(
      reported,
    )
    for (const [at, { work }] of days.entries()) {
      expect(Number(items[at].hashrate)).toBeCloseTo(Number(work) / 86_400, 12)
      expect(Number(items[at].avg_difficulty)).toBeCloseTo(4.656542373906925e-10, 20)
    }
    const history = (await body('/stats/dilithium/history?limit=365')).items
    expect(history).toMatchObject(
      days.map(({ date, dilithiumTransactions, tx_count, totalAddresses }) => {
        return { date, dilithiumTransactions, totalTransactions: tx_count, totalAddresses }
      }),
    )
    for (const path of ['/stats/dilithium/history', '/stats/exposure/history']) {
      const all = (await body(`${path}?limit=365`)).items
      const [to, from] = [all[1].date, all[2].date]
      expect((await body(`${path}?from=${from}&to=${to}`)).items).toEqual(all.slice(1, 3))
      expect((await body(`${path}?to=${to}&limit=1`)).items).toEqual(all.slice(1, 2))
    }
    const sum = (name: string): bigint =>
      items.reduce((total: bigint, item: Record<string, unknown>) => total + BigInt(String(item[name])), 0n)
    expect(sum('block_count')).toBe(BigInt(chain.blocks.length))
    expect(sum('tx_count')).toBe(BigInt((await body('/stats/summary')).totalTransactions))
    expect(await body('/stats/dilithium')).toMatchObject({
      dilithiumTransactions: chain.blocks.flatMap(({ tx }) => tx).filter(isDilithium).length,
      totalTransactions: Number(sum('tx_count')),
      dilithiumAddresses: history[0]?.dilithiumAddresses ?? 0,
      totalAddresses: Number(sum('new_addresses')),
    })
    expect((await body('/mining/hashrate?limit=365')).items).toEqual(
      items.map(({ date, hashrate, avg_difficulty, block_count }: Record<string, unknown>) => {
        return { date, hashrate, avg_difficulty, block_count }
      }),
    )
  }

  async function checkRichList(): Promise<void> {
    const all = [...chain.addressOf]
      .map(([script, address]) => ({ address, balance: chain.balance(script), script }))
      .filter(({ balance }) => balance > 0n)
      .sort((one, other) => Number(other.balance - one.balance) || (one.address < other.address ? -1 : 1))
    const limit = 37
    const items = []
    for (let page = 1; ; page++) {
      const answer = await body(`/stats/richlist?page=${String(page)}&limit=${String(limit)}`)
      expect(answer.total).toBe(all.length)
      items.push(...answer.items)
      if (answer.items.length < limit) break
    }
    expect(items.map(({ rank, address, balance, tx_count }) => [rank, address, balance, tx_count])).toEqual(
      all.map(({ address, balance, script }, at) => {
        return [at + 1, address, balance.toString(), chain.history.get(script)?.length]
      }),
    )
  }

  async function checkValues(): Promise<void> {
    const byType = new Map<string, { value: bigint; addresses: number }>()
    for (const script of new Set([...chain.coins.values()].map((coin) => coin.script))) {
      const type = scriptType(Buffer.from(script, 'hex'), REGTEST)
      const { value, addresses } = byType.get(type) ?? { value: 0n, addresses: 0 }
      const isFunded = chain.addressOf.has(script) && chain.balance(script) > 0n
      byType.set(type, { value: value + chain.balance(script), addresses: addresses + Number(isFunded) })
    }
    const { items } = await body('/stats/value')
    expect(items).toHaveLength(byType.size)
    for (const { script_type, value, addresses } of items)
      expect({ value, addresses: addresses ?? 0 }, script_type).toEqual({
        value: String(byType.get(script_type)?.value),
        addresses: byType.get(script_type)?.addresses,
      })
  }

  async function checkMining(): Promise<void> {
    for (const window of [10, 144, 1440]) {
      const answer = await body(`/mining/pools?window=${String(window)}`)
      const reported = answer.pools.map((pool: { name: string; blockCount: number }) => [
        pool.name,
        pool.blockCount,
      ])
      expect(Object.fromEntries(reported)).toEqual(naivePools(chain.blocks, window, pools))
      expect(answer.blockCount).toBe(Math.min(window, chain.blocks.length))
    }
    const all = naivePools(chain.blocks, chain.blocks.length, pools)
    for (const [name, count] of Object.entries(all)) {
      const { slug } = (await body('/mining/pools?window=10000')).pools.find(
        (pool: { name: string }) => pool.name === name,
      )
      const answer = await body(`/mining/pool?slug=${slug}&limit=100`)
      expect([answer.name, answer.window, answer.blockCount]).toEqual([name, chain.blocks.length, count])
      let sum = 0
      for (const { date, block_count, pool_block_count } of answer.days) {
        const ofDay = chain.blocks.filter((block) => dateOfBlock(block) === date)
        expect(block_count).toBe(ofDay.length)
        expect(pool_block_count).toBe(naivePools(ofDay, ofDay.length, pools)[name] ?? 0)
        sum += pool_block_count
      }
      expect(sum).toBe(count)
      const own = chain.blocks.filter((block) => naivePools([block], 1, pools)[name] === 1)
      expect(answer.items.map(({ height }: { height: number }) => height)).toEqual(
        own
          .map(({ height }) => height)
          .slice(-100)
          .reverse(),
      )
    }
    const { items } = await body('/mining/difficulty?limit=20160')
    expect(items).toHaveLength(chain.blocks.length)
    expect(items.map((item: { height: number }) => item.height)).toEqual(
      chain.blocks.map(({ height }) => height),
    )
    const date = dateOfBlock(chain.blocks.at(-1) as (typeof chain.blocks)[number])
    const ofDay = chain.blocks.filter((block) => dateOfBlock(block) === date)
    const between = await body(`/mining/difficulty?from=${date}&to=${date}&windowMinutes=1&limit=1`)
    expect(between.items.map((item: { height: number }) => item.height)).toEqual(
      ofDay.map(({ height }) => height),
    )
  }

  async function checkOpReturns(): Promise<void> {
    const expected = naiveOpReturns(chain.blocks)
    const items = []
    for (let offset = 0; ; offset += 100) {
      const answer = await body(`/op-returns?limit=100&offset=${String(offset)}`)
      expect(answer.total).toBe(expected.length)
      items.push(...answer.items)
      if (answer.items.length < 100) break
    }
    expect(items).toMatchObject(expected)
    for (const { txid } of expected.slice(0, 5)) {
      const answer = await body(`/op-return/${txid}`)
      expect(answer.items).toMatchObject(expected.filter((each) => each.txid === txid))
    }
  }

  async function checkWhales(frame: Frame): Promise<void> {
    const expected = chain.blocks
      .flatMap(({ tx, height }) => tx.map((each) => ({ each, height })))
      .filter(({ each }) => (naiveMoved(each) ?? 0n) > WHALE)
      .map(({ each, height }) => ({ txid: each.txid, block_height: height, value: String(naiveMoved(each)) }))
      .reverse()
    const { items } = await body('/whale-alerts?limit=100')
    const confirmed = items.filter((item: { block_height: number | null }) => item.block_height !== null)
    expect(confirmed).toMatchObject(expected.slice(0, confirmed.length))
    expect(confirmed).toHaveLength(expected.length)
    for (const item of items) {
      if (item.block_height === null) expect(Object.keys(frame.mempool)).toContain(item.txid)
      const to = item.to.reduce((sum: bigint, { value }: { value: string }) => sum + BigInt(value), 0n)
      expect(to.toString()).toBe(item.value)
    }
  }

  it('equal a count over all blocks before and after reorganisations, and at the end', async () => {
    let at = 0
    let checked = 0
    let reorgs = 0
    for (const [index, frame] of frames.entries()) {
      for (const hash of frame.disconnected) {
        expect(chain.tip?.hash).toBe(hash)
        chain.pop()
      }
      for (const { block } of frame.connected) chain.push(block)
      if (frame.type === 'reorg') reorgs++
      const isBefore = frames[index + 1]?.type === 'reorg'
      const isCompared = reorgs % ONE_IN === 0 && (isBefore || frame.type === 'reorg')
      if (!isCompared && index !== frames.length - 1) continue
      node.step(index - at)
      at = index
      await pipeline.level({
        tip: frame.chaininfo.bestblockhash,
        mempoolSize: frame.mempoolinfo.size,
        poolFees: baseUnits(frame.mempoolinfo.total_fee),
      })
      await Promise.all([
        checkDays(),
        checkRichList(),
        checkValues(),
        checkMining(),
        checkOpReturns(),
        checkWhales(frame),
      ])
      checked++
    }
    expect(checked).toBeGreaterThanOrEqual(ONE_IN === 1 ? 19 : 3)
  })

  it('have the four hashrates of the node to nine digits', async () => {
    for (const [window, expected] of Object.entries(oracles.networkhashps)) {
      const answer = await body(`/mining/network-hashrate?window=${window}`)
      expect(Number(answer.hashrate).toPrecision(9)).toBe(expected.toPrecision(9))
      expect(answer).toMatchObject({ window: Number(window), blockCount: Number(window) })
      expect(answer.hashrate).toMatch(/^\d+(\.\d+)?$/)
    }
  })

  it('apply changed mining pools to past blocks, by address before tag, and keep the old ones if the file is invalid', async () => {
    const miner = (await body('/blocks/tip')).miner_address as string
    pools = [{ name: 'By address', addresses: [miner], tags: [], link: '' }, ...POOLS.slice(0, 2)]
    const file = join(folder, 'pools.json')
    await writeFile(file, JSON.stringify(pools))
    await until(
      'the new mining pools are used',
      async () => (await body('/blocks/tip')).miner_label === 'By address',
    )
    await checkMining()
    await writeFile(file, '[{"name":"half a file"')
    await until('the file is refused', async () => {
      const metrics = await (await fetch(`${pipeline.url}/metrics`)).text()
      return metrics.includes('headwater_definition_file_refused{file="pools"} 1')
    })
    await checkMining()
  })
})
