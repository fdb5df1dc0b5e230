import { afterEach, describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { ChainView } from '../../../../../pipelines/tables/chain-view.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { syncing } from '../../../../../services/explorer/core/answering/syncing.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { Code, type RpcError } from '../../../../../services/rpc/error.js'
import { getAnswer } from '../../../../harness/pipeline.js'
import { type BareServer, startBare } from '../../bare-server.js'
import { isInUrl, isRequired, pathOf } from '../../edges.js'
import { type BareRpc, failureOf, startBareRpc } from '../../faces/grpc/bare-rpc.js'
import { headWith } from '../../../../harness/heads.js'

const HEIGHT = 100
const TIP = 'aa'.repeat(32)
const ABSENT = 'bb'.repeat(32)
const ADDRESS = 'muBcxPrRdbzkvdX3aS7ovfiLgp6QB23rmo'

const viewOf = (reached: boolean, tipHeight = HEIGHT): ChainView => {
  const head = headWith({
    position: 7,
    tipHeight,
    tipHash: TIP,
    sequence: 7n,
    finalHeight: tipHeight,
    reached,
  })
  return new ChainView(head, new Map(), new Map())
}

/** A state of an index whose tip is at HEIGHT, or of an empty one. */
function stateOf(reached: boolean | undefined, nodeHeight?: number): State {
  const state = new State()
  if (reached === undefined) state.adopt(NO_CHAIN)
  else
    state.adopt({
      ...NO_CHAIN,
      view: viewOf(reached),
      position: 7,
      network: REGTEST,
      height: HEIGHT,
      tipHash: TIP,
    })
  state.mempoolLoaded()
  if (nodeHeight !== undefined) state.nodeSeen = { timeMs: 1, pollIntervalMs: 1_000, nodeHeight }
  return state
}

const indexAt = (height: number, reached: boolean) => ({ height, view: viewOf(reached, height) })

describe('an index that is asked for an object that it does not have', () => {
  const at = (nodeHeight: number) => ({ nodeHeight })
  const behind = (nodeHeight: number | null) => ({ indexedHeight: HEIGHT, nodeHeight })

  it("cannot decide until it has once reached the node's height", () => {
    expect(syncing(indexAt(HEIGHT, false), at(HEIGHT + 1), 0)).toEqual(behind(HEIGHT + 1))
    expect(syncing(indexAt(HEIGHT, false), at(HEIGHT), 0)).toBeUndefined()
    expect(syncing(indexAt(HEIGHT, false), at(HEIGHT - 1), 0)).toBeUndefined()
    expect(syncing({ height: -1, view: undefined }, at(0), 0)).toEqual({ indexedHeight: -1, nodeHeight: 0 })
  })

  it('cannot decide while it is more than 6 blocks behind', () => {
    for (const blocks of [-1, 0, 1, 6])
      expect(syncing(indexAt(HEIGHT, true), at(HEIGHT + blocks), 0), String(blocks)).toBeUndefined()
    for (const blocks of [7, 8, 1000])
      expect(syncing(indexAt(HEIGHT, true), at(HEIGHT + blocks), 0)).toEqual(behind(HEIGHT + blocks))
  })

  it("can decide without a node only if it has once reached the node's height", () => {
    expect(syncing(indexAt(HEIGHT, true), undefined, 0)).toBeUndefined()
    expect(syncing(indexAt(HEIGHT, false), undefined, 0)).toEqual(behind(null))
    expect(syncing({ height: -1, view: undefined }, undefined, 0)).toEqual({
      indexedHeight: -1,
      nodeHeight: null,
    })
  })

  it('can decide for heights above the node', () => {
    expect(syncing(indexAt(HEIGHT, false), at(500), 500)).toEqual(behind(500))
    expect(syncing(indexAt(HEIGHT, false), at(500), 501)).toBeUndefined()
    expect(syncing(indexAt(HEIGHT, false), undefined, Number.POSITIVE_INFINITY)).toBeUndefined()
  })

  it('can never decide while the node downloads its chain, and names the height of its headers', () => {
    const isDownloading = true
    const downloading = { nodeHeight: HEIGHT, headerHeight: 14_131, isDownloading }
    for (const from of [0, HEIGHT + 1, 20_000])
      expect(syncing(indexAt(HEIGHT, false), downloading, from)).toEqual(behind(14_131))
    // It has no headers yet that are above its blocks, or reports none.
    for (const headerHeight of [0, undefined])
      expect(syncing(indexAt(HEIGHT, true), { nodeHeight: HEIGHT, headerHeight, isDownloading }, 0)).toEqual(
        behind(HEIGHT),
      )
    expect(syncing(indexAt(HEIGHT, false), { ...downloading, isDownloading: false }, 0)).toBeUndefined()
  })

  it('uses the newest heartbeat, applied or not', () => {
    const state = new State()
    expect(state.nodeHeight).toBeUndefined()
    state.nodeSeen = { timeMs: 5, pollIntervalMs: 1_000, nodeHeight: 50 }
    expect(state.nodeHeight).toBe(50)
    const applied = { nodeHash: '', pollIntervalMs: 1000, appliedMs: 0 }
    state.heartbeat = { ...applied, timeMs: 4, nodeHeight: 40 }
    expect(state.nodeHeight).toBe(50)
    state.heartbeat = { ...applied, timeMs: 6, nodeHeight: 60 }
    expect(state.nodeHeight).toBe(60)
  })
})

/**
 * The answer of each read from an index that does not have the requested object: at the node's height, and behind it.
 */
const EXPECTED: Readonly<Record<string, readonly [level: number, behind: number]>> = {
  blocks: [200, 503],
  tip: [404, 503],
  block: [404, 503],
  blockTransactions: [404, 503],
  blockStats: [404, 503],
  blockSummary: [404, 503],
  transaction: [404, 503],
  transactionHex: [404, 503],
  transactionStatus: [404, 503],
  transactionOutspends: [404, 503],
  transactionMerkleProof: [404, 503],
  transactionPackage: [404, 503],
  transactionScripts: [404, 503],
  // Before the first head nothing is known of the chain.
  replacedTransaction: [404, 503],
  transactionReplacements: [404, 503],
  recentTransactions: [200, 503],
  address: [404, 503],
  addressTransactions: [200, 503],
  addressUtxos: [200, 503],
  addressSummaries: [200, 503],
  addressExposure: [200, 503],
  balanceHistory: [200, 503],
  wallet: [200, 503],
  walletAddresses: [200, 503],
  walletTransactions: [200, 503],
  walletUtxos: [200, 503],
  // Figures and series describe the state that they name; no client takes them for "unused".
  statsSummary: [200, 200],
  supply: [200, 200],
  richList: [200, 200],
  dailyStats: [200, 200],
  dilithiumStats: [200, 200],
  dilithiumHistory: [200, 200],
  valueByType: [200, 200],
  exposure: [200, 200],
  exposureHistory: [200, 200],
  valueHistory: [200, 200],
  miningPools: [200, 200],
  miningPool: [200, 200],
  miningDifficulty: [200, 200],
  miningRetarget: [404, 503],
  miningHashrate: [200, 200],
  networkHashrate: [200, 200],
  whaleAlerts: [200, 200],
  // The mempool is the node's, at any height of the index.
  mempoolSummary: [200, 200],
  mempoolTransactions: [200, 200],
  mempoolTxids: [200, 200],
  mempoolReplacements: [200, 200],
  mempoolBlocks: [200, 200],
  mempoolHistory: [200, 200],
  projectedBlock: [200, 200],
  expectedBlocks: [200, 200],
  expectedBlock: [404, 503],
  recommendedFees: [200, 200],
  feeEstimates: [200, 503],
  confirmationForecast: [200, 503],
  feeHistory: [200, 503],
  // What the index has seen.
  reorgs: [200, 200],
  search: [404, 503],
  searchPrefix: [200, 503],
  // Labels are the operator's.
  label: [404, 404],
  labels: [200, 200],
  opReturns: [200, 503],
  transactionOpReturns: [404, 503],
  nodeHealth: [503, 503],
}
const VALUES: Readonly<Record<string, string>> = {
  heightOrHash: ABSENT,
  txid: ABSENT,
  address: ADDRESS,
  q: ABSENT,
  feeRate: '1',
}
const NOTHING = new Tables({
  connected: true,
  isCrowded: false,
  query: () => Promise.resolve([]),
  bytes: () => Promise.resolve(Buffer.alloc(0)),
})

describe('an explorer of an index that does not have the requested object', () => {
  const closing: BareServer[] = []
  let url = ''
  afterEach(() => {
    for (const bare of closing.splice(0)) bare.close()
  })
  const start = async (state: State): Promise<void> => {
    const bare = await startBare({ reads: READS, state, tables: NOTHING })
    closing.push(bare)
    url = bare.url
  }
  const get = (path: string, headers: Record<string, string> = {}) =>
    getAnswer(`${url}/api/v1${path}`, headers)
  const askAll = async (at: 0 | 1, expected503: object): Promise<void> => {
    expect(Object.keys(EXPECTED)).toEqual(expect.arrayContaining(READS.map(({ name }) => name)))
    for (const read of READS.filter(isInUrl)) {
      const required = Object.keys(read.args).filter((name) => isRequired(read, name))
      const path = pathOf(read, Object.fromEntries(required.map((name) => [name, VALUES[name] ?? ''])))
      // Twice: a cached answer is judged again.
      for (let time = 0; time < 2; time++) {
        const answer = await getAnswer(url + path)
        expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(EXPECTED[read.name]?.[at])
        if (answer.status === 503 && read.name !== 'nodeHealth') expect(answer.body).toEqual(expected503)
      }
    }
  }

  it("says that it does not exist if the index is at the node's height", async () => {
    await start(stateOf(true, HEIGHT + 6))
    await askAll(0, {})
  })

  it('says that it is syncing if the index is behind, for every read whose answer a client may take for "unused"', async () => {
    await start(stateOf(true, HEIGHT + 7))
    await askAll(1, { error: 'Index is syncing', indexedHeight: HEIGHT, nodeHeight: HEIGHT + 7 })
  })

  it('does so before the first block too, with and without a node', async () => {
    for (const nodeHeight of [0, undefined]) {
      await start(stateOf(undefined, nodeHeight))
      await askAll(1, { error: 'Index is syncing', indexedHeight: -1, nodeHeight: nodeHeight ?? null })
    }
  })

  it('names the state, sends Retry-After, and forbids caching', async () => {
    const state = stateOf(true, HEIGHT)
    await start(state)
    const path = `/address/${ADDRESS}/utxos`
    const level = await get(path)
    const etag = level.headers.get('etag') ?? ''
    expect(level).toMatchObject({ status: 200, body: { items: [], total: 0 } })
    expect((await get(path, { 'if-none-match': etag })).status).toBe(304)
    state.nodeSeen = { timeMs: 2, pollIntervalMs: 1_000, nodeHeight: HEIGHT + 7 }
    const behind = await get(path, { 'if-none-match': etag })
    expect(behind).toMatchObject({ status: 503, height: HEIGHT, tip: TIP })
    expect(behind.headers.get('cache-control')).toBe('no-store')
    expect(behind.headers.get('etag')).toBeNull()
    expect(Number(behind.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(behind.headers.get('access-control-expose-headers')).toContain('retry-after')
    state.nodeSeen = { timeMs: 3, pollIntervalMs: 1_000, nodeHeight: HEIGHT + 6 }
    expect(await get(path)).toMatchObject({ status: 200, body: { items: [] } })
  })

  it('reports that there is no block above the node, and no match for a query that names nothing', async () => {
    await start(stateOf(false, HEIGHT + 50))
    const there = { status: 503, body: { error: 'Index is syncing' } }
    expect(await get(`/block/${String(HEIGHT + 50)}`)).toMatchObject(there)
    expect(await get(`/block/${String(HEIGHT + 50)}/txs`)).toMatchObject(there)
    expect(await get(`/search?q=${String(HEIGHT + 50)}`)).toMatchObject(there)
    expect((await get(`/block/${String(HEIGHT + 51)}`)).body).toEqual({
      error: 'Block not found',
      code: 'HW_NOT_FOUND',
    })
    expect((await get(`/block/${String(HEIGHT + 51)}/txs`)).body).toEqual({
      error: 'Block not found',
      code: 'HW_NOT_FOUND',
    })
    expect((await get(`/search?q=${String(HEIGHT + 51)}`)).body).toEqual({
      error: 'Nothing matches',
      code: 'HW_NOT_FOUND',
    })
    expect((await get('/search?q=nonsense')).body).toEqual({ error: 'Nothing matches', code: 'HW_NOT_FOUND' })
    expect((await get(`/search?q=${ADDRESS}`)).status).toBe(503)
    // A page beyond the end of an index at the node's height.
    expect((await get('/blocks?limit=50&page=4')).status).toBe(503)
    expect(await get('/blocks?limit=50&page=5')).toMatchObject({ status: 200, body: { items: [] } })
  })
})

describe('gRPC for an index that is behind', () => {
  let bare: BareRpc | undefined
  afterEach(async () => {
    await bare?.close()
  })

  it.each([
    ['address', { address: ADDRESS }],
    ['addressUtxos', { address: ADDRESS }],
  ] as const)('is UNAVAILABLE, with the details of REST in the trailers: %s', async (method, request) => {
    const state = stateOf(false)
    const { client } = (bare = await startBareRpc({ state, tables: NOTHING }))
    const ask = () => failureOf(client[method](request))
    const reported = {
      'x-chain-height': String(HEIGHT),
      'x-chain-tip': TIP,
      'indexed-height': String(HEIGHT),
    }
    const syncing = { status: Code.UNAVAILABLE, details: 'Index is syncing' }
    const unknown = (await ask()) as RpcError
    expect(unknown).toMatchObject({ ...syncing, trailers: { ...reported, 'retry-after-ms': '5000' } })
    expect(unknown.trailers).not.toHaveProperty('node-height')
    state.nodeSeen = { timeMs: 1, pollIntervalMs: 1_000, nodeHeight: HEIGHT + 1 }
    expect(await ask()).toMatchObject({ ...syncing, trailers: { ...reported, 'node-height': '101' } })
    state.nodeSeen = { timeMs: 2, pollIntervalMs: 1_000, nodeHeight: HEIGHT }
    if (method === 'address') expect(await ask()).toMatchObject({ status: Code.NOT_FOUND })
    else expect((await client.addressUtxos(request)).items).toEqual([])
  })
})
