import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { addressOf } from '../../pipelines/chain/address.js'
import { NaiveState } from '../harness/naive-state.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import type { SimTx } from '../../services/simnode/chain/sim-tx.js'
import { expectSameRows } from '../harness/clean-index.js'
import { type Answer, Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const COIN = 100_000_000n
const FINALITY = 20
/** The number of blocks of the deepest reorganisation. */
const DEEP = IS_WHOLE ? 400 : 30
/** The number of addresses whose answers are compared in CI; the rows of all are compared. */
const MAX_ADDRESSES = IS_WHOLE ? Number.POSITIVE_INFINITY : 4

/** A chain on a node, and a pipeline that follows it when the test says so. */
class World {
  private constructor(
    readonly chain: SimChain,
    readonly node: Simnode,
    readonly pipeline: Pipeline,
  ) {}

  static async of(chain: SimChain): Promise<World> {
    const node = await startSimnode({ chain })
    const pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
    })
    return new World(chain, node, pipeline)
  }

  /** Follows the node. */
  follow(): Promise<void> {
    return this.pipeline.level({ tip: this.chain.tip.hash })
  }

  /** Follows the node, then compares every answer with the naive chain, and every row with a clean index. */
  async agree(): Promise<void> {
    await this.follow()
    const fold = new NaiveState(this.chain)
    const supply = await this.pipeline.get('/stats/supply')
    expect(supply.body).toMatchObject({
      circulatingSupply: fold.supply.toString(),
      utxoCount: fold.utxos().size,
    })
    expect((await this.pipeline.get('/stats/summary')).body.totalTransactions).toBe(fold.transactions)
    const balances = fold.balances()
    const coins = [...fold.utxos().values()].sort(
      (one, other) =>
        other.height - one.height ||
        (one.txid < other.txid ? -1 : Number(one.txid > other.txid)) ||
        one.vout - other.vout,
    )
    const check = async (script: string): Promise<void> => {
      const address = addressOf(Buffer.from(script, 'hex'), REGTEST)
      if (address === undefined) return
      const summary = await this.pipeline.get(`/address/${address}`)
      const history = fold.history(script)
      expect(summary.body, address).toMatchObject({
        balance: (balances.get(script) ?? 0n).toString(),
        tx_count: history.length,
      })
      const outputs = (await this.pipeline.get(`/address/${address}/utxos?limit=500`)).body
      const unspent = coins.filter((coin) => coin.script === script)
      expect(outputs.total, address).toBe(unspent.length)
      expect(outputs.items).toEqual(
        unspent
          .slice(0, 500)
          .map(({ txid, vout, height, value }) =>
            expect.objectContaining({ txid, vout, block_height: height, value: value.toString() }),
          ),
      )
      const { items } = (await this.pipeline.get(`/address/${address}/txs?sort=asc&limit=100`)).body
      const confirmed = items.filter((item: { block_height: number | null }) => item.block_height !== null)
      expect(confirmed).toEqual(
        history.slice(0, 100).map(({ txid, height, index, received, sent }) =>
          expect.objectContaining({
            txid,
            block_height: height,
            tx_index: index,
            value_change: (received - sent).toString(),
          }),
        ),
      )
    }
    const newest = (script: string): number => fold.history(script).at(-1)?.height ?? 0
    const scripts = [...fold.scripts()]
      .toSorted((one, other) => newest(other) - newest(one))
      .slice(0, MAX_ADDRESSES)
    while (scripts.length > 0) await Promise.all(scripts.splice(0, 16).map(check))
    const clean = await Pipeline.start({
      nodeUrl: this.node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
    })
    try {
      await clean.level({ tip: this.chain.tip.hash })
      await expectSameRows(this.pipeline.db, clean.db)
    } finally {
      await clean.close()
    }
  }

  async close(): Promise<void> {
    await this.pipeline.close()
    await this.node.close()
  }
}

