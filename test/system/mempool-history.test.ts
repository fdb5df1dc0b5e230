import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../pipelines/chain/networks.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { mempoolDatabaseOf } from '../../pipelines/tables/mempool/tables.js'
import { expectedBlock, expectedBlocks } from '../../services/explorer/core/reads/mempool/expected-blocks.js'
import { confirmationForecast, feeEstimates } from '../../services/explorer/core/reads/fees/forecasts.js'
import { mempoolHistory } from '../../services/explorer/core/reads/mempool/history.js'
import type { Read } from '../../services/explorer/core/reads/read.js'
import type {
  ConfirmationForecast,
  ExpectedBlockDetails,
  FeeEstimates,
  MempoolHistory,
} from '../../services/explorer/core/reads/shapes.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode } from '../harness/follow-node.js'
import { writeHistory } from '../harness/journal.js'
import { naiveBands, type NaiveBlockTxs, NaiveMempool, type NaiveTx } from '../harness/naive-history.js'
import { baseUnits, type NodeTx } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { graphql, grpc, rest, type Texts } from '../services/explorer/core/reads/faces.js'

/** The virtual size that a projected block leaves for header and coinbase. */
const RESERVED_VSIZE = 1_000
const MAX_WEIGHT = BITCOIN_REGTEST.maxBlockWeight - RESERVED_VSIZE * BITCOIN_REGTEST.witnessScale
const MINUTE_MS = 60_000
/** The lower edges of the steps of fee rates. */
const EDGES = Array.from({ length: 237 }, (_, step) => (step === 0 ? 0 : 0.1 * 1.05 ** step))
/** The seconds for which a transaction is fresh. */
const FRESH = 180

interface Entry {
  readonly vsize: number
  readonly weight: number
  readonly time: number
  readonly fees: { readonly base: number }
}

/** The mempool of a minute, as the node listed it last. */
interface Minute {
  readonly txs: ReturnType<NaiveMempool['nodes']>
  readonly entered: number
}

