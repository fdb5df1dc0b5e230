import mempoolJS from '@mempool/mempool.js'
import type { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode } from '../harness/follow-node.js'
import { baseUnits } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'

/** The transactions of a projected block, or their changes; the first element of each is its txid. */
interface Projected {
  readonly blockTransactions?: readonly [string][]
  readonly delta?: { readonly added: readonly [string][]; readonly removed: readonly string[] }
}

interface Entry {
  readonly vsize: number
  readonly fees: { readonly base: number }
}

describe("mempool.space's WebSocket", () => {
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({
      seed: 'mempool.space live',
      blocks: 20,
      txsPerBlock: 6,
      network: BITCOIN_REGTEST,
    })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { auditEveryMs: 0, esploraPort: 0 },
    })
    node.simulation.enter(30)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const fetched = (path: string): Promise<Response> => fetch(`${pipeline.esploraUrl}/api/v1${path}`)
  const get = async (path: string): Promise<unknown> => (await fetched(path)).json()

  async function mempool() {
    const entries = await callNode<Record<string, Entry>>(node, 'getrawmempool', true)
    return Object.entries(entries).map(([txid, { vsize, fees }]) => ({
      txid,
      vsize,
      fee: baseUnits(fees.base),
    }))
  }

  it('has the trees of replacements, and sends them', async () => {
    interface Tree {
      readonly tx: { readonly txid: string; readonly fee: number; readonly vsize: number }
      readonly replaces: readonly Tree[]
    }
    const before = new Map((await mempool()).map((tx) => [tx.txid, tx]))
    const { websocket } = mempoolJS({ hostname: new URL(pipeline.esploraUrl).host, protocol: 'http' }).bitcoin
    const ws: unknown = websocket.wsInit()
    const messages: Record<string, unknown>[] = []
    ;(ws as WebSocket).on('message', (data: Buffer) => {
      messages.push(JSON.parse(data.toString()) as Record<string, unknown>)
    })
    websocket.wsTrackRbf(ws as never, false)
    websocket.wsTrackRbfSummary(ws as never)
    await until('the lists are sent', () => Promise.resolve(messages.some((each) => 'rbfLatest' in each)))
    expect(node.simulation.replace(3)).toBeGreaterThan(0)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    const now = new Set((await mempool()).map(({ txid }) => txid))
    const gone = [...before.keys()].filter((txid) => !now.has(txid))
    const trees = (await get('/replacements')) as Tree[]
    const replaced = (tree: Tree): string[] =>
      tree.replaces.flatMap((each) => [each.tx.txid, ...replaced(each)])
    expect(new Set(trees.flatMap(replaced))).toEqual(new Set(gone))
    for (const tree of trees) {
      expect(now.has(tree.tx.txid)).toBe(true)
      for (const each of tree.replaces) {
        const { fee, vsize } = before.get(each.tx.txid)!
        expect(each.tx).toMatchObject({ fee: Number(fee), vsize })
        const own = (await get(`/tx/${each.tx.txid}/rbf`)) as { replacements: Tree }
        expect(own.replacements).toEqual(tree)
        expect(await get(`/tx/${each.tx.txid}/cached`)).toMatchObject({
          txid: each.tx.txid,
          fee: Number(fee),
        })
      }
      expect(await get(`/tx/${tree.tx.txid}/rbf`)).toEqual({
        replacements: tree,
        replaces: tree.replaces.map(({ tx }) => tx.txid),
      })
    }
    expect(
      await get(`/tx/${[...now].find((txid) => !trees.some(({ tx }) => tx.txid === txid))!}/rbf`),
    ).toEqual({
      replacements: null,
      replaces: null,
    })
    expect((await fetched(`/tx/${[...now][0]!}/cached`)).status).toBe(404)
    await until('the new trees are sent', () => {
      const last = messages.findLast((each) => 'rbfLatest' in each)?.['rbfLatest']
      const summary = messages.findLast((each) => 'rbfLatestSummary' in each)?.['rbfLatestSummary']
      const isNew = (list: unknown): boolean => Array.isArray(list) && list.length === trees.length
      return Promise.resolve(isNew(last) && isNew(summary))
    })
    ;(ws as WebSocket).close()
  })

  const sockets: WebSocket[] = []
  const txids = (): string[] => [...node.simulation.mempool.entries()].map(({ tx }) => tx.txid)
  afterAll(() => {
    for (const socket of sockets) socket.close()
  })

  /** Opens a connection of mempool.js that collects the fields of all messages. */
  async function connect() {
    const { websocket } = mempoolJS({
      hostname: new URL(pipeline.esploraUrl).host,
      protocol: 'http',
    }).bitcoin
    const ws: unknown = websocket.wsInit()
    const raw = ws as WebSocket
    sockets.push(raw)
    const messages: Record<string, unknown>[] = []
    raw.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as Record<string, unknown>))
    const field = (name: string): Promise<unknown> => {
      const has = (): boolean => messages.some((message) => name in message)
      return until(`a message has ${name}`, () => Promise.resolve(has())).then(
        () => messages.findLast((message) => name in message)?.[name],
      )
    }
    await field('blocks')
    return { websocket, ws: ws as never, raw, messages, field }
  }

  it('sends everything at the start, and what is wanted at each change', async () => {
    const { websocket, ws, messages, field } = await connect()
    const [first] = messages
    expect(Object.keys(first!)).toEqual(
      expect.arrayContaining([
        'mempoolInfo',
        'blocks',
        'mempool-blocks',
        'transactions',
        'fees',
        'da',
        'backendInfo',
      ]),
    )
    expect(first!['blocks']).toEqual([...((await get('/blocks')) as unknown[]).slice(0, 8)].reverse())
    expect(first!['mempool-blocks']).toEqual(await get('/fees/mempool-blocks'))
    expect(first!['mempoolInfo']).toMatchObject({ size: node.simulation.mempool.size })
    messages.length = 0
    websocket.wsWantData(ws, ['blocks', 'stats', 'mempool-blocks'])
    await field('mempoolInfo')
    messages.length = 0
    node.simulation.enter(3)
    await pipeline.level()
    await until('the new size is sent', () =>
      Promise.resolve(
        messages.some(
          ({ mempoolInfo }) =>
            (mempoolInfo as { size?: number } | undefined)?.size === node.simulation.mempool.size,
        ),
      ),
    )
    const mined = node.simulation.mine()
    await pipeline.level()
    expect(await field('block')).toMatchObject({
      id: mined.hash,
      extras: { totalFees: expect.any(Number) },
    })
    websocket.wsStopData(ws)
  })

  it('follows transactions and addresses from the mempool into a block, and out of a disconnected one', async () => {
    const { websocket, ws, raw, messages, field } = await connect()
    node.simulation.enter(6)
    await pipeline.level()
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    const [txid] = txids()
    const tx = (await (await fetch(`${pipeline.esploraUrl}/tx/${txid!}`)).json()) as {
      vout: { scriptpubkey_address?: string; scriptpubkey: string }[]
    }
    const { scriptpubkey_address: address, scriptpubkey } = tx.vout.find(
      (each) => each.scriptpubkey_address !== undefined,
    )!
    websocket.wsTrackTransaction(ws, txid!)
    expect(await field('txPosition')).toMatchObject({ txid, position: { block: 0 } })
    websocket.wsTrackAddress(ws, address!)
    websocket.wsTrackAddresses(ws, [address!])
    raw.send(
      JSON.stringify({
        'track-scriptpubkeys': [scriptpubkey],
        'track-mempool-txids': true,
        'track-mempool': true,
      }),
    )
    websocket.wsTrackMempoolBlock(ws, 0)
    // All of them first, then what changes.
    const projected = (): Set<string> => {
      const known = new Set<string>()
      for (const message of messages) {
        const part = message['projected-block-transactions'] as Projected | undefined
        for (const [id] of [...(part?.blockTransactions ?? []), ...(part?.delta?.added ?? [])]) known.add(id)
        for (const id of part?.delta?.removed ?? []) known.delete(id)
      }
      return known
    }
    await until('the projected block is that of the mempool', () => {
      const known = projected()
      return Promise.resolve(known.size === txids().length && txids().every((id) => known.has(id)))
    })
    raw.send(JSON.stringify({ action: 'ping' }))
    expect(await field('pong')).toBe(true)
    node.simulation.mine({ txs: node.simulation.mempool.size })
    await pipeline.level()
    expect(await field('txConfirmed')).toBe(txid)
    interface Shown {
      readonly txid: string
      readonly vin: readonly { readonly prevout: { readonly scriptpubkey: string } | null }[]
      readonly vout: readonly { readonly scriptpubkey: string }[]
    }
    const inBlock: Shown[] = []
    for (let from = 0; from < node.chain.read(node.chain.tip).txs.length; from += 25) {
      const page = await fetch(`${pipeline.esploraUrl}/block/${node.chain.tip.hash}/txs/${String(from)}`)
      inBlock.push(...((await page.json()) as Shown[]))
    }
    const touches = ({ vin, vout }: Shown): boolean =>
      [...vout, ...vin.flatMap(({ prevout }) => prevout ?? [])].some(
        (each) => each.scriptpubkey === scriptpubkey,
      )
    const own = inBlock.filter(touches).reverse()
    expect(own.map((each) => each.txid)).toContain(txid)
    expect(await field('block-transactions')).toEqual(own)
    const lists = { mempool: [], confirmed: own, removed: [] }
    expect(await field('multi-address-transactions')).toEqual({ [address!]: lists })
    expect(await field('multi-scriptpubkey-transactions')).toEqual({ [scriptpubkey]: lists })
    expect(((await field('mempool-txids')) as { mined: string[] }).mined).toContain(txid)
    messages.length = 0
    node.simulation.reorg(1)
    await pipeline.level()
    // It is in the other branch, or in the mempool again.
    const isBack = (message: Record<string, unknown>): boolean =>
      'address-transactions' in message || 'txConfirmed' in message
    await until('the transaction has moved', () => Promise.resolve(messages.some(isBack)))
    websocket.wsStopTrackingTransaction(ws)
    websocket.wsStopTrackingAddress(ws)
    websocket.wsStopTrackingAddresses(ws)
    websocket.wsStopTrackingMempoolBlock(ws)
  })

  it('refuses what is too much, and what is no message', async () => {
    const { raw, field } = await connect()
    raw.send(JSON.stringify({ 'track-txs': Array.from({ length: 101 }, () => 'ab'.repeat(32)) }))
    expect(await field('track-txs-error')).toMatch(/too many txids/)
    await until('it is closed', () => Promise.resolve(raw.readyState === raw.CLOSED))
    const other = (await connect()).raw
    other.send('no JSON')
    await until('it is closed', () => Promise.resolve(other.readyState === other.CLOSED))
    const plain = await fetch(`${pipeline.esploraUrl}/api/v1/ws`)
    expect(plain.status).toBe(426)
  })
})
