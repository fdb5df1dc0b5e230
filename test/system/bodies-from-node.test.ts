import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { replay } from '../../pipelines/materialize/rebuild/replay.js'
import { loadChainView } from '../../pipelines/tables/chain-view.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { visibleRowsQuery } from '../../pipelines/tables/visible.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { sampled, sampledByKind } from '../harness/whole.js'

const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })

/** The outputs of one transaction, and the inputs of another one. */
const MANY = 700

/** Some of the paths in CI, of each kind: paths that differ in their hashes, heights and addresses alone are of one kind. */
const someOf = (paths: readonly string[]): string[] =>
  sampledByKind(paths, 6, (path) => path.replace(/(block|tx|address)\/\w+/, '$1'))

// Beside other tests a comparison of all transactions takes ten times as long as alone.
describe('an index without bodies', { timeout: 10 * 60_000 }, () => {
  let node: Simnode
  /** The whole index, and one that leaves the bodies to the node. */
  let whole: Pipeline
  let bare: Pipeline
  let nodeUrl: string | undefined

  // One pair of indexes for all tests: those that read come before those that change them.
  beforeAll(async () => {
    node = await startSimnode({ seed: 'bodies', blocks: 30, txsPerBlock: 4 })
    nodeUrl = node.url
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 10 }
    whole = await Pipeline.start({ ...options, explorer: { auditEveryMs: 0, esploraPort: 0 } })
    bare = await Pipeline.start({
      ...options,
      hasBodies: false,
      explorer: {
        auditEveryMs: 0,
        esploraPort: 0,
        hasBodies: false,
        locateNode: () => Promise.resolve(nodeUrl),
      },
    })
    await level()
  })

  afterAll(async () => {
    await bare.close()
    await whole.close()
    await node.close()
  })

  async function level(): Promise<void> {
    for (const each of [whole, bare]) await each.level({ tip: node.chain.tip.hash })
  }

  /** Returns the number of rows with bodies of an index. @param isMined counts the transactions of the chain alone. */
  async function withBodies({ db }: Pipeline, isMined = false): Promise<number> {
    const head = await latestHead(db)
    if (head === undefined) throw new Error('there is no head')
    const rows = isMined ? `(${visibleRowsQuery('txs', await loadChainView(db, head), db.name)})` : 'txs'
    const [row] = await db.query<{ rows: string }>(`SELECT count() AS rows FROM ${rows} WHERE notEmpty(body)`)
    return Number(row?.rows)
  }

  /** Returns the paths of all transactions of the chain, of lists of them, and of addresses that they pay. */
  async function paths(): Promise<string[]> {
    const all = new Set<string>()
    for (let height = 0; height <= node.chain.tip.height; height++) {
      const path = `/api/v1/block/${String(height)}/txs?limit=100`
      const { body } = await getAnswer(`${whole.url}${path}`)
      all.add(path).add(`/api/v1/block/${String(height)}/txs?witness=true&limit=20`)
      for (const { txid, outputs } of body.items) {
        all.add(`/api/v1/tx/${String(txid)}`)
        if (height % 4 !== 0) continue
        for (const part of ['hex', 'scripts', 'outspends']) all.add(`/api/v1/tx/${String(txid)}/${part}`)
        for (const { addresses } of outputs)
          for (const { address } of addresses ?? []) all.add(`/api/v1/address/${String(address)}/txs`)
      }
    }
    return [...all]
  }

  async function compare(paths: readonly string[], base: (pipeline: Pipeline) => string = ({ url }) => url) {
    const left = [...paths]
    const worker = async (): Promise<void> => {
      for (let path = left.pop(); path !== undefined; path = left.pop()) {
        const [expected, found] = await Promise.all(
          [whole, bare].map((each) => getAnswer(`${base(each)}${path}`)),
        )
        expect([found?.status, found?.body], path).toEqual([expected?.status, expected?.body])
      }
    }
    await Promise.all(Array.from({ length: 4 }, worker))
  }

  it('returns 503 without its node, and answers again with it', async () => {
    const txid = (await bare.get('/block/7/txs')).body.items[0].txid as string
    nodeUrl = undefined
    const unknown = (await whole.get('/block/20/txs')).body.items[0].txid as string
    const refused = await bare.get(`/tx/${unknown}`)
    expect([refused.status, refused.body.code]).toEqual([503, 'HW_NODE_UNAVAILABLE'])
    // What needs no body is not affected, nor what has been read.
    expect((await bare.get('/block/20')).status).toBe(200)
    expect((await bare.get(`/tx/${txid}`)).status).toBe(200)
    nodeUrl = node.url
    await until('it is found', async () => (await bare.get(`/tx/${unknown}`)).status === 200)
  })

  it('passes the audit', async () => {
    const client = new NodeClient(node.url, { maxAttempts: 3 })
    const { signal } = new AbortController()
    const parts = { db: bare.db, log: bare.log, node: client, logger, signal, patienceMs: 0 }
    const report = await audit(parts, { sample: 10, seed: 'bodies', checks: CHECKS })
    client.close()
    expect(report.checks.flatMap(({ differences }) => differences)).toEqual([])
    expect(report.checks.find(({ name }) => name === 'blocks')?.checked).toBe(10)
  })

  it('answers as a whole one does, through reorganisations, also of blocks that left the chain', async () => {
    expect(await withBodies(bare)).toBe(0)
    expect(await withBodies(whole)).toBeGreaterThan(100)
    let current = await paths()
    const known = new Set(current)
    await compare(someOf(current))
    const replaced: string[] = []
    // The second one goes below the final height.
    for (const depth of [2, 12]) {
      const left = node.chain.tip.hash
      node.simulation.enter(4)
      node.simulation.reorg(depth)
      node.simulation.mine({ txs: 5 })
      await level()
      replaced.push(`/api/v1/block/${left}`, `/api/v1/block/${left}/txs?witness=true`)
      current = await paths()
      for (const path of current) known.add(path)
      await compare([...someOf([...known]), ...replaced])
    }
    const esplora = current.filter((path) => /\/tx\/\w+$/.test(path)).map((path) => path.slice(7))
    await compare(sampled(esplora.slice(-60), 4), ({ esploraUrl }) => esploraUrl)
    expect(await withBodies(bare)).toBe(0)
  })

  it('has large transactions and large witnesses, and the coinbase of block 0', async () => {
    const { chain } = node
    const { script } = chain.keyring.ownerOf('p2wpkh')
    const paid = chain.mine({ coinbaseOutputs: [{ value: 3_000_000_000n, script }] })
    const from = [{ txid: chain.read(paid).txs[0]?.txid ?? '', vout: 0 }]
    const to = Array.from({ length: MANY }, () => ({ value: 900_000n, script }))
    const fanOut = chain.pay({ from, to, change: script })
    chain.mine({ txs: [fanOut] })
    const outputs = to.map((_, vout) => ({ tx: fanOut, vout }))
    chain.mine({ txs: [chain.pay({ from: outputs, to: [], change: script })] })
    const last = chain.read(chain.tip).txs[1]
    expect(Math.min(fanOut.strippedSize, (last?.size ?? 0) - (last?.strippedSize ?? 0))).toBeGreaterThan(
      16 * 1024,
    )
    await level()
    const heights = [0, 1, 2].map((below) => chain.tip.height - below)
    await compare(['/api/v1/block/0/txs', `/api/v1/tx/${fanOut.txid}`, `/api/v1/tx/${last?.txid ?? ''}`])
    await compare(heights.map((height) => `/api/v1/block/${String(height)}/txs?witness=true&limit=10`))
  })

  it('becomes a whole one by a replay, and the other way round', async () => {
    const span = { from: 0, to: node.chain.tip.height, progress: () => undefined }
    await replay(bare.db, bare.log, { ...span, hasBodies: true })
    await replay(whole.db, whole.log, { ...span, hasBodies: false })
    for (const { db } of [bare, whole]) await db.command('OPTIMIZE TABLE txs')
    // Transactions that are in no block now keep the bodies that they had.
    expect(await withBodies(whole, true)).toBe(0)
    expect(await withBodies(bare, true)).toBeGreaterThan(100)
    await compare(someOf(await paths()))
  })
})
