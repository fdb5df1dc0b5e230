import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { serializeBlock } from '../../pipelines/chain/block.js'
import { addressOf } from '../../pipelines/chain/address.js'
import { parseTx, serializeTx, type TxParts } from '../../pipelines/chain/transaction.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'
import { blockOn, type FakeBlock, type FakeTx, grow, tx } from '../pipelines/poll/fake-chain.js'
import { FakeNode } from '../pipelines/poll/fake-node.js'

const TXS = 10_000
/** The number of blocks with so many transactions of one address. */
const FULL_BLOCKS = IS_WHOLE ? 10 : 1
const ALL_TXS = TXS * FULL_BLOCKS
/** The heights of the blocks with many outputs and with a large witness. */
const [WIDE_AT, HEAVY_AT] = [2 + FULL_BLOCKS, 3 + FULL_BLOCKS]
const OUTPUTS = 20_000
const WITNESS = 3_900_000
const SCRIPT = 10_000
const SCRIPTS = 10
/** The length of a page of Esplora's histories. */
const PAGE = 25
/** The number of transactions at either end of the history whose pages are requested. */
const END = IS_WHOLE ? TXS : 10 * PAGE
const BUSY = Buffer.from(`5120${'07'.repeat(32)}`, 'hex')

/** Returns a transaction that spends the first output of another one, which block `height` contains. */
function spending(
  coin: FakeTx,
  height: number,
  {
    outputs,
    witness = [],
    scriptSig = Buffer.alloc(0),
  }: {
    readonly outputs: TxParts['outputs']
    readonly witness?: readonly Buffer[]
    readonly scriptSig?: Buffer
  },
): FakeTx {
  const input = { prevTxid: coin.txid, prevVout: 0, scriptSig, sequence: 0xffff_ffff, witness: [...witness] }
  const raw = serializeTx({ version: 2, locktime: 0, inputs: [input], outputs }, witness.length > 0)
  const { value = 0n, script = raw } = coin.outputs[0] ?? {}
  return { ...parseTx(raw), raw, prevouts: [{ value, script, height }] }
}

