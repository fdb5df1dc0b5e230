import { Value } from '@sinclair/typebox/value'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { EventLog, Topic } from '../../../pipelines/log/port.js'
import { startExplorer } from '../../../services/explorer/host/explorer.js'
import { READS } from '../../../services/explorer/core/reads/index.js'
import { assertPortFree } from '../../../services/process/ports.js'
import { startRecordedNode } from '../../../services/recorded-node/node.js'
import { writeExpectation } from '../../harness/expectation.js'
import { getAnswer, Pipeline } from '../../harness/pipeline.js'
import { readFrames, TIMELINE } from '../../harness/recording.js'
import { until } from '../../harness/until.js'
import { isInUrl } from './edges.js'
import { FeedClient } from './feed-client.js'
import '../../harness/formats.js'

/** A reorganisation of depth two; a transaction is in the mempool before and after it. */
const REORG = 728

/** A well-formed txid of no transaction. */
const UNSEEN = 'qcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrehzm8'

const frames = readFrames()

/** Fields that can exceed 2⁵³ on some chain must be strings, and none may have an exponent. */
const LARGE =
  /^(value|fee|balance|total_.*|.*_value|value_change|nonce|locktime|sequence|.*difficulty|hashrate|circulatingSupply|maxSupply|totalFees|subsidy|percentage|.*Percent)$/

function numbersThatShouldBeText(value: unknown, name = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => numbersThatShouldBeText(each, name))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([field, each]) => numbersThatShouldBeText(each, field))
  const isLarge = LARGE.test(name) && value !== null
  if (isLarge && (typeof value !== 'string' || !/^-?\d+(\.\d+)?$/.test(value)))
    return [`${name}: ${JSON.stringify(value)}`]
  return []
}

const HAS_IPV6 = await assertPortFree(0, '::', 'a test').then(
  () => true,
  () => false,
)

describe('an explorer of an empty index', () => {
  let pipeline: Pipeline

  beforeAll(async () => {
    pipeline = await Pipeline.start({ nodeUrl: 'http://127.0.0.1:1', engineUrl: inject('engineUrl') })
  })
  afterAll(() => pipeline.close())

  it.skipIf(!HAS_IPV6)('has an address with brackets if it listens on one of IPv6', async () => {
    const { db, log } = pipeline
    const logger = pino({ level: 'silent' })
    const other = await startExplorer({ host: '::', port: 0, grpcPort: 0, db, log, logger, auditEveryMs: 0 })
    try {
      expect(other.url).toMatch(/^http:\/\/\[::\]:\d+$/)
      expect(other.grpcAddress).toMatch(/^\[::\]:\d+$/)
      expect((await fetch(`${other.url}/health`)).status).not.toBe(404)
    } finally {
      await other.close()
    }
  })

  const syncing = {
    status: 503,
    height: -1,
    tip: '',
    body: { error: 'Index is syncing', indexedHeight: -1, nodeHeight: null },
  }

  it('reports that it is syncing if there is no block, and has empty figures', async () => {
    for (const path of ['/blocks', '/txs/recent', '/blocks/tip', '/block/0', '/search?q=0'])
      expect(await pipeline.get(path), path).toMatchObject(syncing)
    expect((await pipeline.get('/mempool/txs')).body).toEqual({ items: [], limit: 20 })
    expect((await pipeline.get('/stats/supply')).body).toEqual({
      circulatingSupply: '0',
      utxoCount: 0,
      maxSupply: '2100000000000000',
    })
    expect((await pipeline.get('/stats/summary')).body).toMatchObject({
      tipHeight: -1,
      tipHash: '',
      difficulty: '0',
      totalTransactions: 0,
      indexerStatus: 'stalled',
      tipMatch: false,
    })
    expect((await pipeline.get('/mempool/summary')).body).toMatchObject({ txCount: 0, totalFees: '0' })
  })

  it('distinguishes a malformed address from an unused one', async () => {
    const address = 'muBcxPrRdbzkvdX3aS7ovfiLgp6QB23rmo'
    for (const path of ['', '/txs', '/utxos'])
      expect(await pipeline.get(`/address/${address}${path}`), path).toMatchObject(syncing)
    for (const path of ['', '/txs', '/utxos'])
      expect((await pipeline.get(`/address/${address.replace('m', 'n')}${path}`)).status).toBe(400)
  })
})