describe('the history of the mempool', () => {
  const mempool = new NaiveMempool(MAX_WEIGHT)
  const seenAt = new Map<string, number>()
  const minutes = new Map<number, Minute>()
  const blocks = new Map<string, NaiveBlockTxs>()
  /** The virtual sizes of what entered and of what was dropped in each minute, by the edges of the steps. */
  const arrivals = new Map<number, { entered: number[]; dropped: number[] }>()
  let snapshotMinute = 0
  let clock = 0
  let entered = 0
  let chain: string[] = []
  let node: Simnode
  let pipeline: Pipeline
  let log: EventLog
  let folder: string
  let db: Database

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-history-'))
    node = await startSimnode({ seed: 'history', blocks: 40, txsPerBlock: 6, network: BITCOIN_REGTEST })
    clock = Math.ceil((node.chain.tip.time * 1000 + MINUTE_MS) / MINUTE_MS) * MINUTE_MS
    log = await openEmbeddedLog(folder, { now: () => clock })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      log,
      explorer: { auditEveryMs: 0, grpcPort: 0 },
    })
    db = new Database({ url: inject('engineUrl'), database: mempoolDatabaseOf(pipeline.name) })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await db.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  const naiveTx = ({ txid, vin, fee = 0, weight = 0 }: NodeTx & { readonly weight?: number }): NaiveTx => ({
    txid,
    fee: baseUnits(fee),
    weight,
    vsize: Math.ceil(weight / BITCOIN_REGTEST.witnessScale),
    spends: vin.map((each) => `${String(each.txid)}:${String(each.vout)}`),
    firstSeen: Math.floor(clock / 1000),
  })

  async function blockOf(hash: string): Promise<NaiveBlockTxs> {
    const known = blocks.get(hash)
    if (known !== undefined) return known
    const block = await callNode<{ height: number; tx: NodeTx[] }>(node, 'getblock', hash, 3)
    const read = { hash, height: block.height, txs: block.tx.slice(1).map(naiveTx) }
    blocks.set(hash, read)
    return read
  }

  async function chainOfNode(): Promise<string[]> {
    const height = await callNode<number>(node, 'getblockcount')
    return Promise.all(
      Array.from({ length: height + 1 }, (_, at) => callNode<string>(node, 'getblockhash', at)),
    )
  }

  async function listed(): Promise<NaiveTx[]> {
    const entries = await callNode<Record<string, Entry>>(node, 'getrawmempool', true)
    return Promise.all(
      Object.entries(entries).map(async ([txid, { vsize, weight, fees, time }]) => {
        const { vin } = await callNode<NodeTx>(node, 'getrawtransaction', txid, 1)
        const spends = vin.map((each) => `${String(each.txid)}:${String(each.vout)}`)
        return { txid, fee: baseUnits(fees.base), vsize, weight, spends, firstSeen: time }
      }),
    )
  }

  /** Polls at a later time, and computes from the node's replies what should be known after it. */
  async function poll(afterMs: number): Promise<void> {
    clock += afterMs
    await pipeline.poll()
    const now = await chainOfNode()
    const common = now.findIndex((hash, at) => chain[at] !== hash)
    const fork = common < 0 ? now.length : common
    const before = new Set(mempool.txs.keys())
    const isFirst = chain.length === 0
    const gone = chain.slice(fork).reverse()
    for (const hash of gone) mempool.disconnect(await blockOf(hash))
    const current = await listed()
    const ids = new Set(current.map(({ txid }) => txid))
    for (const hash of now.slice(fork)) {
      const block = await blockOf(hash)
      if (isFirst) continue
      if (!seenAt.has(hash)) seenAt.set(hash, clock)
      mempool.connect(block)
      // Transactions of new blocks that were not listed before have passed through the mempool, except in a reorganisation.
      if (gone.length === 0) entered += block.txs.filter(({ txid }) => !before.has(txid)).length
    }
    entered += [...ids].filter((txid) => !before.has(txid)).length
    const [beforeList, known] = [mempool.nodes(), new Set(mempool.txs.keys())]
    mempool.list(current)
    arrive(
      naiveBands(mempool.nodes(), EDGES, (txid) => !known.has(txid)),
      naiveBands(beforeList, EDGES, (txid) => !ids.has(txid)),
    )
    chain = now
    minutes.set(Math.floor(clock / MINUTE_MS), { txs: mempool.nodes(), entered })
  }

  function arrive(newIn: readonly number[], dropped: readonly number[]): void {
    const minute = Math.floor(clock / MINUTE_MS)
    const sums = arrivals.get(minute) ?? { entered: EDGES.map(() => 0), dropped: EDGES.map(() => 0) }
    arrivals.set(minute, {
      entered: sums.entered.map((vsize, step) => vsize + newIn[step]!),
      dropped: sums.dropped.map((vsize, step) => vsize + dropped[step]!),
    })
  }

  const write = (target = db): Promise<void> => writeHistory(target, log, BITCOIN_REGTEST.name)

  async function level(): Promise<void> {
    await write()
    await pipeline.materialize()
    await until(
      'the explorer is level',
      async () => {
        const { tip, body } = await pipeline.get('/mempool/summary')
        return tip === node.chain.tip.hash && body.txCount === mempool.txs.size
      },
      20_000,
    )
  }

  /** Returns the answer of a read, which is the same over REST, gRPC and GraphQL. */
  async function ask<T>(read: Read, texts: Texts): Promise<T> {
    const { content, status } = await rest(pipeline.url)(read, texts)
    expect(status).toBe(200)
    for (const face of [grpc(pipeline.grpcAddress), graphql(pipeline.url)]) {
      const reply = await face.ask(read, texts)
      expect(reply?.content, face.name).toEqual(content)
      face.close()
    }
    return content as T
  }

  const rateOf = (fee: bigint, vsize: number): string =>
    (Math.round((Number(fee) * 100) / vsize) / 100).toFixed(2)
  const sumOf = (txs: readonly NaiveTx[]) => ({
    tx_count: txs.length,
    vsize: txs.reduce((sum, { vsize }) => sum + vsize, 0),
    weight: txs.reduce((sum, { weight }) => sum + weight, 0),
    total_fees: txs.reduce((sum, { fee }) => sum + fee, 0n).toString(),
  })

  /** Compares what was expected of all blocks that were connected. @returns the reasons that occurred. */
  async function checkBlocks(): Promise<Set<string>> {
    const reasons = new Set<string>()
    for (const [hash, naive] of mempool.expectations) {
      const answer = await ask<ExpectedBlockDetails>(expectedBlock, { heightOrHash: hash, limit: '1000' })
      const mined = new Map(naive.mined.map((tx) => [tx.txid, tx]))
      const expected = [...naive.expected].map((txid) => naive.mempool.get(txid)!)
      const matched = expected.filter(({ txid }) => mined.has(txid))
      const missing = expected.filter(({ txid }) => !mined.has(txid))
      const added = naive.mined.filter(({ txid }) => !naive.expected.has(txid))
      const share = Math.round((sumOf(matched).weight * 10_000) / sumOf(expected).weight) / 100
      expect(answer).toMatchObject({
        hash,
        height: blocks.get(hash)!.height,
        canonical: chain.includes(hash),
        seen_at: new Date(seenAt.get(hash)!).toISOString(),
        expected: sumOf(expected),
        mined: sumOf(naive.mined),
        matched: sumOf(matched),
        missing: sumOf(missing),
        added: sumOf(added),
        match_percent: expected.length === 0 ? null : share.toFixed(2),
      })
      const spent = new Set(naive.mined.flatMap(({ spends }) => spends))
      const reasonOf = (tx: NaiveTx): string => {
        if (tx.spends.some((each) => spent.has(each))) return 'conflict'
        const parent = missing.find(({ txid }) => tx.spends.some((each) => each.startsWith(txid)))
        if (parent !== undefined) return reasonOf(parent)
        if (naive.mined.length === 0) return 'empty'
        return Math.floor(seenAt.get(hash)! / 1000) - tx.firstSeen < FRESH ? 'fresh' : 'unknown'
      }
      expect(
        new Map(
          answer.missing_txs.map(({ txid, fee, fee_rate, reason }) => [txid, { fee, fee_rate, reason }]),
        ),
      ).toEqual(
        new Map(
          missing.map((tx) => [
            tx.txid,
            { fee: tx.fee.toString(), fee_rate: rateOf(tx.fee, tx.vsize), reason: reasonOf(tx) },
          ]),
        ),
      )
      expect(answer.added_txs.map(({ txid, vsize, reason }) => ({ txid, vsize, reason }))).toEqual(
        // All of the mempool fits into the expected block.
        added.map(({ txid, vsize }) => ({ txid, vsize, reason: 'unseen' })),
      )
      for (const { reason } of [...answer.missing_txs, ...answer.added_txs]) reasons.add(reason)
    }
    const newest = await ask<{ items: { hash: string }[] }>(expectedBlocks, { limit: '100' })
    const onChain = chain.filter((hash) => mempool.expectations.has(hash)).reverse()
    expect(newest.items.map(({ hash }) => hash)).toEqual(onChain)
    return reasons
  }

  async function checkSamples(): Promise<void> {
    const history = await ask<MempoolHistory>(mempoolHistory, { interval: 'minute', limit: '1440' })
    const edges = history.bands.map(Number)
    const { mempoolminfee } = await callNode<{ mempoolminfee: number }>(node, 'getmempoolinfo')
    // The last minute has not ended.
    const ended = [...minutes].slice(0, -1)
    expect(ended.length).toBeGreaterThan(3)
    expect(history.items.map(({ timestamp }) => timestamp)).toEqual(
      ended.map(([minute]) => new Date(minute * MINUTE_MS).toISOString()),
    )
    for (const [index, [minute, { txs, entered }]] of ended.entries()) {
      const { enteredPerSecond, ...item } = history.items[index]!
      expect(item).toMatchObject({
        txCount: txs.length,
        totalVsize: txs.reduce((sum, { vsize }) => sum + vsize, 0),
        totalFees: txs.reduce((sum, { fee }) => sum + fee, 0n).toString(),
        minFeeRate: (mempoolminfee * 100_000).toFixed(2),
        vsizes: txs.length === 0 ? edges.map(() => 0) : naiveBands(txs, edges),
      })
      const before = ended[index - 1]
      if (before?.[0] !== minute - 1) expect(enteredPerSecond).toBeNull()
      else {
        const seconds = (Date.parse(item.takenAt) - Date.parse(history.items[index - 1]!.takenAt)) / 1000
        expect(enteredPerSecond).toBe(((entered - before[1].entered) / seconds).toFixed(2))
      }
    }
    const rows = await db.query<{ start: number; entered: string[]; dropped: string[] }>(
      'SELECT start, entered, dropped FROM mempool_arrivals FINAL ORDER BY start',
    )
    // Minutes that were observed from their beginning on, without a snapshot.
    const observed = ended.filter(([minute]) => minutes.has(minute - 1) && minute !== snapshotMinute)
    const withSizes = (sizes: readonly (number | string)[]): [number, number][] =>
      sizes.map((size, step): [number, number] => [step, Number(size)]).filter(([, size]) => size > 0)
    expect(
      rows.map(({ start, ...row }) => [start / 60, withSizes(row.entered), withSizes(row.dropped)]),
    ).toEqual(
      observed.map(([minute]) => {
        const { entered, dropped } = arrivals.get(minute)!
        return [minute, withSizes(entered), withSizes(dropped)]
      }),
    )
    for (const kind of ['entered', 'dropped'] as const)
      expect(rows.some((row) => row[kind].some((vsize) => vsize !== '0'))).toBe(true)
    // Of an hour, the last minute counts.
    const hours = await ask<MempoolHistory>(mempoolHistory, { interval: 'hour' })
    const lastOf = new Map(history.items.map((item) => [item.timestamp.slice(0, 13), item]))
    expect(hours.items.map(({ takenAt, vsizes }) => ({ takenAt, vsizes }))).toEqual(
      [...lastOf.values()].map(({ takenAt, vsizes }) => ({ takenAt, vsizes })),
    )
  }

  it('is that of a naive computation, through reorganisations, restarts and gaps', async () => {
    await poll(0)
    await poll(5_000)
    node.simulation.enter(25)
    await poll(20_000)
    await level()
    // A block of most of them, and of others that were never listed.
    node.simulation.mine({ txs: 20 })
    node.simulation.enter(8)
    await poll(50_000)
    // Two blocks in one poll; and one without transactions of the mempool.
    node.simulation.enter(10)
    node.simulation.replace(2)
    await poll(10_000)
    node.simulation.mine({ blocks: 3, txs: 20 })
    await poll(40_000)
    await level()
    pipeline.restartMaterializer()
    node.simulation.enter(12)
    node.simulation.replace(3)
    await poll(300_000)
    // Blocks of other branches, which confirm most of what the old ones did, and conflict with some.
    node.simulation.reorg(4)
    await poll(45_000)
    node.simulation.enter(5)
    await poll(30_000)
    node.simulation.tipBack(2)
    await poll(10_000)
    node.simulation.mine({ blocks: 3, txs: 9 })
    pipeline.restartPoller()
    await poll(61_000)
    // By the clock of this machine, the last snapshot is old.
    snapshotMinute = Math.floor(clock / MINUTE_MS)
    node.simulation.enter(20)
    await poll(200_000)
    node.simulation.mine({ txs: 14 })
    await poll(190_000)
    await level()
    const reasons = await checkBlocks()
    expect([...reasons].sort()).toEqual(['conflict', 'fresh', 'unknown', 'unseen'])
    expect([...mempool.expectations.keys()].some((hash) => !chain.includes(hash))).toBe(true)
    await checkSamples()
    await checkForecasts()
    await checkPages()
    await sameInNewDatabase()
  })

  /** Compares the forecasts, as far as they are not a matter of chance, with the node's mempool and blocks. */
  async function checkForecasts(): Promise<void> {
    const estimates = await ask<FeeEstimates>(feeEstimates, {})
    const times = await Promise.all(
      [0, node.chain.tip.height].map(async (height) => {
        const hash = await callNode<string>(
          node,
          'getblockhash',
          Math.max(height, node.chain.tip.height - 143),
        )
        return (await callNode<{ time: number }>(node, 'getblock', hash, 1)).time
      }),
    )
    const count = Math.min(143, node.chain.tip.height)
    expect(estimates.blockSeconds).toBe(((times[1]! - times[0]!) / count).toFixed(1))
    // All of the mempool fits into the next block.
    const minimum = estimates.minimumFeeRate
    const rates = { even: minimum, likely: minimum, safe: minimum }
    expect(estimates.blocks.map(({ feeRates }) => feeRates)).toEqual(estimates.blocks.map(() => rates))
    expect(estimates.minutes.map(({ feeRates }) => feeRates.even ?? minimum)).toEqual(
      estimates.minutes.map(() => minimum),
    )
    const sizes = naiveBands(mempool.nodes(), EDGES)
    for (const feeRate of ['0.05', '1', '7.5', '1000']) {
      const forecast = await ask<ConfirmationForecast>(confirmationForecast, { feeRate })
      const step = EDGES.findLastIndex((edge) => Number(feeRate) >= edge)
      expect(forecast).toMatchObject({
        accepted: Number(feeRate) >= Number(minimum),
        waitingVsize: sizes.slice(step).reduce((sum, vsize) => sum + vsize, 0),
        blocks: { even: 1, likely: 1, safe: 1 },
      })
    }
    expect((await pipeline.get('/fees/confirmation?feeRate=-1')).status).toBe(400)
  }

  /** Compares the pages with the answers of the API. */
  async function checkPages(): Promise<void> {
    const page = async (path: string): Promise<string> =>
      (await fetch(pipeline.url + path, { headers: { accept: 'text/html' } })).text()
    for (const hash of mempool.expectations.keys()) {
      const { missing_txs, added_txs, match_percent } = (
        await pipeline.get(`/block/${hash}/expected?limit=25`)
      ).body as ExpectedBlockDetails
      const html = await page(`/block/${hash}`)
      expect(html).toContain('Expected and mined')
      if (match_percent !== null) expect(html).toContain(`${match_percent}%`)
      for (const { txid } of [...missing_txs, ...added_txs]) expect(html).toContain(`/tx/${txid}`)
    }
    expect(await page('/block/3')).not.toContain('Expected and mined')
    const { items } = (await pipeline.get('/mempool/history')).body as MempoolHistory
    const html = await page('/mempool')
    expect(html).toContain('chart-mempool')
    // Each row has the time and the sizes by band.
    const csv = (await page('/charts/mempool.csv?range=day')).trim().split('\n').slice(1)
    expect(
      csv.map((line) =>
        line
          .split(',')
          .slice(1)
          .reduce((sum, vsize) => sum + Number(vsize), 0),
      ),
    ).toEqual(items.map(({ totalVsize }) => totalVsize))
    for (const { timestamp } of items) expect(html).toContain(`<time datetime="${timestamp}">`)
    expect(await page('/mempool?range=week')).toContain('Size by fee rate over time')
  }

  /** Compares the tables with those of a database that is written from the start of the log at once. */
  async function sameInNewDatabase(): Promise<void> {
    const other = db.sibling(`${db.name}_again`)
    try {
      await write(other)
      for (const [table, key] of [
        ['mempool_samples', 'step, start'],
        ['mempool_arrivals', 'start'],
        ['expected_blocks', 'height, hash, seen_at'],
        ['block_differences', 'height, hash, seen_at, kind, item'],
      ]) {
        const rows = (database: Database): Promise<{ row: string }[]> =>
          database.query(`SELECT toString(tuple(*)) AS row FROM ${table!} FINAL ORDER BY ${key!}`)
        const written = await rows(db)
        expect(written.length).toBeGreaterThan(0)
        expect(await rows(other)).toEqual(written)
      }
    } finally {
      await db.command(`DROP DATABASE IF EXISTS ${other.name} SYNC`)
      await other.close()
    }
  }

  it('is not known of blocks that were connected before', async () => {
    expect(await pipeline.get('/block/3/expected')).toMatchObject({
      status: 404,
      body: { error: 'Expected block not found' },
    })
    expect((await pipeline.get('/block/100000/expected')).body).toMatchObject({ error: 'Block not found' })
  })
})
