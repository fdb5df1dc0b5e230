import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { electrumHashOf, scriptHash } from '../../pipelines/chain/script.js'
import { replay } from '../../pipelines/materialize/rebuild/replay.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { loadChainView } from '../../pipelines/tables/chain-view.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { MAX_SCRIPT_NAME } from '../../services/explorer/core/reads/arguments.js'
import { type RecordedNode, startRecordedNode } from '../../services/recorded-node/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { baseUnits, type NodeBlock } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { type Frame, readFrames, readOracles, timelineOf } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { sampledByKind } from '../harness/whole.js'

const IS_WHOLE = process.env['RECORDING_EVERY_FRAME'] === '1'
/** Unless every frame is compared: those of every third reorganisation, and one in so many. */
const ONE_IN = 400
const REORGS_PER_COMPARED = 3
const MAX_SCRIPTS = IS_WHOLE ? Number.POSITIVE_INFINITY : 4
/** The first block that is replayed; block 321 has the coinbase of block 121. */
const REPLAYED_FROM = IS_WHOLE ? 100 : 300
/** Returns the type of a script: its first bytes and its length. */
const typeOf = (script: string): string => `${script.slice(0, 4)} ${String(script.length)}`
/** The frames of the main chain that are indexed: in CI, those of its first 2,000 blocks. */
const MAIN_FRAMES = IS_WHOLE ? Number.POSITIVE_INFINITY : 5
const engineUrl = inject('engineUrl')

/** Returns balance, number of unspent outputs and number of transactions of a script, by its last row. */
async function totalsOf({ db }: Pipeline, script: string): Promise<unknown> {
  const head = await latestHead(db)
  if (head === undefined) throw new Error('nothing is indexed')
  const sql = `SELECT toString(total_received - total_sent) AS balance, unspent_count AS unspent, script_txs.ordinal AS txs
    FROM script_txs WHERE script_hash = unhex({hash:String}) AND ${(await loadChainView(db, head)).tagFilter()}
    ORDER BY script_txs.ordinal DESC LIMIT 1`
  return (await db.query(sql, { hash: scriptHash(Buffer.from(script, 'hex')) }))[0]
}

async function expectCleanAudit({ db, log }: Pipeline, nodeUrl: string): Promise<void> {
  const node = new NodeClient(nodeUrl)
  const logger = pino({ level: 'silent' })
  const { signal } = new AbortController()
  const parts = { db, log, node, logger, signal, patienceMs: 0 }
  const report = await audit(parts, { sample: IS_WHOLE ? 60 : 10, seed: 'bitcoin', checks: CHECKS })
  node.close()
  expect(report.checks.filter(({ differences }) => differences.length > 0)).toEqual([])
}

/** Expects the node's getblockstats and getnetworkhashps. */
async function expectStatistics(
  pipeline: Pipeline,
  { blockstats, networkhashps }: Pick<ReturnType<typeof readOracles>, 'blockstats' | 'networkhashps'>,
  blocks: readonly NodeBlock[],
): Promise<void> {
  for (const [height, stats] of Object.entries(blockstats)) {
    const block = blocks[Number(height)]
    expect((await pipeline.get(`/block/${height}`)).body, height).toMatchObject({
      hash: stats.blockhash,
      total_fees: String(stats.totalfee),
      tx_count: stats.txs,
      subsidy: String(stats.subsidy),
      size: block?.size,
      stripped_size: block?.strippedsize,
      weight: block?.weight,
      chainwork: block?.chainwork,
      timestamp: new Date(stats.time * 1000).toISOString(),
      median_time: new Date(stats.mediantime * 1000).toISOString(),
    })
  }
  for (const [window, rate] of Object.entries(networkhashps)) {
    const { body } = await pipeline.get(`/mining/network-hashrate?window=${window}`)
    expect(Number(body.hashrate) / rate, window).toBeCloseTo(1, 9)
  }
}

