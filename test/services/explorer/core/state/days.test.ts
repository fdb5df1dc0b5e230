import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startSimnode } from '../../../../../services/simnode/node.js'
import {
  type BlockSpec,
  buildChain,
  forkAt,
  type SimChain,
} from '../../../../../services/simnode/chain/sim-chain.js'
import { Random } from '../../../../../services/simnode/random.js'
import { naiveDays } from '../../../../harness/naive-statistics.js'
import type { NodeBlock } from '../../../../harness/node-json.js'
import { Pipeline } from '../../../../harness/pipeline.js'

/** Blocks whose times cross midnights in both directions, as far as the median of the eleven blocks before allows. */
describe('days of a chain whose block times are not in order', () => {
  const random = Random.of('days')
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline

  beforeAll(async () => {
    chain = buildChain({ seed: 'days', blocks: 20 })
    mine(60)
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 8 })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const jumping = (medianTime: number): BlockSpec => ({
    txs: [],
    time: medianTime + 1 + random.below(3 * 86_400),
    payTo: chain.keyring.ownerOf('p2wpkh', random.below(5)).script,
  })

  function mine(blocks: number): void {
    for (let count = 0; count < blocks; count++) chain.mine(jumping(chain.tip.medianTime))
  }

  async function rpc(method: string, params: unknown[]): Promise<unknown> {
    const { origin, username, password } = new URL(node.url)
    const answer = await fetch(origin, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
      body: JSON.stringify({ jsonrpc: '1.0', id: 1, method, params }),
    })
    return ((await answer.json()) as { result: unknown }).result
  }

  async function expectDays(): Promise<void> {
    await pipeline.level({ tip: chain.tip.hash })
    const blocks: NodeBlock[] = []
    for (let height = 0; height <= chain.tip.height; height++)
      blocks.push((await rpc('getblock', [await rpc('getblockhash', [height]), 3])) as NodeBlock)
    const { items } = (await pipeline.get('/stats/daily?limit=365')).body
    const expected = naiveDays(blocks).map(({ work, totalAddresses, dilithiumTransactions, ...day }) => day)
    expect(items).toMatchObject(expected)
    expect(items).toHaveLength(expected.length)
    const days = blocks.map(({ time }) => Math.floor(time / 86_400))
    expect(
      days.some((day, at) => day < (days[at - 1] ?? 0)),
      'some block is of a day before',
    ).toBe(true)
  }

  it('equal a count over the blocks, also after reorganisations, newest first within from and to', async () => {
    await expectDays()
    const fork = forkAt(chain, 45)
    for (let count = 0; count < 50; count++) fork.mine(jumping(fork.tip.medianTime))
    fork.activate()
    mine(10)
    await expectDays()
    const all = (await pipeline.get('/stats/daily?limit=365')).body.items as { date: string }[]
    const [to, from] = [all[1]?.date ?? '', all.at(-2)?.date ?? '']
    const get = async (query: string): Promise<string[]> =>
      (await pipeline.get(`/stats/daily?${query}`)).body.items.map((item: { date: string }) => item.date)
    const dates = all.map(({ date }) => date)
    expect(await get(`from=${from}&to=${to}&limit=365`)).toEqual(dates.slice(1, -1))
    expect(await get(`to=${to}&limit=2`)).toEqual(dates.slice(1, 3))
    expect(await get(`from=${from}&limit=1`)).toEqual(dates.slice(0, 1))
    expect(await get(`from=${to}&to=${from}`)).toEqual(to === from ? [to] : [])
  })
})
