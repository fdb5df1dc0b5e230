import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { type Answer, Pipeline } from '../harness/pipeline.js'

const FINALITY = 20
const MAX_ADDRESSES = 8
const MAX_ROWS = 80

interface Row {
  readonly txid: string
  readonly block_height: number | null
}

describe('histories, on a chain with reorganisations', () => {
  let node: Simnode
  let pipeline: Pipeline
  const chain = new NaiveChain()

  beforeAll(async () => {
    node = await startSimnode({ seed: 'histories', blocks: 60, txsPerBlock: 5 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0 },
    })
    await level()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function level(): Promise<void> {
    await follow(chain, node)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  }

  /** Returns the addresses with the longest histories that fit on a page, each with its script. */
  const busiest = (): [address: string, script: string][] =>
    [...chain.history]
      .filter(([script, rows]) => chain.addressOf.has(script) && rows.length > 0 && rows.length <= MAX_ROWS)
      .sort(([, one], [, other]) => other.length - one.length)
      .slice(0, MAX_ADDRESSES)
      .map(([script]) => [chain.addressOf.get(script)!, script])

  /** Reads a list to its end with cursors. @param between is called before each further page. */
  async function readAll(
    path: string,
    limit: number,
    between: () => Promise<void> = () => Promise.resolve(),
  ): Promise<{ items: (Row & { height: number })[]; end: Answer }> {
    const items = []
    let answer = await pipeline.get(`${path}limit=${String(limit)}`)
    for (;;) {
      if (answer.status !== 200) return { items, end: answer }
      items.push(...answer.body.items)
      expect(answer.body.items.length).toBeLessThanOrEqual(limit)
      const { next_cursor } = answer.body
      if (next_cursor === null) return { items, end: answer }
      await between()
      answer = await pipeline.get(`${path}limit=${String(limit)}&cursor=${String(next_cursor)}`)
    }
  }

  it('are read by cursors as by pages, in both orders', async () => {
    node.simulation.enter(12)
    await level()
    for (const [address] of busiest().slice(0, 2)) {
      for (const sort of ['asc', 'desc']) {
        const whole = (await pipeline.get(`/address/${address}/txs?limit=100&sort=${sort}`)).body
        expect(whole.total).toBeLessThanOrEqual(100)
        for (const limit of [2, 7]) {
          const { items } = await readAll(`/address/${address}/txs?sort=${sort}&`, limit)
          expect(items, `${address} ${sort} ${String(limit)}`).toEqual(whole.items)
        }
        // A page that was found by its number is continued in the same way.
        const second = (await pipeline.get(`/address/${address}/txs?limit=2&page=2&sort=${sort}`)).body
        if (second.next_cursor === null) continue
        const third = await pipeline.get(
          `/address/${address}/txs?limit=2&sort=${sort}&cursor=${String(second.next_cursor)}`,
        )
        expect(third.body.items).toEqual(whole.items.slice(4, 6))
      }
    }
    const { items } = await readAll('/blocks?', 9)
    expect(items.map(({ height }) => height)).toEqual(
      Array.from({ length: node.chain.tip.height + 1 }, (_, index) => node.chain.tip.height - index),
    )
  })

  it('lose and repeat nothing confirmed while blocks arrive', async () => {
    const grow = async (): Promise<void> => {
      node.simulation.mine({ blocks: 1 })
      await level()
    }
    const before = chain.blocks.map(({ hash }) => hash).reverse()
    let pages = 0
    const { items } = await readAll('/blocks?', 25, async () => {
      if (pages++ < 3) await grow()
    })
    expect(items.map((item) => (item as unknown as { hash: string }).hash)).toEqual(before)
    for (const [address, script] of busiest().slice(0, 3)) {
      node.simulation.enter(4)
      await level()
      const inMempool = (await pipeline.get(`/address/${address}`)).body.unconfirmed.tx_count as number
      const known = (chain.history.get(script) ?? []).map(({ txid }) => txid)
      let left = 3
      const read = await readAll(`/address/${address}/txs?`, 4, async () => {
        if (left-- > 0) await grow()
      })
      const txids = read.items.map(({ txid }) => txid)
      for (const txid of known) expect(txids.filter((each) => each === txid)).toHaveLength(1)
      expect(read.items.filter(({ block_height }) => block_height === null).length).toBeLessThanOrEqual(
        inMempool,
      )
      let rounds = 2
      const rising = await readAll(`/address/${address}/txs?sort=asc&`, 5, async () => {
        if (rounds-- > 0) await grow()
      })
      const now = (chain.history.get(script) ?? []).map(({ txid }) => txid)
      const confirmed = rising.items.filter(({ block_height }) => block_height !== null)
      expect(confirmed.map(({ txid }) => txid)).toEqual(now.slice(0, confirmed.length))
      expect(confirmed.length).toBeGreaterThanOrEqual(known.length)
    }
  })

  it('say so when a reorganisation has removed what was read, and continue when it has not', async () => {
    const [newest] = (await pipeline.get('/blocks?limit=3')).body.items
    const { next_cursor: blocks } = (await pipeline.get('/blocks?limit=3')).body
    const { next_cursor: deep } = (await pipeline.get('/blocks?limit=3&page=5')).body
    const minted = chain.tip!.tx[0]!.vout[0]!.scriptPubKey
    const paths = [
      `/address/${minted.address!}/txs?limit=1`,
      `/address/${minted.address!}/txs?limit=1&page=3`,
    ]
    const [top, below] = await Promise.all(
      paths.map(async (path) => (await pipeline.get(path)).body.next_cursor as string),
    )
    node.chain.extend(node.chain.at(chain.tip!.height - 2)!, [{}, {}, {}])
    await level()
    const gone = {
      status: 410,
      body: {
        error: 'A reorganisation has removed items of the pages before this cursor: start over',
        code: 'HW_CURSOR_OUTDATED',
      },
    }
    expect(newest.height).toBe(chain.tip!.height - 1)
    expect(await pipeline.get(`/blocks?cursor=${String(blocks)}`)).toMatchObject(gone)
    expect(await pipeline.get(`/blocks?cursor=${String(deep)}`)).toMatchObject({ status: 200 })
    expect(await pipeline.get(`/address/${minted.address!}/txs?cursor=${top!}`)).toMatchObject(gone)
    expect(await pipeline.get(`/address/${minted.address!}/txs?cursor=${below!}`)).toMatchObject({
      status: 200,
    })
  })

  it('refuse cursors of other lists', async () => {
    const malformed = {
      error: 'cursor must be the next_cursor of a page of this list',
      code: 'HW_INVALID_ARGUMENT',
    }
    const [[one], [other]] = busiest() as [[string, string], [string, string]]
    const { next_cursor } = (await pipeline.get(`/address/${one}/txs?limit=1`)).body
    for (const path of [
      `/blocks?cursor=${String(next_cursor)}`,
      `/address/${other}/txs?cursor=${String(next_cursor)}`,
      `/address/${one}/txs?sort=asc&cursor=${String(next_cursor)}`,
      `/address/${one}/txs?cursor=${String(next_cursor).slice(0, -1)}`,
      '/blocks?cursor=abc',
    ])
      expect(await pipeline.get(path), path).toMatchObject({ status: 400, body: malformed })
  })

  it('have the balance at the end of each day, counted from the blocks', async () => {
    // Some blocks of the next days are out of order.
    const day = 86_400
    const { time } = chain.tip!
    for (const after of [day, 2 * day + 50, 2 * day - 4_000, 2 * day + 60, 5 * day, 5 * day + 9])
      node.chain.mine({ time: time + after, txs: [] })
    await level()
    node.simulation.reorg(3)
    await level()
    const dayOfBlock = chain.blocks.map((block) => new Date(block.time * 1000).toISOString().slice(0, 10))
    const dates = [...new Set(dayOfBlock)].sort()
    expect(dates.length).toBeGreaterThan(2)
    for (const [address, script] of busiest()) {
      const rows = chain.history.get(script) ?? []
      const through = (date: string) => {
        const end = dayOfBlock.findLastIndex((each) => each <= date)
        return rows.filter(({ height }) => height <= end)
      }
      const expected = dates
        .map((date, index) => {
          const now = through(date)
          const before = index === 0 ? [] : through(dates[index - 1]!)
          const balance = now.reduce((sum, { change }) => sum + change, 0n)
          return { date, balance: String(balance), tx_count: now.length - before.length, seen: now.length }
        })
        .filter(({ seen }) => seen > 0)
        .reverse()
      const { items } = (await pipeline.get(`/address/${address}/balance-history?interval=day&limit=365`))
        .body
      expect(
        items.map(({ date, balance, tx_count }: Record<string, unknown>) => ({ date, balance, tx_count })),
      ).toEqual(expected.map(({ date, balance, tx_count }) => ({ date, balance, tx_count })))
      const { total_received, total_sent } = (await pipeline.get(`/address/${address}`)).body
      const sum = (field: 'received' | 'sent'): bigint =>
        items.reduce((total: bigint, item: Record<string, string>) => total + BigInt(item[field]!), 0n)
      expect([String(sum('received')), String(sum('sent'))]).toEqual([total_received, total_sent])
      const two = (await pipeline.get(`/address/${address}/balance-history?limit=2`)).body
      expect(two.items).toEqual(items.slice(0, 2))
      const [from] = dates.slice(-2)
      const late = (await pipeline.get(`/address/${address}/balance-history?from=${from!}&to=${from!}`)).body
      expect(late.items).toEqual(items.filter(({ date }: { date: string }) => date === from))
    }
  })

  it('are files of the state at their start', async () => {
    node.simulation.enter(8)
    await level()
    for (const [address, script] of busiest()) {
      const response = await fetch(`${pipeline.url}/api/v1/address/${address}/txs.csv`)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(response.headers.get('x-chain-tip')).toBe(node.chain.tip.hash)
      expect(response.headers.get('cache-control')).toBe('no-store')
      const text = await response.text()
      expect(text.endsWith('\r\n')).toBe(true)
      const [header, ...lines] = text.slice(0, -2).split('\r\n')
      expect(header).toBe('txid,block_height,tx_index,timestamp,value_change,balance')
      const rows = (await pipeline.get(`/address/${address}/txs?sort=asc&limit=100`)).body.items
      let balance = 0n
      const expected = rows.map((row: Record<string, string | number | null>) => {
        balance += BigInt(row['value_change'] as string)
        const place = `${String(row['block_height'] ?? '')},${String(row['tx_index'] ?? '')}`
        return `${String(row['txid'])},${place},${String(row['timestamp'])},${String(row['value_change'])},${String(balance)}`
      })
      expect(lines).toEqual(expected)
      expect(lines.length).toBeGreaterThanOrEqual((chain.history.get(script) ?? []).length)
    }
    const malformed = await fetch(`${pipeline.url}/api/v1/address/abc/txs.csv`)
    expect([malformed.status, await malformed.json()]).toMatchObject([400, { code: 'HW_INVALID_ARGUMENT' }])
    const unseen = await fetch(
      `${pipeline.url}/api/v1/address/qcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrehzm8/txs.csv`,
    )
    expect([unseen.status, (await unseen.text()).split('\r\n').length]).toEqual([200, 2])
    const head = await fetch(`${pipeline.url}/api/v1/address/${busiest()[0]![0]}/txs.csv`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})