/** The fields that depend on the index and the clock, not on the chain. */
const OF_NOW = new Set([
  'hashrate',
  'indexerStatus',
  'nodeHeight',
  'nodeHeaders',
  'tipMatch',
  'lastReconciledAt',
])

/** Returns the parts of an answer that the chain determines. */
function comparable(answer: Answer | undefined): unknown {
  return JSON.parse(
    JSON.stringify({ ...answer, headers: undefined }, (name, value: unknown) =>
      OF_NOW.has(name) ? null : value,
    ),
  )
}

describe('reorganisations', () => {
  let world: World | undefined

  afterEach(async () => {
    await world?.close()
    world = undefined
  })

  function payment(chain: SimChain, height: number, fee = 500n): SimTx {
    const block = chain.at(height)
    if (block === undefined) throw new Error('no such block')
    const coinbase = chain.read(block).txs[0]
    // A mining pool's payout need not be the first output.
    const vout = coinbase?.outputs.findIndex(({ value }) => value > 3n * COIN) ?? -1
    const from = [{ txid: coinbase?.txid ?? '', vout }]
    const [alice, bob] = [
      chain.keyring.ownerOf('p2wpkh').script,
      chain.keyring.ownerOf('dilithium-pubkeyhash').script,
    ]
    return chain.pay({ from, to: [{ value: 2n * COIN, script: alice }], change: bob, fee })
  }

  it('confirm a transaction of a stale block in a later one', async () => {
    const chain = buildChain({ seed: 'later', blocks: 30 })
    const pays = payment(chain, 3)
    const stale = chain.mine({ txs: [pays] })
    world = await World.of(chain)
    await world.follow()
    const fork = forkAt(chain, 30)
    fork.mine({ tag: '/other/' }, { txs: [pays] })
    fork.activate()
    await world.agree()
    expect((await world.pipeline.get(`/tx/${pays.txid}`)).body).toMatchObject({
      block_height: 32,
      block_hash: chain.tip.hash,
    })
    expect((await world.pipeline.get(`/block/${stale.hash}`)).body).toMatchObject({
      hash: stale.hash,
      height: 31,
      canonical: false,
    })
  })

  it('replace a block that is found by hash before rows that a power cut removed are written again', async () => {
    const chain = buildChain({ seed: 'cut', blocks: 30 })
    const stale = chain.mine()
    world = await World.of(chain)
    await world.follow()
    const fork = forkAt(chain, 30)
    fork.mine({}, {})
    fork.activate()
    await world.agree()
    const { pipeline } = world
    await pipeline.db.command('TRUNCATE TABLE block_heights')
    const found = { hash: stale.hash, height: 31, canonical: false }
    expect(await pipeline.get(`/block/${stale.hash}`)).toMatchObject({ status: 200, body: found })
    const below = { hash: chain.at(31)?.hash, height: 31, canonical: true }
    expect(await pipeline.get(`/block/${String(below.hash)}`)).toMatchObject({ status: 200, body: below })
    expect((await pipeline.get(`/block/${'ab'.repeat(32)}`)).status).toBe(404)
  })

  it.runIf(IS_WHOLE)('confirm a transaction again at the same height and another index', async () => {
    const chain = buildChain({ seed: 'index', blocks: 30 })
    const [one, two] = [payment(chain, 3), payment(chain, 4)]
    chain.mine({ txs: [one, two] })
    world = await World.of(chain)
    await world.agree()
    expect((await world.pipeline.get(`/tx/${one.txid}`)).body.tx_index).toBe(1)
    const fork = forkAt(chain, 30)
    fork.mine({ txs: [two, one] }, {})
    fork.activate()
    await world.agree()
    expect((await world.pipeline.get(`/tx/${one.txid}`)).body).toMatchObject({
      block_height: 31,
      tx_index: 2,
    })
  })

  it.runIf(IS_WHOLE)('undo the spends of a replaced block', async () => {
    const chain = buildChain({ seed: 'undone', blocks: 30 })
    const pays = payment(chain, 3)
    const [input] = pays.inputs
    const coinbase = input?.prevTxid ?? ''
    const vout = input?.prevVout ?? 0
    chain.mine({ txs: [pays] })
    world = await World.of(chain)
    await world.agree()
    expect((await world.pipeline.get(`/tx/${coinbase}`)).body.outputs[vout]).toMatchObject({
      spent_txid: pays.txid,
      spent_vin: 0,
    })
    const fork = forkAt(chain, 30)
    fork.mine({}, {})
    fork.activate()
    await world.agree()
    expect((await world.pipeline.get(`/tx/${coinbase}`)).body.outputs[vout]).toMatchObject({
      spent_txid: null,
      spent_vin: null,
    })
  })

  it.runIf(IS_WHOLE)('lead back to a branch that was left before', async () => {
    const chain = buildChain({ seed: 'back', blocks: 25 })
    const first = chain.mine({ txs: [payment(chain, 3)] })
    world = await World.of(chain)
    await world.agree()
    const fork = forkAt(chain, 24)
    fork.mine({}, {}, { txs: [payment(chain, 4)] })
    fork.activate()
    await world.agree()
    const [tip] = chain.extend(first, [{}, {}]).slice(-1)
    chain.setTip(tip?.hash ?? '')
    await world.agree()
  })

  it(`can be ${String(DEEP)} deep, far below the final height`, async () => {
    const chain = buildChain({ seed: 'deep', blocks: DEEP + 20 })
    chain.mine({ txs: [payment(chain, 3)] })
    world = await World.of(chain)
    await world.follow()
    const fork = forkAt(chain, 21)
    for (let block = 0; block <= DEEP; block++)
      fork.mine(block === DEEP / 2 ? { txs: [payment(chain, 4)] } : {})
    fork.activate()
    const seen: number[] = []
    const { pipeline } = world
    let done = false
    const watching = (async () => {
      while (!done) {
        seen.push((await pipeline.get('/blocks/tip')).height)
        // Each answer takes processor time from what is watched.
        await sleep(IS_WHOLE ? 2 : 20)
      }
    })()
    try {
      await world.follow()
    } finally {
      done = true
      await watching
    }
    await world.agree()
    // One row makes it visible: no reader ever saw a tip between the fork and the end.
    expect(seen.length).toBeGreaterThan(10)
    expect(seen.filter((height) => height !== DEEP + 21 && height !== DEEP + 22)).toEqual([])
  })

  it('are followed during backfill', async () => {
    const chain = buildChain({ seed: 'backfill', blocks: 150 })
    const node = await startSimnode({ chain })
    const pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
    })
    const polling = pipeline.poll()
    const fork = forkAt(chain, 60)
    for (let block = 0; block < 95; block++) fork.mine({})
    let requested = 0
    const stop = setInterval(() => {
      if (requested++ === 2) fork.activate()
    }, 5)
    await polling
    clearInterval(stop)
    if (chain.tip.height !== 155) fork.activate()
    await pipeline.level({ tip: chain.tip.hash })
    const fold = new NaiveState(chain)
    expect((await pipeline.get('/stats/supply')).body.circulatingSupply).toBe(fold.supply.toString())
    await pipeline.close()
    await node.close()
  })

  it('are followed after a downtime of everything', async () => {
    const chain = buildChain({ seed: 'stopped', blocks: 60 })
    chain.mine({ txs: [payment(chain, 5)] })
    world = await World.of(chain)
    await world.follow()
    const fork = forkAt(chain, 25)
    for (let block = 0; block < 40; block++) fork.mine(block === 7 ? { txs: [payment(chain, 6)] } : {})
    fork.activate()
    world.pipeline.restartPoller()
    world.pipeline.restartMaterializer()
    await world.agree()
  })

  it('are followed on a node that comes back shorter, and then with another chain', async () => {
    const chain = buildChain({ seed: 'shorter', blocks: 50 })
    world = await World.of(chain)
    await world.follow()
    chain.setTip(chain.at(35)?.hash ?? '')
    await (IS_WHOLE ? world.agree() : world.follow())
    chain.mine({ txs: [payment(chain, 2)] })
    await world.agree()
  })

  it('change no answer as of a block that stays on the chain', async () => {
    const chain = buildChain({ seed: 'past', blocks: 24 })
    const double = payment(chain, 3)
    chain.mine({ txs: [double] })
    world = await World.of(chain)
    const { pipeline } = world
    await world.follow()
    const noon = chain.tip.time + 43_200
    const fork = forkAt(chain, 23)
    fork.mine({ txs: [payment(chain, 4)] }, { time: noon }, { txs: [double], time: noon - 60 })
    fork.activate()
    await world.follow()
    const scripts = [...new NaiveState(chain).scripts()].slice(IS_WHOLE ? -2 : -1)
    const addresses = scripts.flatMap((script) => addressOf(Buffer.from(script, 'hex'), REGTEST) ?? [])
    const paths = [
      ...addresses.flatMap((address) =>
        [
          '',
          '/exposure',
          '/txs',
          '/txs?sort=asc&limit=3',
          '/utxos',
          '/utxos?mempool=true',
          '/balance-history',
        ].map((path) => `/address/${address}${path}`),
      ),
      ...['', '/status', '/outspends'].map((path) => `/tx/${double.txid}${path}`),
      ...['/block/3/txs?limit=3', '/block/26', '/block/28', '/blocks?limit=4'],
      ...['/stats/supply', '/stats/summary', '/stats/richlist', '/stats/value', '/stats/exposure'],
      ...['/stats/daily', '/stats/dilithium', '/stats/dilithium/history', '/stats/exposure/history'],
    ]
    const answers = (path: (path: string) => string): Promise<Answer[]> =>
      Promise.all(
        paths.map((each) =>
          // On a busy machine an answer may take too long.
          until('an answer', async () => {
            const answer = await pipeline.get(path(each))
            return answer.status !== 503 && answer
          }),
        ),
      )
    const then: { readonly height: number; readonly answers: Answer[] }[] = []
    // The blocks of a day are not in the order of their times, and the last ones are of another day.
    for (const time of [noon + 60_000, noon + 50_000, noon + 70_000]) {
      chain.mine({ txs: [payment(chain, 5 + then.length)], time })
      await world.follow()
      then.push({ height: chain.tip.height, answers: await answers((path) => path) })
    }
    // The last block is replaced, and its transaction double-spent.
    const lost = chain.read(chain.tip).txs[1]
    const spender = payment(chain, 7, 900n)
    const end = forkAt(chain, chain.tip.height - 1)
    end.mine({ time: noon + 80_000 }, { txs: [spender], time: noon + 80_001 })
    end.activate()
    await world.follow()
    const replaced = then.pop()
    for (const { height, answers: expected } of then) {
      const past = await answers((path) => `${path}${path.includes('?') ? '&' : '?'}at=${String(height)}`)
      for (const [index, path] of paths.entries())
        expect(comparable(past[index]), `${path} as of ${String(height)}`).toEqual(
          comparable(expected[index]),
        )
    }
    const tip = `/stats/supply?at=${String(replaced?.height)}`
    expect((await pipeline.get(tip)).tip).not.toBe(replaced?.answers[0]?.tip)
    expect(await pipeline.get('/stats/supply?at=999')).toMatchObject({
      status: 404,
      height: chain.tip.height,
    })
    expect((await pipeline.get('/stats/supply?at=-1')).status).toBe(400)
    const pageOf = async (path: string): Promise<string> =>
      (await fetch(pipeline.url + path, { headers: { accept: 'text/html' } })).text()
    const replay = await pageOf(`/reorgs/${String((await pipeline.get('/reorgs')).body.total)}`)
    const [row = ''] = new RegExp(`<tr id="t-${String(lost?.txid)}">.*?</tr>`, 's').exec(replay) ?? []
    expect(row).toContain('Double-spent')
    const [input] = lost?.inputs ?? []
    for (const txid of [spender.txid, input?.prevTxid]) expect(row).toContain(`href="/tx/${String(txid)}"`)
    expect((await fetch(`${pipeline.url}/reorgs/99`)).status).toBe(404)
    const [address = ''] = addresses
    const page = await pageOf(`/address/${address}?at=27`)
    expect(page).toContain('<strong>As of block <a href="/block/27">27</a>:</strong>')
    expect(page).toContain(`href="/address/${address}?at=27&amp;show=utxos"`)
    expect(page).not.toContain('data-channels')
    // The last block that is not later than the day.
    expect(await pageOf(`/address/${address}?at=2026-02-23`)).toContain('?at=26"')
    expect(await pageOf('/supply?at=99')).toContain('The chain has no such block.')
    expect(await pageOf('/supply?at=')).not.toContain('class="notice past"')
  })

  it('stay listed if the database is handed over at the moment at which the newest one is written', async () => {
    const chain = buildChain({ seed: 'handed over', blocks: 8 })
    world = await World.of(chain)
    await world.agree()
    for (const depth of [1, 2]) {
      const fork = forkAt(chain, chain.tip.height - depth)
      for (let block = 0; block <= depth; block++) fork.mine({})
      fork.activate()
      await world.agree()
    }
    const { pipeline } = world
    const stale = (await pipeline.get('/reorgs')).body.items[0].disconnected[0].hash as string
    // The newest head is read by an explorer between the check of the hand-over and its row.
    await pipeline.db
      .command(`INSERT INTO writers SELECT max(writer) + 1, (SELECT max(position) FROM heads) - 1, now64(3), 'other', ''
      FROM writers`)
    const { body } = await pipeline.get('/reorgs?limit=7')
    expect(body).toMatchObject({
      total: 2,
      items: [
        { seq: 2, depth: 2 },
        { seq: 1, depth: 1 },
      ],
    })
    expect((await pipeline.get(`/block/${stale}`)).body).toMatchObject({ hash: stale, canonical: false })
  })

  it('leave height 0 alone served properly', async () => {
    const chain = buildChain({ seed: 'genesis', blocks: 0 })
    world = await World.of(chain)
    await world.agree()
    const { pipeline } = world
    expect((await pipeline.get('/blocks/tip')).body).toMatchObject({
      height: 0,
      hash: chain.tip.hash,
      tx_count: 1,
      total_fees: '0',
    })
    expect((await pipeline.get('/block/0')).body.hash).toBe(chain.tip.hash)
    expect((await pipeline.get('/blocks')).body).toMatchObject({ total: 1, page: 1, items: [{ height: 0 }] })
    expect((await pipeline.get('/stats/summary')).body).toMatchObject({
      tipHeight: 0,
      totalTransactions: 1,
      activeAddresses: 0,
    })
    expect((await pipeline.get('/search?q=0')).body).toMatchObject({
      type: 'block',
      value: chain.tip.hash,
      query: '0',
    })
  })

  it('keep amounts exact at 21,000,000 coins', async () => {
    const chain = buildChain({ seed: 'amounts', blocks: 12 })
    const all = 2_099_999_999_999_999n
    const owner = chain.keyring.ownerOf('p2wpkh').script
    const rich = chain.mine({ coinbaseOutputs: [{ value: all, script: owner }] })
    for (let block = 0; block < 12; block++) chain.mine({})
    const coinbase = chain.read(rich).txs[0]?.txid ?? ''
    const other = chain.keyring.ownerOf('p2tr').script
    const moved = chain.pay({
      from: [{ txid: coinbase, vout: 0 }],
      to: [{ value: all - 1n, script: other }],
      fee: 1n,
    })
    chain.mine({ txs: [moved] })
    world = await World.of(chain)
    await world.agree()
    const tx = (await world.pipeline.get(`/tx/${moved.txid}`)).body
    expect(tx).toMatchObject({ input_value: all.toString(), output_value: (all - 1n).toString(), fee: '1' })
    expect(tx.inputs[0].value).toBe('2099999999999999')
  })
})
