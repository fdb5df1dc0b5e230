import { afterEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type ChainState, explorerClient, ExplorerError, stateOf } from '../../../services/client/client.js'
import { until } from '../../harness/until.js'
import { answerWith, FakeExplorer } from './fake-explorer.js'

const TIP = 'ab'.repeat(32)
const at = (height: number) => ({ 'x-chain-height': String(height), 'x-chain-tip': TIP })
const SUPPLY = { circulatingSupply: '1', utxoCount: 1, maxSupply: '2' }

let explorer: FakeExplorer
afterEach(() => explorer.close())

const failureOf = async (answer: Promise<unknown>): Promise<ExplorerError> => {
  const error = await answer.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  )
  if (error instanceof ExplorerError) return error
  throw error
}

describe('a request of the client', () => {
  it('has its arguments in path and query, and returns the answer with its state', async () => {
    explorer = await FakeExplorer.start(answerWith({ items: [] }, 200, at(7)))
    const client = explorerClient(`${explorer.url}/`)
    const answer = await client.addressTransactions({ address: 'a/b', limit: 5, sort: 'asc' })
    expect(answer.items).toEqual([])
    expect(stateOf(answer)).toEqual({ height: 7, tip: TIP } satisfies ChainState)
    await client.tip()
    await client.search({ q: 'ü & more' }, { minHeight: 7 })
    expect(explorer.received.map(({ path }) => path)).toEqual([
      '/api/v1/address/a%2Fb/txs?limit=5&sort=asc',
      '/api/v1/blocks/tip',
      '/api/v1/search?q=%C3%BC+%26+more',
    ])
    expect(explorer.received[2]?.headers['x-min-chain-height']).toBe('7')
  })

  it('has its arguments in the body, if they may be too long for a URL', async () => {
    explorer = await FakeExplorer.start(answerWith({ items: [] }, 200, at(7)), answerWith({ txid: 'ab' }))
    const client = explorerClient(explorer.url)
    expect(await client.addressSummaries({ addresses: ['a', 'b'] })).toEqual({ items: [] })
    expect(await client.sendTransaction({ hex: '00' })).toEqual({ txid: 'ab' })
    expect(explorer.received).toMatchObject([
      { method: 'POST', path: '/api/v1/addresses', body: '{"addresses":["a","b"]}' },
      { method: 'POST', path: '/api/v1/tx/send', body: '{"hex":"00"}' },
    ])
    expect(explorer.received[0]?.headers['content-type']).toBe('application/json')
  })

  it('sends the token', async () => {
    explorer = await FakeExplorer.start(answerWith({ uptime: 1 }))
    const answer = await explorerClient(explorer.url, { token: 'sesame' }).nodeHealth()
    expect(explorer.received[0]?.headers.authorization).toBe('Bearer sesame')
    expect(stateOf(answer)).toBeUndefined()
  })

  it('is repeated after the time that the explorer names', async () => {
    const limited = answerWith({ error: 'Rate limit exceeded', retry_after_ms: 30 }, 429, {
      'retry-after': '1',
    })
    const overloaded = answerWith({ error: 'Overloaded', code: 'HW_OVERLOADED' }, 503, { 'retry-after': '0' })
    explorer = await FakeExplorer.start(limited, overloaded, answerWith(SUPPLY, 200, at(1)))
    const timers = vi.spyOn(globalThis, 'setTimeout')
    expect(await explorerClient(explorer.url).supply()).toEqual(SUPPLY)
    expect(explorer.received).toHaveLength(3)
    const pauses = timers.mock.calls.map(([, ms]) => ms)
    expect(pauses).toContain(30)
    expect(pauses).toContain(0)
  })

  it('fails with the code, the text and the time of the explorer', async () => {
    explorer = await FakeExplorer.start(
      answerWith({ error: 'Address not found' }, 404),
      answerWith({ error: 'limit must be an integer from 1 to 100', code: 'HW_INVALID_ARGUMENT' }, 400),
      answerWith({ error: 'Index is syncing', indexedHeight: 1, nodeHeight: 9 }, 503, { 'retry-after': '5' }),
      answerWith({ error: 'Rate limit exceeded', retry_after_ms: 1234 }, 429),
      answerWith('<html>Bad Gateway</html>', 502),
    )
    const client = explorerClient(explorer.url, { retries: 0 })
    const failures = []
    for (let index = 0; index < 5; index++) {
      const { code, status, message, retryAfterMs, isTemporary } = await failureOf(client.supply())
      failures.push([code, status, message, retryAfterMs, isTemporary])
    }
    expect(failures).toEqual([
      ['HW_ADDRESS_NOT_FOUND', 404, 'Address not found', undefined, false],
      ['HW_INVALID_ARGUMENT', 400, 'limit must be an integer from 1 to 100', undefined, false],
      ['HW_SYNCING', 503, 'Index is syncing', 5000, true],
      ['HW_RATE_LIMITED', 429, 'Rate limit exceeded', 1234, true],
      ['UNKNOWN', 502, 'Bad Gateway', undefined, true],
    ])
  })

  it('is repeated no more often than allowed, and not at all if a repetition cannot help', async () => {
    const unavailable = answerWith({ error: 'x', code: 'HW_NOT_READY' }, 503, { 'retry-after': '0' })
    explorer = await FakeExplorer.start(
      unavailable,
      unavailable,
      unavailable,
      answerWith({ error: 'x' }, 404),
    )
    const client = explorerClient(explorer.url, { retries: 2 })
    expect(await failureOf(client.supply())).toMatchObject({ code: 'HW_NOT_READY' })
    expect(explorer.received).toHaveLength(3)
    expect(await failureOf(client.supply())).toMatchObject({ status: 404 })
    expect(explorer.received).toHaveLength(4)
  })

  it('is repeated until its answer is as high as requested', async () => {
    explorer = await FakeExplorer.start(answerWith({}, 200, at(6)), answerWith(SUPPLY, 200, at(7)))
    expect(await explorerClient(explorer.url).supply({}, { minHeight: 7 })).toEqual(SUPPLY)
    const other = explorerClient(explorer.url, { retries: 1 })
    expect(await failureOf(other.supply({}, { minHeight: 8 }))).toMatchObject({ code: 'BEHIND' })
  })

  it('fails as unreachable without an explorer', async () => {
    explorer = await FakeExplorer.start()
    const client = explorerClient('http://127.0.0.1:1', { retries: 0 })
    const error = await failureOf(client.supply())
    expect(error).toMatchObject({ code: 'UNREACHABLE', status: 0, isTemporary: true })
    expect(error.cause).toBeInstanceOf(Error)
  })

  it('ends when its signal aborts, in a request and in a pause', async () => {
    const abort = new AbortController()
    explorer = await FakeExplorer.start(() => {
      abort.abort(new Error('enough'))
    })
    const client = explorerClient(explorer.url)
    await expect(client.supply({}, { signal: abort.signal })).rejects.toThrow('enough')
    await explorer.close()
    explorer = await FakeExplorer.start(answerWith({ error: 'x' }, 503, { 'retry-after': '3600' }))
    const during = new AbortController()
    const paused = explorerClient(explorer.url).supply({}, { signal: during.signal })
    await until('the request was answered', () => explorer.received.length === 1)
    during.abort(new Error('enough'))
    await expect(paused).rejects.toThrow('enough')
  })
})