describe('the recording of Bitcoin Core', () => {
  const recording = 'bitcoin-regtest'
  const frames = readFrames(recording)
  const oracles = readOracles(recording)
  const chain = new NaiveChain()
  let pipeline: Pipeline
  let node: RecordedNode

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: timelineOf(recording) })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl, finalityDepth: 5, rankingTail: 150 })
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const get = async (path: string) => (await pipeline.get(path)).body

  async function expectFrame(frame: Frame, touched: ReadonlySet<string>): Promise<void> {
    const { bestblockhash: tip } = frame.chaininfo
    const poolFees = baseUnits(frame.mempoolinfo.total_fee)
    await pipeline.level({ tip, mempoolSize: frame.mempoolinfo.size, poolFees })
    const figures = chain.figures.get(tip)
    expect(await get('/stats/supply')).toMatchObject({
      circulatingSupply: figures?.supply.toString(),
      utxoCount: figures?.utxoCount,
    })
    expect(await get('/stats/summary')).toMatchObject({
      tipHash: tip,
      totalTransactions: figures?.transactions,
      activeAddresses: figures?.fundedAddresses,
    })
    for (const script of [...touched].slice(-MAX_SCRIPTS)) {
      const txs = chain.history.get(script)?.length ?? 0
      if (txs === 0) continue
      const [balance, unspent] = [chain.balance(script).toString(), chain.utxos(script).length]
      expect(await totalsOf(pipeline, script), script).toEqual({ balance, unspent, txs })
    }
  }

  it('has supply, outputs and balances of each compared frame, reorganisations included', async () => {
    const touched = new Set<string>()
    let [at, reorgs] = [0, 0]
    for (const [index, frame] of frames.entries()) {
      for (const hash of frame.disconnected) {
        expect(chain.tip?.hash).toBe(hash)
        for (const script of chain.pop()) touched.add(script)
      }
      for (const { block } of frame.connected) for (const script of chain.push(block)) touched.add(script)
      const isReorg = frame.type === 'reorg' && reorgs++ % REORGS_PER_COMPARED === 0
      const isBeforeReorg = frames[index + 1]?.type === 'reorg' && reorgs % REORGS_PER_COMPARED === 0
      const isCompared = IS_WHOLE || isReorg || index % ONE_IN === 0 || index === frames.length - 1
      if (!isCompared && !isBeforeReorg) continue
      node.step(index - at)
      at = index
      // Indexed, so that there is something to reorganise.
      if (!isCompared) await pipeline.level({ tip: frame.chaininfo.bestblockhash })
      else await expectFrame(frame, touched)
      if (isCompared) touched.clear()
    }
    const disconnected = frames.reduce((sum, frame) => sum + frame.disconnected.length, 0)
    const seen = pipeline.fold.counts.disconnected
    if (IS_WHOLE) expect(seen).toBe(disconnected)
    else expect(seen).toBeGreaterThan(0)
  })

  it('has the figures of gettxoutsetinfo, getblockstats and getnetworkhashps', async () => {
    expect(await get('/stats/supply')).toEqual({
      circulatingSupply: baseUnits(oracles.txoutset.total_amount).toString(),
      utxoCount: oracles.txoutset.txouts,
      maxSupply: '2100000000000000',
    })
    await expectStatistics(pipeline, oracles, chain.blocks)
  })

  it('has balances and unspent outputs of addresses, and of scripts without one', async () => {
    const addresses = sampledByKind(Object.entries(oracles.addresses), 4, ([, { scriptPubKey }]) =>
      typeOf(scriptPubKey),
    )
    for (const [address, { balance, utxos, scriptPubKey }] of addresses) {
      const figures = { address, balance: baseUnits(balance).toString(), unspent_count: utxos }
      // A script that the node knows and no block contains.
      if (!chain.history.has(scriptPubKey)) expect(utxos).toBe(0)
      else expect(await get(`/address/${address}`)).toMatchObject(figures)
      const { items, total } = await get(`/address/${address}/utxos?limit=500`)
      expect(total, address).toBe(utxos)
      expect(items.every((item: { script_pub_key: string }) => item.script_pub_key === scriptPubKey)).toBe(
        true,
      )
    }
    const scripts = sampledByKind(Object.entries(oracles.scripts ?? {}), 4, ([script]) => typeOf(script))
    for (const [script, { balance, utxos: unspent }] of scripts) {
      const totals = { balance: baseUnits(balance).toString(), unspent }
      expect(await totalsOf(pipeline, script), script).toMatchObject(totals)
      // By its script hash as in Electrum, and whole unless it is too long for a URL.
      const bytes = Buffer.from(script, 'hex')
      for (const name of [electrumHashOf(bytes), ...(script.length <= MAX_SCRIPT_NAME ? [script] : [])])
        expect(await get(`/address/${name}`), name).toMatchObject({
          balance: totals.balance,
          unspent_count: unspent,
          scripthash: electrumHashOf(bytes),
        })
    }
  })

  it('has the transactions of getrawtransaction, with the types of scripts that the node names', async () => {
    for (const [txid, tx] of Object.entries(oracles.transactions)) {
      const body = await get(`/tx/${txid}`)
      const { size, weight, vsize } = tx
      expect(body).toMatchObject({ txid, size, weight, vsize, is_dilithium: false })
      const reported = chain.blocks.flatMap((block) => block.tx).find((each) => each.txid === txid)
      for (const [vin, input] of tx.vin.entries()) {
        const prevout = reported?.vin[vin]?.prevout
        const script = input.coinbase ?? input.scriptSig?.hex
        expect(body.inputs[vin]).toMatchObject({
          prev_txid: input.txid ?? null,
          script_sig: script === '' ? null : script,
          witness: input.txinwitness ?? [],
          value: prevout === undefined ? null : baseUnits(prevout.value).toString(),
          address: prevout?.scriptPubKey.address ?? null,
        })
      }
      for (const [vout, { value, scriptPubKey }] of tx.vout.entries()) {
        const { hex, type, address } = scriptPubKey
        expect(body.outputs[vout], `${txid} ${String(vout)}`).toMatchObject({
          value: baseUnits(value).toString(),
          script_pub_key: hex,
          script_type: type,
          addresses: address === undefined ? [] : [{ address, role: 'recipient' }],
        })
      }
    }
  })

  it('has the mempool of the node', async () => {
    const { items } = await get('/mempool/txs?limit=100')
    expect(items.map(({ txid }: { txid: string }) => txid).sort()).toEqual(
      Object.keys(oracles.mempool).sort(),
    )
    for (const { txid, fee, vsize, weight } of items) {
      const entry = oracles.mempool[txid]
      expect({ vsize, weight }).toEqual({ vsize: entry?.vsize, weight: entry?.weight })
      expect(fee).toBe(baseUnits(entry?.fees.base ?? 0).toString())
    }
  })

  it('has a coinbase in two blocks: /tx names the later one, in which it is unspent', async () => {
    const [first, second] = [chain.blocks[121], chain.blocks[321]]
    const txid = second?.tx[0]?.txid
    expect(first?.tx[0]?.txid).toBe(txid)
    const tx = await get(`/tx/${String(txid)}`)
    expect(tx).toMatchObject({ block_height: 321, block_hash: second?.hash, outputs: [{ spent_txid: null }] })
    const spending = chain.blocks
      .flatMap(({ tx: txs }) => txs)
      .find(({ vin }) => vin.some((input) => input.txid === txid))
    for (const [height, spent_txid] of [
      [121, spending?.txid],
      [321, null],
    ] as const)
      expect((await get(`/block/${String(height)}/txs`)).items[0]).toMatchObject({
        txid,
        block_height: height,
        outputs: [{ spent_txid }],
      })
  })

  it('has the rows of a clean index, also after a replay, and a clean audit', async () => {
    await expectCleanAudit(pipeline, node.url)
    const clean = await Pipeline.start({ nodeUrl: node.url, engineUrl, finalityDepth: 100 })
    try {
      await clean.level({ tip: oracles.txoutset.bestblock })
      await expectSameRows(pipeline.db, clean.db)
      await replay(pipeline.db, pipeline.log, { from: REPLAYED_FROM, to: 340, progress: () => undefined })
      await expectSameRows(pipeline.db, clean.db)
    } finally {
      await clean.close()
    }
  })
})

