import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRecordedNode, type RecordedNode } from '../../../services/recorded-node/node.js'
import { readFrames, readOracles, TIMELINE, type Frame } from '../../harness/recording.js'

const frames = readFrames()
const oracles = readOracles()
let node: RecordedNode

interface Answer {
  readonly result: unknown
  readonly error: { readonly code: number; readonly message: string } | null
}

interface ShownBlock {
  readonly tx: readonly { readonly vin: readonly { readonly prevout?: object }[] }[]
}

async function post(body: unknown): Promise<{ status: number; answer: unknown }> {
  const response = await fetch(node.url, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, answer: await response.json() }
}

async function rpc(method: string, ...params: unknown[]): Promise<unknown> {
  const { result, error } = (await post({ id: 7, method, params })).answer as Answer
  if (error !== null) throw new Error(`${String(error.code)} ${error.message}`)
  return result
}

beforeAll(async () => {
  node = await startRecordedNode({ timeline: TIMELINE })
})

afterAll(() => node.close())

describe('a recorded node', () => {
  it('starts at the first frame, with block 0 alone', async () => {
    expect(await rpc('getblockcount')).toBe(0)
    const genesis = frames[0]?.connected[0]?.block
    expect(await rpc('getblockhash', 0)).toBe(genesis?.hash)
    expect(await rpc('gettxoutsetinfo')).toMatchObject({ height: 0, txouts: 0, total_amount: 0 })
    expect(await rpc('getblock', genesis?.hash, 3)).toMatchObject({ height: 0, confirmations: 1 })
  })

  it('answers waitfornewblock when a step changes its tip', async () => {
    const own = await startRecordedNode({ timeline: TIMELINE })
    const body = JSON.stringify({ id: 1, method: 'waitfornewblock', params: [0] })
    const waiting = fetch(own.url, { method: 'POST', body }).then((answer) => answer.json())
    let isAnswered = false
    void waiting.then(() => (isAnswered = true))
    const changes = frames.findIndex(({ connected }, frame) => frame > 0 && connected.length > 0)
    // Until the request has arrived, a step is not its answer.
    for (let frame = 0; !isAnswered && frame < 200; frame++) {
      own.step(changes)
      await fetch(`${own.url}/control`)
    }
    const { result } = (await waiting) as { result: { hash: string; height: number } }
    const hashes = frames.flatMap(({ connected }) => connected.map(({ block }) => block.hash))
    expect(result.height).toBeGreaterThan(0)
    expect(hashes).toContain(result.hash)
    await own.close()
  })

  it('answers errors as Core does', async () => {
    await expect(rpc('getblockhash', 1)).rejects.toThrow('-8 Block height out of range')
    await expect(rpc('getblock', 'f'.repeat(64))).rejects.toThrow('-5 Block not found')
    await expect(rpc('getblock', 'ff')).rejects.toThrow(/^-8 blockhash must be of length 64/)
    await expect(rpc('getrawtransaction', 'f'.repeat(64))).rejects.toThrow(/^-5 No such mempool/)
    await expect(rpc('getblockhash', 'x')).rejects.toThrow(/^-3/)
    await expect(rpc('sendrawtransaction', '00')).rejects.toThrow('-22 TX decode failed')
    const coinbase = frames[0]?.connected[0]?.block.tx[0] as { hex?: string } | undefined
    await expect(rpc('sendrawtransaction', coinbase?.hex)).rejects.toThrow(/^-26 the recorded node accepts/)
    expect(await post({ id: 1, method: 'nothing' })).toMatchObject({
      status: 404,
      answer: { error: { code: -32601 } },
    })
    expect(
      await post([
        { id: 1, method: 'getblockcount' },
        { id: 2, method: 'nothing' },
      ]),
    ).toMatchObject({
      status: 200,
      answer: [
        { id: 1, result: 0 },
        { id: 2, error: { code: -32601 } },
      ],
    })
    const garbage = await fetch(node.url, { method: 'POST', body: '{' })
    expect(await garbage.json()).toMatchObject({ error: { code: -32700 } })
  })

  it('has at every frame the state of the frame', async () => {
    for (const [i, frame] of frames.entries()) {
      if (i > 0) node.step(1)
      if (i % 40 !== 0 && frame.type !== 'reorg') continue
      expect(node.frame()).toBe(i)
      expect(await rpc('getblockchaininfo')).toEqual(frame.chaininfo)
      expect(await rpc('getbestblockhash')).toBe(frame.chaininfo.bestblockhash)
      expect(await rpc('getrawmempool', true)).toEqual(frame.mempool)
      for (const txid of (await rpc('getrawmempool')) as string[]) {
        const hex = await rpc('getrawtransaction', txid)
        expect(hex).toMatch(/^0[0-9a-f]+$/)
        expect(await rpc('sendrawtransaction', hex)).toBe(txid)
      }
      if (frame.type === 'reorg') await expectReplaced(frame)
    }
  })

  it('has at the end the figures of its oracles, and treats a frame beyond the last as the last', async () => {
    const stepped = await fetch(`${node.url}/control/step?frames=100000`, { method: 'POST' })
    expect(await stepped.json()).toEqual({ frame: frames.length - 1, frames: frames.length })
    expect(await (await fetch(`${node.url}/control`)).json()).toEqual({
      frame: frames.length - 1,
      frames: frames.length,
    })
    expect(await rpc('gettxoutsetinfo')).toEqual(oracles.txoutset)
    for (const [address, { balance, utxos, scriptPubKey }] of Object.entries(oracles.addresses)) {
      for (const descriptor of [`addr(${address})`, { desc: `raw(${scriptPubKey})` }]) {
        const scan = (await rpc('scantxoutset', 'start', [descriptor])) as {
          total_amount: number
          unspents: []
        }
        expect([address, scan.total_amount, scan.unspents.length]).toEqual([address, balance, utxos])
      }
    }
    for (const [txid, reported] of Object.entries(oracles.transactions)) {
      const { vin, fee, ...rest } = reported
      expect(await rpc('getrawtransaction', txid, 1)).toMatchObject(rest)
    }
  })

  it('returns a block in all its verbosities', async () => {
    const { header, block } =
      frames.findLast((frame: Frame) => (frame.connected[0]?.block.tx.length ?? 0) > 1)?.connected[0] ?? {}
    if (header === undefined || block === undefined) throw new Error('no such block')
    const raw = await rpc('getblock', block.hash, 0)
    expect(raw).toBe(
      `${header}${block.tx.length.toString(16).padStart(2, '0')}${block.tx.map((tx) => (tx as { hex?: string }).hex).join('')}`,
    )
    expect(await rpc('getblock', block.hash)).toMatchObject({ tx: block.tx.map((tx) => tx.txid) })
    const plain = (await rpc('getblock', block.hash, 2)) as ShownBlock
    expect(plain.tx[1]?.vin[0]).not.toHaveProperty('prevout')
    expect(await rpc('getblock', block.hash, 3)).toMatchObject({ tx: block.tx })
    expect(await rpc('getblockheader', block.hash, false)).toBe(header)
    expect(await rpc('getblockheader', block.hash)).toMatchObject({ hash: block.hash, height: block.height })
    expect(await rpc('getblockheader', block.hash)).not.toHaveProperty('tx')
  })
})

async function expectReplaced(frame: Frame): Promise<void> {
  for (const hash of frame.disconnected) {
    expect(await rpc('getblock', hash, 3)).toMatchObject({ hash, confirmations: -1 })
  }
  const tip = frame.connected.at(-1)?.block
  expect(await rpc('getblock', tip?.hash, 1)).toMatchObject({ confirmations: 1 })
  expect(await rpc('getblockhash', tip?.height)).toBe(tip?.hash)
}