describe('all items of a list', () => {
  /** Answers with pages of the numbers from `most` down to 1, of which `grow` are added after each request. */
  const pagesOf = (most: number, grow: number) => {
    let total = most - grow
    return FakeExplorer.start((request, response) => {
      total += grow
      const query = new URL(request.path, 'http://x').searchParams
      const limit = Number(query.get('limit') ?? 2)
      const from = query.has('offset') ? Number(query.get('offset')) : (Number(query.get('page')) - 1) * limit
      const all = Array.from({ length: total }, (_, index) => ({ height: total - index }))
      answerWith({ items: all.slice(from, from + limit), total, limit }, 200, at(total))(request, response)
    })
  }

  const heightsOf = async (list: AsyncIterable<object>): Promise<number[]> => {
    const heights: number[] = []
    for await (const item of list) heights.push((item as { height: number }).height)
    return heights
  }

  it('come page after page, by page number and by offset', async () => {
    explorer = await pagesOf(5, 0)
    const client = explorerClient(explorer.url)
    expect(await heightsOf(client.all.blocks({ limit: 2 }))).toEqual([5, 4, 3, 2, 1])
    expect(await heightsOf(client.all.opReturns({ limit: 3, offset: 1 }))).toEqual([4, 3, 2, 1])
    expect(explorer.received.map(({ path }) => path.slice('/api/v1'.length))).toEqual([
      '/blocks?limit=2&page=1',
      '/blocks?limit=2&page=2',
      '/blocks?limit=2&page=3',
      '/op-returns?limit=3&offset=1',
      '/op-returns?limit=3&offset=4',
    ])
  })

  it('are not repeated when newer ones move them to the next page', async () => {
    explorer = await pagesOf(6, 1)
    expect(await heightsOf(explorerClient(explorer.url).all.blocks({ limit: 3 }))).toEqual([6, 5, 4, 3, 2, 1])
    // Later pages must not be of an older state.
    expect(explorer.received.map(({ headers }) => headers['x-min-chain-height'])).toEqual([
      undefined,
      '6',
      '7',
    ])
  })

  it('continue with the cursor of the page before, if the list has one', async () => {
    const page = (height: number, next: string | null) =>
      answerWith({ items: [{ height }], total: 9, limit: 1, next_cursor: next }, 200, at(9))
    explorer = await FakeExplorer.start(page(9, 'one'), page(9, 'two'), page(7, null))
    // The same item on two pages is not repeated.
    expect(await heightsOf(explorerClient(explorer.url).all.blocks({ limit: 1 }))).toEqual([9, 7])
    expect(explorer.received.map(({ path }) => path.slice('/api/v1'.length))).toEqual([
      '/blocks?limit=1&page=1',
      '/blocks?limit=1&cursor=one',
      '/blocks?limit=1&cursor=two',
    ])
  })

  it('continue with the cursor, if the list has nothing else', async () => {
    const part = (txid: string, next: string | null) =>
      answerWith({ items: [txid], total: 2, limit: 1, next_cursor: next }, 200, at(9))
    explorer = await FakeExplorer.start(part('a', 'one'), part('b', null))
    const found: string[] = []
    for await (const txid of explorerClient(explorer.url).all.mempoolTxids({ limit: 1 })) found.push(txid)
    expect(found).toEqual(['a', 'b'])
    expect(explorer.received.map(({ path }) => path.slice('/api/v1'.length))).toEqual([
      '/mempool/txids?limit=1',
      '/mempool/txids?limit=1&cursor=one',
    ])
  })

  it('are requested only as far as they are used', async () => {
    explorer = await pagesOf(100, 0)
    for await (const { height } of explorerClient(explorer.url).all.blocks({ limit: 10 }))
      if (height === 95) break
    expect(explorer.received).toHaveLength(1)
  })
})