describe("the first blocks of Bitcoin's main chain", () => {
  const recording = 'bitcoin-main'
  const frames = readFrames(recording).slice(0, MAIN_FRAMES)
  const blocks = frames.flatMap(({ connected }) => connected.map(({ block }) => block))
  const oracles = readOracles(recording)
  let pipeline: Pipeline
  let node: RecordedNode

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: timelineOf(recording), frame: frames.length - 1 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl })
    // Not `level`: in CI the node has headers of more blocks, so that the explorer waits for these.
    await pipeline.poll()
    await pipeline.materialize()
    const tip = blocks.at(-1)?.hash
    await until(
      `the explorer shows ${String(tip)}`,
      async () => (await pipeline.get('/stats/supply')).tip === tip,
    )
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('have the outputs and coins of the node or of the model, and the figures of the node', async () => {
    const chain = new NaiveChain()
    for (const block of blocks) chain.push(block)
    const { supply, utxoCount } = chain.figures.get(blocks.at(-1)?.hash ?? '') ?? {}
    expect((await pipeline.get('/stats/supply')).body).toMatchObject({
      circulatingSupply: supply?.toString(),
      utxoCount,
    })
    if (IS_WHOLE) {
      expect(oracles.txoutset).toMatchObject({ txouts: 13_416, total_amount: 706_550 })
      expect([supply, utxoCount]).toEqual([70_655_000_000_000n, 13_416])
    }
    const blockstats = Object.entries(oracles.blockstats).filter(([height]) => Number(height) < blocks.length)
    expect(blockstats.length).toBeGreaterThanOrEqual(9)
    // The rates of hashes are those at the last block of the recording.
    const networkhashps = IS_WHOLE ? oracles.networkhashps : {}
    await expectStatistics(pipeline, { blockstats: Object.fromEntries(blockstats), networkhashps }, blocks)
    await expectCleanAudit(pipeline, node.url)
  })

  it('have the first payment in block 170, of coins of block 9', async () => {
    const { items } = (await pipeline.get('/block/170/txs')).body
    const txid = 'f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16'
    expect(items).toMatchObject([
      { is_coinbase: true, outputs: [{ value: '5000000000', script_type: 'pubkey', addresses: [] }] },
      { txid, fee: '0', outputs: [{ value: '1000000000' }, { value: '4000000000' }] },
    ])
    const coinbase = blocks[9]?.tx[0]
    const { outputs } = (await pipeline.get(`/tx/${String(coinbase?.txid)}`)).body
    expect(outputs).toMatchObject([{ block_height: 9, spent_txid: txid, spent_vin: 0 }])
    // The key of block 9 has received 50 coins and the change of some payments.
    expect(await totalsOf(pipeline, coinbase?.vout[0]?.scriptPubKey.hex ?? '')).toEqual({
      balance: '1800000000',
      unspent: 1,
      txs: 6,
    })
  })
})
