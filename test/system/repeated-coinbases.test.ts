import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { addressOf } from '../../pipelines/chain/address.js'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { replay } from '../../pipelines/materialize/rebuild/replay.js'
import { NodeClient } from '../../pipelines/node/client.js'
import type { SimBlock } from '../../services/simnode/chain/sim-block.js'
import { buildChain, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { NaiveState } from '../harness/naive-state.js'
import { Pipeline } from '../harness/pipeline.js'
import { IS_WHOLE } from '../harness/whole.js'

const engineUrl = inject('engineUrl')

/** A chain in which blocks repeat coinbases of lower blocks byte for byte, over spent and over unspent outputs (BIP 30). */
describe('a coinbase that is in several blocks', () => {
  let chain: SimChain
  let node: Simnode
  let pipeline: Pipeline
  let alice: Buffer
  let bob: Buffer
  let carol: Buffer
  /** Coinbases whose outputs are all spent, none is, and one of two is, before they are repeated. */
  let [spent, unspent, partly] = [] as unknown as [SimBlock, SimBlock, SimBlock]

  const txidOf = (block: SimBlock): string => chain.read(block).txs[0]?.txid ?? ''
  const pay = (...outputs: readonly (readonly [bigint, Buffer])[]): SimBlock =>
    chain.mine({ coinbaseOutputs: outputs.map(([value, script]) => ({ value, script })) })
  const spend = (block: SimBlock, ...vouts: readonly number[]): SimBlock => {
    const from = vouts.map((vout) => ({ txid: txidOf(block), vout }))
    return chain.mine({ txs: [chain.pay({ from, to: [], change: carol, fee: BigInt(chain.tip.height) })] })
  }
  const level = (): Promise<void> => pipeline.level({ tip: chain.tip.hash })
  const get = async (path: string) => (await pipeline.get(path)).body

  beforeAll(async () => {
    chain = buildChain({ network: BITCOIN_REGTEST, seed: 'repeated', blocks: 2 })
    const owner = (index: number): Buffer => chain.keyring.ownerOf('p2pkh', index).script
    alice = owner(0)
    bob = owner(1)
    carol = owner(2)
    spent = pay([5_000n, alice])
    unspent = pay([700n, alice], [20n, bob], [0n, alice], [9n, alice])
    partly = pay([300n, alice], [40n, bob])
    spend(spent, 0)
    spend(partly, 0)
    while (chain.tip.height < 12) chain.mine()
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl,
      finalityDepth: 4,
      rankingTail: 3,
      listTail: 2,
    })
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  /** Expects that every figure is that of an independent model of the chain. */
  async function expectExact(of: Pipeline = pipeline): Promise<void> {
    const naive = new NaiveState(chain)
    const body = async (path: string) => (await of.get(path)).body
    expect(await body('/stats/supply')).toMatchObject({
      circulatingSupply: naive.supply.toString(),
      utxoCount: naive.utxos().size,
    })
    expect(naive.supply).toBe(chain.coins.total)
    for (const script of [alice, bob, carol]) {
      const address = addressOf(script, BITCOIN_REGTEST) ?? ''
      const hex = script.toString('hex')
      const coins = [...naive.utxos().values()].filter((coin) => coin.script === hex)
      const rows = naive.history(hex)
      if (rows.length === 0) continue
      expect(await body(`/address/${address}`)).toMatchObject({
        balance: coins.reduce((sum, { value }) => sum + value, 0n).toString(),
        tx_count: rows.length,
        unspent_count: coins.length,
        total_received: rows.reduce((sum, { received }) => sum + received, 0n).toString(),
        total_sent: rows.reduce((sum, { sent }) => sum + sent, 0n).toString(),
      })
      const utxos = (await body(`/address/${address}/utxos?limit=500`)).items
      const outputOf = (one: { txid: string; vout: number; value: unknown }, height: unknown): string =>
        [one.txid, one.vout, height, one.value].join(' ')
      expect(utxos.map((each: never) => outputOf(each, each['block_height'])).sort()).toEqual(
        coins.map((coin) => outputOf(coin, coin.height)).sort(),
      )
      const { items } = await body(`/address/${address}/txs?limit=100`)
      const confirmed = items.filter((row: { block_height: number | null }) => row.block_height !== null)
      expect(
        confirmed
          .map((row: Record<string, unknown>) => [row['txid'], row['block_height'], row['value_change']])
          .reverse(),
      ).toEqual(rows.map(({ txid, height, received, sent }) => [txid, height, (received - sent).toString()]))
    }
  }

  async function expectCleanAudit(): Promise<void> {
    const client = new NodeClient(node.url)
    const logger = pino({ level: 'silent' })
    const { signal } = new AbortController()
    const parts = { db: pipeline.db, log: pipeline.log, node: client, logger, signal, patienceMs: 0 }
    const report = await audit(parts, { sample: 30, seed: '', checks: CHECKS })
    client.close()
    expect(report.checks.filter(({ differences }) => differences.length > 0)).toEqual([])
  }

  /** Expects the rows of an index that reads the whole chain at once, and its answers in the long check, which follow from the rows. */
  async function expectSameAsBackfill(): Promise<void> {
    const clean = await Pipeline.start({ nodeUrl: node.url, engineUrl, finalityDepth: 4 })
    try {
      await clean.level({ tip: chain.tip.hash })
      await expectSameRows(pipeline.db, clean.db)
      if (!IS_WHOLE) return
      await expectExact(clean)
      await expectCleanAudit()
    } finally {
      await clean.close()
    }
  }

  /** Returns the transactions that spend the outputs of a coinbase, as the list of its block shows it. */
  async function spendersIn(block: SimBlock): Promise<(string | null)[]> {
    const [coinbase] = (await get(`/block/${block.hash}/txs`)).items
    expect(coinbase).toMatchObject({ txid: txidOf(block), block_height: block.height })
    return coinbase.outputs.map((output: { spent_txid: string | null }) => output.spent_txid)
  }

  /** Expects the block that `/tx` names, and the transactions that spend the outputs. */
  async function expectShown(block: SimBlock, spenders: readonly (string | null)[]): Promise<void> {
    const tx = await get(`/tx/${txidOf(block)}`)
    expect(tx).toMatchObject({ block_hash: block.hash, block_height: block.height })
    expect(tx.outputs.map((output: { spent_txid: string | null }) => output.spent_txid)).toEqual(spenders)
    const { items } = await get(`/tx/${txidOf(block)}/outspends`)
    // A transaction that a reorganisation has returned to the mempool spends the outputs of the first block.
    const confirmed = items.map((each: { spent_txid: string | null; block_height: number | null }) =>
      each.block_height === null ? null : each.spent_txid,
    )
    expect(confirmed).toEqual(spenders)
    expect(await get(`/tx/${txidOf(block)}/status`)).toMatchObject({ block_height: block.height })
  }

  const lastTxid = (block: SimBlock): string => chain.read(block).txs.at(-1)?.txid ?? ''

  it('exists again, over spent and over unspent outputs, as each block arrives', async () => {
    await level()
    await expectExact()
    const before = chain.coins.total
    for (const [first, more] of [
      [spent, 1],
      [unspent, 0],
      [partly, 1],
    ] as const) {
      const again = chain.mine({ repeats: first })
      await level()
      await expectExact()
      // An output of P2PKH is 34 bytes, and the node counts 41 more for an unspent one.
      const increase = { utxo_increase: more, utxo_size_increase: 75 * more }
      expect(await get(`/block/${again.hash}/stats`)).toMatchObject(increase)
      await expectShown(again, chain.read(again).txs[0]?.outputs.map(() => null) ?? [])
    }
    expect(chain.coins.total).toBe(before + 5_000n + 300n)
    expect(await spendersIn(spent)).toEqual([lastTxid(chain.at(6) as SimBlock)])
    expect(await spendersIn(unspent)).toEqual([null, null, null, null])
    expect(await spendersIn(partly)).toEqual([lastTxid(chain.at(7) as SimBlock), null])
    await expectSameAsBackfill()
  })

  it('is spent in the later block only, and may be repeated after that, in consecutive blocks too', async () => {
    const spending = spend(unspent, 0, 1, 2, 3)
    await level()
    await expectExact()
    const txid = lastTxid(spending)
    const again = chain.at(14) as SimBlock
    await expectShown(again, [txid, txid, txid, txid])
    expect(await spendersIn(unspent)).toEqual([null, null, null, null])
    chain.mine({ repeats: unspent })
    const last = chain.mine({ repeats: unspent })
    await level()
    await expectExact()
    await expectShown(last, [null, null, null, null])
    expect(await spendersIn(again)).toEqual([txid, txid, txid, txid])
    expect(await spendersIn(unspent)).toEqual([null, null, null, null])
    if (IS_WHOLE) await expectCleanAudit()
  })

  it('is in the first block again after a reorganisation between the two, and back', async () => {
    const [tip, again] = [chain.tip, chain.at(18) as SimBlock]
    chain.extend(
      chain.at(12) as SimBlock,
      Array.from({ length: 7 }, () => ({})),
    )
    await level()
    await expectExact()
    await expectShown(unspent, [null, null, null, null])
    await expectShown(spent, [lastTxid(chain.at(6) as SimBlock)])
    await expectCleanAudit()
    // On this branch, the second one is spent.
    const branch = chain.mine({ repeats: unspent })
    const spending = spend(unspent, 0)
    await level()
    if (IS_WHOLE) await expectExact()
    await expectShown(branch, [lastTxid(spending), null, null, null])
    if (IS_WHOLE) await expectCleanAudit()
    chain.extend(
      tip,
      Array.from({ length: 4 }, () => ({})),
    )
    await level()
    await expectExact()
    await expectShown(again, [null, null, null, null])
    if (IS_WHOLE) await expectSameAsBackfill()
  })

  it.runIf(IS_WHOLE)(
    'is in the later of two blocks again after a reorganisation that disconnects a third one',
    async () => {
      const [below, again] = [chain.tip, chain.at(18) as SimBlock]
      const third = chain.mine({ repeats: unspent })
      await level()
      await expectShown(third, [null, null, null, null])
      chain.extend(below, [{}, {}])
      await level()
      await expectExact()
      await expectShown(again, [null, null, null, null])
      await expectSameAsBackfill()
    },
  )

  it('has no answer that clients keep as final, because a later block may contain it, too', async () => {
    const cacheControl = async (path: string): Promise<string | null> =>
      (await fetch(`${pipeline.url}/api/v1${path}`)).headers.get('cache-control')
    const final = await cacheControl(`/tx/${lastTxid(chain.at(6) as SimBlock)}/status`)
    expect(final).toContain('max-age')
    // All outputs are spent in final blocks.
    const txid = txidOf(spent)
    for (const path of ['', '/status', '/outspends', '/merkle-proof'])
      expect(await cacheControl(`/tx/${txid}${path}`), path).not.toBe(final)
  })

  it.runIf(IS_WHOLE)('is the same after a restart and after replays of some of its blocks', async () => {
    const again = chain.at(18) as SimBlock
    // A materializer that dies when the rows of the block are written, before the head is.
    const { db, log } = pipeline
    const beforeHead = (): void => {
      throw new Error('killed')
    }
    const logger = pino({ level: 'silent' })
    const killed = new Materializer({ db, log, logger, finalityDepth: 4, hooks: { beforeHead } })
    chain.mine({ repeats: partly })
    await pipeline.poll()
    const applied = async (): Promise<void> => {
      while (await killed.step());
    }
    await expect(applied()).rejects.toThrow('killed')
    await expectShown(again, [null, null, null, null])
    pipeline.restartMaterializer()
    await level()
    await expectExact()
    await expectShown(chain.tip, [null, null])
    for (const [from, to] of [
      [0, 8],
      [13, 14],
      [4, 14],
      [0, chain.tip.height],
    ] as const) {
      await replay(pipeline.db, pipeline.log, { from, to, progress: () => undefined })
      await expectShown(again, [null, null, null, null])
    }
    await expectExact()
    await expectSameAsBackfill()
    await expectCleanAudit()
  })
})