describe('the events of the client', () => {
  const start = async (): Promise<void> => {
    explorer = await FakeExplorer.start()
  }
  const events = (since: Readonly<Record<string, number>> = {}, signal?: AbortSignal) =>
    explorerClient(explorer.url, { WebSocket: WebSocket }).events(['blocks', 'reorgs'], {
      since,
      ...(signal === undefined ? {} : { signal }),
    })
  const subscribed = (connection: number) =>
    until(
      `connection ${String(connection)} has subscribed`,
      () => explorer.messages[connection]?.length === 2,
    )

  it('continue after a broken connection: none is lost or repeated', async () => {
    await start()
    const feed = events({ blocks: 4 })
    const first = feed.next()
    await subscribed(0)
    expect(explorer.messages[0]).toEqual([
      { type: 'subscribe', channel: 'blocks', since: 4 },
      { type: 'subscribe', channel: 'reorgs' },
    ])
    explorer.send('blocks', 5)
    explorer.send('blocks', 6)
    explorer.send('blocks', 6)
    explorer.send('reorgs', 1)
    expect((await first).value).toEqual({ channel: 'blocks', seq: 5, data: { height: 5 } })
    explorer.sockets[0]?.close()
    expect((await feed.next()).value).toMatchObject({ channel: 'blocks', seq: 6 })
    expect((await feed.next()).value).toMatchObject({ channel: 'reorgs', seq: 1 })
    const next = feed.next()
    await subscribed(1)
    expect(explorer.messages[1]).toEqual([
      { type: 'subscribe', channel: 'blocks', since: 6 },
      { type: 'subscribe', channel: 'reorgs', since: 1 },
    ])
    explorer.send('blocks', 6)
    explorer.send('blocks', 7)
    expect((await next).value).toMatchObject({ seq: 7 })
    await feed.return()
    await until('the connection is closed', () => explorer.sockets[1]?.readyState === WebSocket.CLOSED)
  })

  it('report that some are missing, if the explorer or the client does not know which', async () => {
    await start()
    const feed = events({ blocks: 4 })
    const first = feed.next()
    await subscribed(0)
    explorer.sockets[0]?.send('{"type":"resync","channel":"blocks"}')
    expect((await first).value).toEqual({ channel: 'blocks', resync: true })
    // Numbers of another run may be lower.
    explorer.send('blocks', 2)
    expect((await feed.next()).value).toMatchObject({ seq: 2 })
    explorer.sockets[0]?.terminate()
    // No event of the channel reorgs arrived before: it is unknown whether there was one meanwhile.
    expect((await feed.next()).value).toEqual({ channel: 'reorgs', resync: true })
    expect(explorer.messages[1]?.[0]).toEqual({ type: 'subscribe', channel: 'blocks', since: 2 })
    await feed.return()
  })

  it('of an address may have the same number, and continue with it', async () => {
    await start()
    const feed = explorerClient(explorer.url, { WebSocket: WebSocket }).events('address:a')
    const first = feed.next()
    await until('it has subscribed', () => explorer.messages[0]?.length === 1)
    for (const status of ['synced', 'confirmed', 'confirmed']) explorer.send('address:a', 7, { status })
    explorer.send('address:a', 8, { status: 'removed' })
    const statuses = [(await first).value?.data?.status]
    for (let count = 1; count < 4; count++) statuses.push((await feed.next()).value?.data?.status)
    expect(statuses).toEqual(['synced', 'confirmed', 'confirmed', 'removed'])
    explorer.sockets[0]?.terminate()
    const next = feed.next()
    await until('it has subscribed again', () => explorer.messages[1]?.length === 1)
    expect(explorer.messages[1]).toEqual([{ type: 'subscribe', channel: 'address:a', since: 8 }])
    explorer.send('address:a', 8, { status: 'synced' })
    expect((await next).value).toMatchObject({ channel: 'address:a', seq: 8 })
    await feed.return()
  })

  it('of the mempool have removals if these are requested, also after a broken connection', async () => {
    await start()
    const client = explorerClient(explorer.url, { WebSocket: WebSocket })
    const feed = client.events(['mempool', 'blocks'], { removals: true })
    const first = feed.next()
    await subscribed(0)
    explorer.send('mempool', 7, { txid: 'a', removed: { reason: 'evicted' } })
    expect((await first).value?.data).toEqual({ txid: 'a', removed: { reason: 'evicted' } })
    explorer.sockets[0]?.terminate()
    const next = feed.next()
    await subscribed(1)
    expect(explorer.messages).toEqual([
      [
        { type: 'subscribe', channel: 'mempool', removals: true },
        { type: 'subscribe', channel: 'blocks' },
      ],
      [
        { type: 'subscribe', channel: 'mempool', since: 7, removals: true },
        { type: 'subscribe', channel: 'blocks' },
      ],
    ])
    await next
    await feed.return()
  })

  it('end when the signal aborts', async () => {
    await start()
    const abort = new AbortController()
    const feed = events({}, abort.signal)
    const next = feed.next()
    await subscribed(0)
    abort.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    await until('the connection is closed', () => explorer.sockets[0]?.readyState === WebSocket.CLOSED)
  })

  it('fail if the explorer refuses the channel, and without a WebSocket', async () => {
    await start()
    const next = events().next()
    await subscribed(0)
    explorer.sockets[0]?.send('{"type":"error","error":"channel must be one of blocks","code":"x"}')
    expect(await failureOf(next)).toMatchObject({ code: 'HW_INVALID_ARGUMENT', status: 400 })
    vi.stubGlobal('WebSocket', undefined)
    const without = explorerClient(explorer.url).events('blocks').next()
    expect((await failureOf(without)).message).toMatch(/no global WebSocket: pass one/)
    vi.unstubAllGlobals()
  })

  it('wait for a slow consumer at the explorer, if they are many', async () => {
    await start()
    const abort = new AbortController()
    const feed = events({ blocks: 0, reorgs: 0 }, abort.signal)
    const first = feed.next()
    await subscribed(0)
    for (let seq = 1; seq <= 12_000; seq++) explorer.send('blocks', seq)
    const numbers = [(await first).value?.seq]
    await until('the connection is closed', () => explorer.sockets[0]?.readyState === WebSocket.CLOSED)
    expect(explorer.sockets).toHaveLength(1)
    const consumed = (async () => {
      for await (const { seq } of feed) numbers.push(seq)
    })()
    await subscribed(1)
    const since = Number(explorer.messages[1]?.[0]?.['since'])
    expect(since).toBeGreaterThan(10_000)
    expect(since).toBeLessThan(12_000)
    expect(numbers).toEqual(Array.from({ length: since }, (_, index) => index + 1))
    abort.abort()
    await consumed
  })
})