describe('an explorer of the recorded chain', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  /** The events of topic `node` before the reorganisation. */
  let nodeEvents = 0
  /** Transactions of the blocks that it disconnects, without coinbases. */
  const fallen: string[] = []
  const before = frames[REORG - 1]
  const reorg = frames[REORG]
  if (before === undefined || reorg === undefined) throw new Error('the recording is another one')
  const tip = before.chaininfo.bestblockhash
  const labels = join(tmpdir(), `headwater-labels-${String(process.pid)}.jsonl`)

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: REORG - 1 })
    await writeFile(labels, '')
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { definitions: { labels } },
    })
    await pipeline.level({ tip, mempoolSize: before.mempoolinfo.size })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await rm(labels)
  })

  const raw = (path: string, options: RequestInit = {}) => fetch(`${pipeline.url}${path}`, options)
  const carrying = async (): Promise<string> => (await pipeline.get('/op-returns')).body.items[0].txid

  it('answers every read in its declared shape, with the state that it describes', async () => {
    await writeExpectation(pipeline, before.chaininfo.blocks, tip)
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    const address = paying.outputs[0].addresses[0].address as string
    await writeFile(labels, JSON.stringify({ address, label: 'A', category: 'exchange', url: null }))
    await until('the label is there', async () => (await pipeline.get(`/label/${address}`)).status === 200)
    const values = { heightOrHash: tip, txid: paying.txid as string, address }
    const queries: Readonly<Record<string, string>> = {
      ...{ search: `?q=${tip}`, searchPrefix: `?q=${tip.slice(0, 8)}` },
      whaleAlerts: '?minValue=1',
      confirmationForecast: '?feeRate=2.5',
    }
    for (const read of READS.filter((each) => isInUrl(each) && each.name !== 'replacedTransaction')) {
      if (read.name === 'transactionOpReturns') values.txid = await carrying()
      const path = Object.entries(values).reduce(
        (text, [name, value]) => text.replace(`:${name}`, value),
        read.path,
      )
      const answer = await pipeline.get(path + (queries[read.name] ?? ''))
      expect(answer.status, path).toBe(200)
      expect(Value.Errors(read.answer, answer.body).First(), path).toBeUndefined()
      if (!read.name.startsWith('search')) expect(numbersThatShouldBeText(answer.body), path).toEqual([])
      expect(answer.headers.get('content-type'), path).toBe('application/json; charset=utf-8')
      if (read.fresh === 'outside') continue
      expect(answer, path).toMatchObject({ height: before.chaininfo.blocks, tip })
      expect(answer.headers.get('etag'), path).toMatch(/^"[^"]+"$/)
      // This index has seen no reorganisation, no replacement, and has no samples of the mempool.
      if ('items' in answer.body && !['reorgs', 'mempoolReplacements', 'mempoolHistory'].includes(read.name))
        expect(answer.body.items.length, path).toBeGreaterThan(0)
      if (read.name === 'mempoolTransactions')
        expect(answer.body.items.map((item: { txid: string }) => item.txid)).toEqual(
          Object.keys(before.mempool),
        )
    }
  })

  it('leads from a height to its block, although hashes begin like it', async () => {
    // Four digits, from which on beginnings are searched.
    const digits = (height: number): string => String(height).padStart(4, '0')
    const isAmbiguous = async (height: number): Promise<boolean> =>
      (await pipeline.get(`/search/prefix?q=${digits(height)}`)).body.items.length > 0
    let height = before.chaininfo.blocks
    while (height > 0 && !(await isAmbiguous(height))) height--
    expect(height).toBeGreaterThan(0)
    const found = await raw(`/_explorer/find?q=${digits(height)}`, { redirect: 'manual' })
    expect([found.status, found.headers.get('location')]).toEqual([303, `/block/${String(height)}`])
  })

  it('omits script_sig and witness from lists unless they are requested', async () => {
    for (const path of [`/block/${tip}/txs`, '/txs/recent']) {
      const [without, full] = await Promise.all([pipeline.get(path), pipeline.get(`${path}?witness=true`)])
      for (const [index, tx] of without.body.items.entries()) {
        for (const input of tx.inputs) {
          expect(input).not.toHaveProperty('witness')
          expect(input).not.toHaveProperty('script_sig')
        }
        expect(full.body.items[index]).toMatchObject(tx)
        const one = await pipeline.get(`/tx/${String(tx.txid)}`)
        expect(full.body.items[index]).toEqual(one.body)
      }
    }
  })

  it('returns null for the script of an input that needs none, as the live service does', async () => {
    const { items } = (await pipeline.get('/txs/recent?limit=50&witness=true')).body
    const ours: [string, string | null][] = items.flatMap(
      (tx: { txid: string; inputs: { vin: number; script_sig: string }[] }) =>
        tx.inputs.map(({ vin, script_sig }) => [`${tx.txid}:${String(vin)}`, script_sig]),
    )
    const theirs = new Map(
      frames.flatMap(({ connected }) =>
        connected.flatMap(({ block }) =>
          block.tx.flatMap(({ txid, vin }) =>
            vin.map((input, index) => [
              `${txid}:${String(index)}`,
              input.coinbase ?? input.scriptSig?.hex ?? '',
            ]),
          ),
        ),
      ),
    )
    for (const [input, script] of ours)
      expect(script, input).toBe(theirs.get(input) === '' ? null : theirs.get(input))
    expect(new Set(ours.map(([, script]) => script === null))).toEqual(new Set([true, false]))
  })

  it('pages blocks from the tip down, each once, until a page is empty', async () => {
    const heights: number[] = []
    for (let page = 1; ; page++) {
      const { body } = await pipeline.get(`/blocks?page=${String(page)}&limit=100`)
      expect(body).toMatchObject({ total: before.chaininfo.blocks + 1, page, limit: 100 })
      heights.push(...body.items.map((block: { height: number }) => block.height))
      if (body.items.length === 0) break
    }
    expect(heights).toEqual(
      Array.from({ length: before.chaininfo.blocks + 1 }, (_, index) => before.chaininfo.blocks - index),
    )
    expect((await pipeline.get('/blocks?page=9007199254740991')).body.items).toEqual([])
  })

  it('serves block 0', async () => {
    const { body } = await pipeline.get('/block/0')
    expect(body).toMatchObject({
      height: 0,
      hash: frames[0]?.chaininfo.bestblockhash,
      prev_hash: '00'.repeat(32),
      bits: '207fffff',
      difficulty: '0.0000000004656542373906925',
      nonce: '3',
      timestamp: '2026-02-23T00:00:00.000Z',
      total_fees: '0',
      canonical: true,
      miner_label: null,
    })
    const { items } = (await pipeline.get('/block/0/txs')).body
    expect(items).toMatchObject([
      {
        is_coinbase: true,
        fee: '0',
        inputs: [{ prev_txid: null, prev_vout: null, value: null, address: null }],
      },
    ])
    expect((await pipeline.get(`/block/${String(body.hash).toUpperCase()}`)).body).toEqual(body)
  })

  it('finds by search what the reads return, in one spelling', async () => {
    const search = async (q: string) => (await pipeline.get(`/search?q=${encodeURIComponent(q)}`)).body
    expect(await search('0')).toEqual({
      type: 'block',
      value: frames[0]?.chaininfo.bestblockhash,
      query: '0',
    })
    expect(await search(tip.toUpperCase())).toEqual({ type: 'block', value: tip, query: tip.toUpperCase() })
    const [coinbase] = (await pipeline.get(`/block/${tip}/txs`)).body.items
    expect(await search(coinbase.txid)).toMatchObject({ type: 'transaction', value: coinbase.txid })
    const { txid } = coinbase
    const { address } = coinbase.outputs[0].addresses[0]
    expect(await search(` ${String(address)} `)).toEqual({
      type: 'address',
      value: address,
      query: ` ${String(address)} `,
    })
    for (const q of ['99999999', 'ab'.repeat(32), 'nonsense', '%'])
      expect(await search(q)).toEqual({ error: 'Nothing matches', code: 'HW_NOT_FOUND' })
    for (const q of [txid, `"${txid}:0",`, `https://x/y/api/v1/tx/${txid}/status?${'x'.repeat(280)}`])
      expect(await search(q)).toEqual({ type: 'transaction', value: txid, query: q })
    const uri = `BITCOIN:${String(address).toUpperCase()}?amount=1`
    expect(await search(uri)).toEqual({ type: 'address', value: address, query: uri })
    for (const q of ['', '  ', 'x'.repeat(101), ` ${'x'.repeat(100)}`, `https://${'é'.repeat(100)}`])
      expect(await search(q)).toEqual({
        error:
          'q must be 1 to 100 characters, not all of them spaces; a URL, a public key or a script may have 380',
        code: 'HW_INVALID_ARGUMENT',
      })
  })

  it('answers unknown and invalid requests with the contract’s texts', async () => {
    const cases: [string, RequestInit, number, object][] = [
      ['/x', {}, 404, { error: 'Not Found', message: 'Route GET:/x not found', statusCode: 404 }],
      [
        '/api/v1/blocks//',
        {},
        404,
        { error: 'Not Found', message: 'Route GET:/api/v1/blocks// not found', statusCode: 404 },
      ],
      [
        '/x',
        { method: 'POST', body: '{}' },
        404,
        { error: 'Not Found', message: 'Route POST:/x not found', statusCode: 404 },
      ],
      [`/api/v1/tx/${'ab'.repeat(32)}`, {}, 404, { error: 'Transaction not found', code: 'HW_NOT_FOUND' }],
      ['/api/v1/block/4000000000', {}, 404, { error: 'Block not found', code: 'HW_NOT_FOUND' }],
      [`/api/v1/block/${'ab'.repeat(32)}/txs`, {}, 404, { error: 'Block not found', code: 'HW_NOT_FOUND' }],
      [
        '/api/v1/blocks?limit=101',
        {},
        400,
        { error: 'limit must be an integer from 1 to 100', code: 'HW_INVALID_ARGUMENT' },
      ],
      [
        '/api/v1/tx/%zz',
        {},
        400,
        { error: 'txid must be 64 hexadecimal characters', code: 'HW_INVALID_ARGUMENT' },
      ],
      [`/api/v1/address/${UNSEEN}`, {}, 404, { error: 'Address not found' }],
      [
        `/api/v1/address/${UNSEEN}/txs`,
        {},
        200,
        { items: [], total: 0, page: 1, limit: 25, next_cursor: null },
      ],
      [`/api/v1/address/${UNSEEN}/utxos`, {}, 200, { items: [], total: 0, limit: 100, offset: 0 }],
      [
        '/api/v1/address/%00',
        {},
        400,
        {
          error:
            'address must be a well-formed address of this chain, a script hash, a public key or a script',
          code: 'HW_INVALID_ARGUMENT',
        },
      ],
      [
        '/api/v1/blocks',
        { headers: { 'x-min-chain-height': 'x' } },
        400,
        { error: 'x-min-chain-height must be an integer from 0 to 9999999999', code: 'HW_INVALID_ARGUMENT' },
      ],
      ['/ws', {}, 426, { error: 'Upgrade Required', code: 'HW_UPGRADE_REQUIRED' }],
      [
        '/api/v1/blocks',
        { method: 'POST', body: '{}' },
        405,
        {
          error: 'Method Not Allowed',
          code: 'HW_METHOD_NOT_ALLOWED',
          message: 'Method POST is not allowed for /api/v1/blocks',
          statusCode: 405,
        },
      ],
      [
        '/health',
        { method: 'DELETE' },
        405,
        {
          error: 'Method Not Allowed',
          code: 'HW_METHOD_NOT_ALLOWED',
          message: 'Method DELETE is not allowed for /health',
          statusCode: 405,
        },
      ],
      [
        '/api/v1/tx/send',
        { method: 'POST', body: '{}' },
        404,
        { error: 'Not Found', message: 'Route POST:/api/v1/tx/send not found', statusCode: 404 },
      ],
    ]
    for (const [path, options, status, body] of cases) {
      const response = await raw(path, options)
      expect(response.status, path).toBe(status)
      expect(await response.json(), path).toEqual(body)
      if (status === 405) expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    }
  })

  it('answers HEAD with the headers of GET, and 304 to a client that has the answer', async () => {
    const get = await raw('/api/v1/blocks/tip')
    const length = (await get.arrayBuffer()).byteLength
    const head = await raw('/api/v1/blocks/tip', { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(Number(head.headers.get('content-length'))).toBe(length)
    expect(await head.text()).toBe('')
    const etag = get.headers.get('etag') ?? ''
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await raw('/api/v1/blocks/tip', { headers: { 'if-none-match': tag } })
      expect(same.status, tag).toBe(304)
      expect(same.headers.get('x-chain-tip')).toBe(tip)
      expect(await same.text()).toBe('')
    }
    expect((await raw('/api/v1/blocks/tip', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  it('reports its health and its metrics', async () => {
    const client = await FeedClient.connect(pipeline.url, '/ws')
    const health = (await (await raw('/health')).json()) as object
    expect(health).toMatchObject({
      status: 'ok',
      service: 'headwater-explorer',
      database: 'connected',
      wsClients: 1,
    })
    const metrics = await raw('/metrics')
    const text = await metrics.text()
    for (const line of [
      'headwater_api_ws_clients 1',
      `headwater_tip_height ${String(before.chaininfo.blocks)}`,
      `headwater_node_height ${String(before.chaininfo.blocks)}`,
      'headwater_tip_lag_blocks 0',
      '# TYPE headwater_heartbeat_applied_timestamp_seconds gauge',
      'headwater_consumer_lag{topic="chain",consumer="materializer"} 0',
      'headwater_consumer_lag{topic="committed",consumer="explorer"} 0',
      '# TYPE headwater_reorgs_total counter',
      '# HELP headwater_api_db_pool_total',
      '# TYPE headwater_api_request_duration_seconds histogram',
      'headwater_api_cache_requests_total{result="hit"}',
      '# TYPE headwater_api_cache_bytes gauge',
      'route="/api/v1/block/:heightOrHash",status="200"',
      'headwater_process_resident_memory_bytes',
    ])
      expect(text).toContain(line)
    expect(metrics.headers.get('content-type')).toContain('text/plain')
    await client.close()
  })

  it('follows a reorganisation: feed, stale blocks, tags, and no transaction is missing meanwhile', async () => {
    const feeds = await Promise.all(
      ['/ws', '/api/v1/ws'].map((path) => FeedClient.connect(pipeline.url, path)),
    )
    for (const feed of feeds)
      for (const channel of ['blocks', 'reorgs', 'stats', 'mempool']) await feed.subscribe(channel)
    const [feed] = feeds as [FeedClient, FeedClient]
    const etag = (await pipeline.get('/block/0')).headers.get('etag') ?? ''

    const after = new Set(Object.keys(reorg.mempool))
    for (const { block } of reorg.connected) for (const tx of block.tx) after.add(tx.txid)
    nodeEvents = await pipeline.log.last('node')
    const moving: string[] = []
    for (const hash of reorg.disconnected) {
      for (const tx of (await pipeline.get(`/block/${hash}/txs`)).body.items) {
        if (after.has(tx.txid)) moving.push(tx.txid)
        if (tx.is_coinbase === false) fallen.push(tx.txid)
      }
    }
    const lost: string[] = []
    let stop = false
    const watch = (async () => {
      while (!stop) {
        const answers = await Promise.all(moving.map((txid) => pipeline.get(`/tx/${txid}`)))
        lost.push(...answers.filter(({ status }) => status !== 200).map((_, index) => moving[index] ?? ''))
      }
    })()
    node.step(1)
    await pipeline.level({ tip: reorg.chaininfo.bestblockhash, mempoolSize: reorg.mempoolinfo.size })
    stop = true
    await watch
    expect(moving.length).toBeGreaterThan(0)
    expect(lost).toEqual([])

    const fork = reorg.chaininfo.blocks - reorg.connected.length
    const reported = await feed.events('reorgs', 1)
    expect(reported[0]?.data).toEqual({
      fork_height: fork,
      depth: reorg.disconnected.length,
      disconnected: reorg.disconnected,
      connected: reorg.connected.map(({ block }) => block.hash),
    })
    const blocks = await feed.events('blocks', reorg.connected.length)
    expect(blocks.map(({ data }) => data)).toEqual(
      reorg.connected.map(({ block }) => ({
        height: block.height,
        hash: block.hash,
        tx_count: block.tx.length,
      })),
    )
    expect(blocks.map(({ seq }) => seq)).toEqual(blocks.map((_, index) => (blocks[0]?.seq ?? 0) + index))
    const now = { tipHash: reorg.chaininfo.bestblockhash, tipHeight: reorg.chaininfo.blocks }
    expect((await feed.events('stats', 1)).map(({ data }) => data)).toContainEqual(
      expect.objectContaining(now),
    )
    const entered = Object.keys(reorg.mempool).filter((txid) => !(txid in before.mempool))
    const inMempool = await feed.events('mempool', entered.length)
    expect(inMempool.map(({ data }) => (data as { txid: string }).txid).sort()).toEqual(entered.sort())

    const [stale = ''] = reorg.disconnected
    expect((await pipeline.get(`/block/${stale}`)).body).toMatchObject({ hash: stale, canonical: false })
    expect((await pipeline.get(`/block/${stale}/txs`)).body.items[0].block_hash).toBe(stale)
    expect((await pipeline.get(`/search?q=${stale}`)).body).toMatchObject({ type: 'block', value: stale })
    // Nothing that block 0 depends on has changed; the tip of the answer has.
    const same = await pipeline.get('/block/0', { 'if-none-match': etag })
    expect(same).toMatchObject({ status: 304, tip: reorg.chaininfo.bestblockhash })

    const late = await FeedClient.connect(pipeline.url, '/ws')
    const from = (blocks[0]?.seq ?? 0) - 3
    await late.subscribe('blocks', from)
    const replayed = await late.events('blocks', 2 + blocks.length)
    expect(replayed.slice(2)).toEqual(blocks)
    expect(replayed.map(({ seq }) => seq)).toEqual(replayed.map((_, index) => from + 1 + index))
    await Promise.all([...feeds, late].map((each) => each.close()))
  })

  it('serves a transaction of the mempool, and its address, as unconfirmed', async () => {
    const [item] = (await pipeline.get('/mempool/txs')).body.items
    const { body } = await pipeline.get(`/tx/${String(item.txid)}`)
    expect(body).toMatchObject({
      block_hash: null,
      block_height: null,
      tx_index: null,
      fee: item.fee,
      vsize: item.vsize,
      timestamp: item.first_seen,
      output_value: item.value,
    })
    expect(BigInt(body.input_value) - BigInt(body.output_value)).toBe(BigInt(body.fee))
    const { address } = body.outputs[0].addresses[0]
    const summary = (await pipeline.get(`/address/${String(address)}`)).body
    expect(summary.unconfirmed.tx_count).toBeGreaterThan(0)
    const count = summary.tx_count + summary.unconfirmed.tx_count
    const [newest, oldest] = await Promise.all(
      ['desc', 'asc'].map((sort) => pipeline.get(`/address/${String(address)}/txs?limit=1&sort=${sort}`)),
    )
    expect(newest?.body).toMatchObject({
      total: count,
      items: [{ address, block_height: null, tx_index: null }],
    })
    expect(oldest?.body.total).toBe(count)
    const last = (
      await pipeline.get(`/address/${String(address)}/txs?limit=1&sort=asc&page=${String(count)}`)
    ).body
    expect(last.items[0].block_height).toBeNull()
  })

  it('sends missed events to a client that reconnects, also to another explorer', async () => {
    const other = await startExplorer({
      port: 0,
      db: pipeline.db,
      log: pipeline.log,
      logger: pino({ level: 'silent' }),
    })
    const [here, there] = await Promise.all([
      FeedClient.connect(pipeline.url, '/ws'),
      FeedClient.connect(other.url, '/ws'),
    ])
    for (const channel of ['blocks', 'reorgs', 'mempool']) {
      for (const client of [here, there]) await client.subscribe(channel, 0)
    }
    const same = await Promise.all(
      [here, there].map((client) => client.events('blocks', before.chaininfo.blocks)),
    )
    expect(same[0]).toEqual(same[1])
    expect(same[0]?.[0]).toMatchObject({ seq: 1, data: { height: 0 } })
    const reorgs = await Promise.all([here, there].map((client) => client.events('reorgs', 1)))
    expect(reorgs[0]).toEqual(reorgs[1])
    const mempool = await Promise.all([here, there].map((client) => client.events('mempool', 1)))
    expect(mempool[0]).toEqual(mempool[1])
    expect((await getAnswer(`${other.url}/api/v1/mempool/txs`)).body).toEqual(
      (await pipeline.get('/mempool/txs')).body,
    )
    await there.close()
    await other.close()
    await here.close()
  })

  it('starts with a mempool that was written before the last heads, and with their effect on it', async () => {
    // Topic `node` as if the poller had died directly after it wrote the blocks.
    const log = new Proxy(pipeline.log, {
      get(target, name) {
        if (name === 'last')
          return (topic: Topic) => (topic === 'node' ? Promise.resolve(nodeEvents) : target.last(topic))
        if (name === 'read')
          return async (...[topic, position, limit, bytes]: Parameters<EventLog['read']>) => {
            const records = await target.read(topic, position, limit, bytes)
            return topic === 'node' ? records.filter((each) => each.position <= nodeEvents) : records
          }
        if (name === 'wait')
          return (...args: Parameters<EventLog['wait']>) =>
            args[0] === 'node' ? sleep(100) : target.wait(...args)
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const other = await startExplorer({ port: 0, db: pipeline.db, log, logger: pino({ level: 'silent' }) })
    const confirmed = new Set(reorg.connected.flatMap(({ block }) => block.tx.map((tx) => tx.txid)))
    const expected = [...Object.keys(before.mempool), ...fallen].filter((txid) => !confirmed.has(txid))
    const { body } = await getAnswer(`${other.url}/api/v1/mempool/txs?limit=100`)
    expect(expected.length).toBeGreaterThan(0)
    expect(body.items.map((item: { txid: string }) => item.txid).sort()).toEqual(expected.sort())
    await other.close()
  })
})