describe('blocks of the largest size', () => {
  let node: FakeNode
  let pipeline: Pipeline
  /** The transactions that the blocks contain, beside their coinbases. */
  const many: FakeTx[] = []
  let wide: FakeTx
  let heavy: FakeTx
  let blocks: readonly FakeBlock[] = []

  beforeAll(async () => {
    let chain = grow([], 2)
    const coin = chain[1]?.txs[0] as FakeTx
    // A chain within the block: each transaction spends the one before it, as a mempool of dependent transactions does.
    const [value] = [coin.outputs[0]?.value ?? 0n]
    let [last, lastAt] = [coin, 1]
    for (let height = 2; height < WIDE_AT; height++) {
      const txs: FakeTx[] = []
      for (; txs.length < TXS; txs.push(last)) {
        many.push(
          (last = spending(last, lastAt, {
            outputs: [{ value: value - BigInt(many.length + 1), script: BUSY }],
          })),
        )
        lastAt = height
      }
      chain = [...chain, blockOn(chain, txs)]
    }
    const second = tx()
    wide = spending(second, WIDE_AT, {
      scriptSig: Buffer.alloc(SCRIPT, 0x51),
      outputs: [
        ...Array.from({ length: SCRIPTS }, () => ({ value: 1n, script: Buffer.alloc(SCRIPT, 0x51) })),
        ...Array.from({ length: OUTPUTS }, () => ({ value: 546n, script: BUSY })),
      ],
    })
    chain = [...chain, blockOn(chain, [second, wide])]
    const third = tx()
    heavy = spending(third, HEAVY_AT, {
      witness: [Buffer.alloc(WITNESS, 0xab)],
      outputs: [{ value: 1_000n, script: BUSY }],
    })
    blocks = [...chain, blockOn(chain, [third, heavy])]
    node = await FakeNode.start(blocks)
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      chain: 'bitcoin-regtest',
      explorer: { esploraPort: 0 },
    })
    await pipeline.level()
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('are indexed whole', async () => {
    expect(wide.size).toBeGreaterThan(900_000)
    const sizes = await Promise.all(
      [2, WIDE_AT, HEAVY_AT].map(async (height) => (await pipeline.get(`/block/${String(height)}`)).body),
    )
    expect(sizes.map(({ tx_count: count }) => count)).toEqual([TXS + 1, 3, 3])
    expect(sizes.map(({ weight }) => weight > 3_000_000 && weight <= 4_000_000)).toEqual([true, true, true])
  })

  it('have pages of transactions at both ends', async () => {
    const path = '/block/2/txs?limit=50&page='
    const [first, last] = [await pipeline.get(`${path}1`), await pipeline.get(`${path}200`)]
    expect(first.body.items[1].txid).toBe(many[0]?.txid)
    expect(last.body.items.at(-1).txid).toBe(many[TXS - 2]?.txid)
  })

  it('have whole transactions on their paths: 20,000 outputs, scripts of 10,000 bytes, a witness of 3.9 MB', async () => {
    const shown = (await pipeline.get(`/tx/${wide.txid}`)).body
    expect(shown.outputs).toHaveLength(OUTPUTS + SCRIPTS)
    expect(shown.inputs[0].script_sig).toHaveLength(2 * SCRIPT)
    expect(shown.outputs[0].script_pub_key).toHaveLength(2 * SCRIPT)
    expect((await pipeline.get(`/tx/${heavy.txid}`)).body.inputs[0].witness[0]).toHaveLength(2 * WITNESS)
    for (const { txid, raw } of [wide, heavy])
      expect((await pipeline.get(`/tx/${txid}/hex`)).body.hex).toBe(raw.toString('hex'))
  })

  it('have pages of bounded size', async () => {
    for (const path of ['/block/2', `/tx/${wide.txid}`, `/tx/${heavy.txid}`]) {
      // As a browser does: on a machine with more work than it can do, a large page may exceed the deadline of an answer.
      const page = await until(`${path} is answered`, async () => {
        const answer = await fetch(`${pipeline.url}${path}`)
        return answer.status === 503 ? undefined : answer
      })
      const text = await page.text()
      expect([path, page.status]).toEqual([path, 200])
      expect(text.length, path).toBeLessThan(1_000_000)
    }
  })

  it('have an address with all their transactions and outputs', async () => {
    const address = addressOf(BUSY, BITCOIN_REGTEST) ?? ''
    expect((await pipeline.get(`/address/${address}`)).body).toMatchObject({
      tx_count: ALL_TXS + 2,
      unspent_count: OUTPUTS + 2,
    })
    const txs = (await pipeline.get(`/address/${address}/txs?limit=50&page=200`)).body
    expect(txs.total).toBe(ALL_TXS + 2)
    expect(txs.items).toHaveLength(50)
    const utxos = (await pipeline.get(`/address/${address}/utxos?limit=100&offset=${String(OUTPUTS)}`)).body
    expect(utxos.items).toHaveLength(2)
  })

  it('are whole in the Esplora API: the bytes of blocks and transactions, a history page by page, all unspent outputs', async () => {
    const get = (path: string): Promise<Response> => fetch(pipeline.esploraUrl + path)
    for (const block of blocks.slice(2)) {
      const raw = Buffer.from(await (await get(`/block/${block.hash}/raw`)).arrayBuffer())
      expect(
        raw.equals(
          serializeBlock(
            block.header,
            block.txs.map((each) => each.raw),
          ),
        ),
      ).toBe(true)
    }
    for (const { txid, raw } of [wide, heavy]) {
      expect(Buffer.from(await (await get(`/tx/${txid}/raw`)).arrayBuffer()).equals(raw)).toBe(true)
      const shown = (await (await get(`/tx/${txid}`)).json()) as { vout: unknown[]; size: number }
      expect([shown.vout.length, shown.size]).toEqual([parseTx(raw).outputs.length, raw.length])
    }
    const address = addressOf(BUSY, BITCOIN_REGTEST) ?? ''
    const history = [heavy, wide, ...[...many].reverse()].map(({ txid }) => txid)
    const pagesFrom = async (first: number, count: number): Promise<string[]> => {
      const txids: string[] = []
      for (let last = first > 0 ? history[first - 1] : undefined; txids.length < count; last = txids.at(-1)) {
        const path = `/address/${address}/txs/chain${last === undefined ? '' : `/${last}`}`
        const page = (await (await get(path)).json()) as { txid: string }[]
        txids.push(...page.map(({ txid }) => txid))
        if (page.length < PAGE) break
      }
      return txids
    }
    expect(await pagesFrom(0, END)).toEqual(history.slice(0, END))
    expect(await pagesFrom(history.length - END, Number.POSITIVE_INFINITY)).toEqual(history.slice(-END))
    const utxos = (await (await get(`/address/${address}/utxo`)).json()) as { value: number }[]
    expect(utxos).toHaveLength(OUTPUTS + 2)
  })
})
