import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Channel } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { RateLimit } from '../../../../../services/access/rate-limit.js'
import { State } from '../../../../../services/explorer/core/state/state.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { Token } from '../../../../../services/access/token.js'
import { Code } from '../../../../../services/rpc/error.js'
import { useDatabase } from '../../../../harness/engine.js'
import { until } from '../../../../harness/until.js'
import { type BareRpc, failureOf, startBareRpc } from './bare-rpc.js'

describe('a call that cannot be answered', () => {
  let bare: BareRpc | undefined
  afterEach(async () => {
    await bare?.close()
    bare = undefined
  })

  const start = async (...args: Parameters<typeof startBareRpc>): Promise<BareRpc['client']> =>
    (bare = await startBareRpc(...args)).client

  it('is UNAUTHENTICATED without the token, and UNAVAILABLE if the node is unreachable', async () => {
    const client = await start({ token: new Token('open sesame') })
    expect(await failureOf(client.nodeHealth({}))).toMatchObject({ status: Code.UNAUTHENTICATED })
    const wrong = client.nodeHealth({}, { metadata: { authorization: 'Bearer shut' } })
    expect(await failureOf(wrong)).toMatchObject({ status: Code.UNAUTHENTICATED })
    const right = client.nodeHealth({}, { metadata: { authorization: 'Bearer open sesame' } })
    expect(await failureOf(right)).toMatchObject({ status: Code.UNAVAILABLE, details: 'Node unavailable' })
  })

  it('is UNAVAILABLE before the chain was read', async () => {
    const client = await start({ state: new State() })
    expect(await failureOf(client.blocks({}))).toMatchObject({
      status: Code.UNAVAILABLE,
      details: 'Database unavailable',
    })
  })

  it('is UNAVAILABLE if it needs the database and that is unreachable', async () => {
    const client = await start({}, { supply: ({ tables }) => tables.query('SELECT 1') })
    const unavailable = { status: Code.UNAVAILABLE, details: 'Database unavailable' }
    expect(await failureOf(client.supply({}))).toMatchObject(unavailable)
  })

  it('is INTERNAL for an internal error, without details', async () => {
    const client = await start({}, { supply: () => Promise.reject(new TypeError('a secret')) })
    expect(await failureOf(client.supply({}))).toMatchObject({
      status: Code.INTERNAL,
      details: 'Internal error',
    })
  })

  it('is NOT_FOUND with the state that it describes', async () => {
    const client = await start()
    const call = client.label({ address: 'muBcxPrRdbzkvdX3aS7ovfiLgp6QB23rmo' })
    expect(await failureOf(call)).toMatchObject({
      status: Code.NOT_FOUND,
      details: 'Label not found',
      code: 'HW_NOT_FOUND',
      trailers: { code: 'HW_NOT_FOUND', 'x-chain-height': '-1', 'x-chain-tip': '' },
    })
  })

  it('is INVALID_ARGUMENT for an invalid height', async () => {
    const client = await start()
    const call = client.blocks({}, { metadata: { 'x-min-chain-height': '-2' } })
    expect(await failureOf(call)).toMatchObject({
      status: Code.INVALID_ARGUMENT,
      details: 'x-min-chain-height must be an integer from 0 to 9999999999',
    })
  })

  it('is RESOURCE_EXHAUSTED over the limit of its client, which proxies name', async () => {
    const client = await start({ limit: new RateLimit({ most: 2, trustedHops: 1 }) })
    const ask = (from: string) => client.supply({}, { metadata: { 'x-forwarded-for': from } })
    await ask('192.0.2.1')
    await ask('192.0.2.1')
    const refused = await failureOf(ask('192.0.2.1'))
    expect(refused).toMatchObject({ status: Code.RESOURCE_EXHAUSTED, details: 'Rate limit exceeded' })
    const { trailers } = refused as { trailers: Record<string, string> }
    expect(Number(trailers['retry-after-ms'])).toBeGreaterThan(50_000)
    await ask('192.0.2.2')
    await client.supply({})
    const subscription = client.subscribe(
      { channel: Channel.BLOCKS },
      { metadata: { 'x-forwarded-for': '192.0.2.1' } },
    )
    expect(await failureOf(subscription[Symbol.asyncIterator]().next())).toMatchObject({
      status: Code.RESOURCE_EXHAUSTED,
    })
  })
})

describe('a query behind a call', () => {
  const database = useDatabase()
  let available: AvailableDatabase
  let bare: BareRpc
  /** The reasons why the query of a tag was ended. */
  const reasons = new Map<string, string>()
  const LEFT = 'all clients of the answer have disconnected'

  beforeAll(async () => {
    available = new AvailableDatabase(database(), pino({ level: 'silent' }))
    await available.start()
    const resolve = async ({ tables }: { tables: Tables }, { q }: { q: string }) => {
      const sql = `SELECT sleepEachRow(0.2) AS slept, '${q}' AS tag FROM numbers(60) SETTINGS max_block_size = 1, max_threads = 1`
      await tables.query(sql).catch((error: unknown) => {
        reasons.set(q, (error as Error).message)
        throw error
      })
      return { type: 'block', value: '', query: q }
    }
    bare = await startBareRpc({ tables: new Tables(available) }, { search: resolve })
  })
  afterAll(async () => {
    await bare.close()
    available.close()
  })

  const running = async (tag: string): Promise<number> => {
    const sql = `SELECT count() AS count FROM system.processes WHERE position(query, concat('\\'', {tag:String}, '\\' AS tag')) > 0`
    const [row] = await database().query<{ count: string }>(sql, { tag })
    return Number(row?.count)
  }

  it('is cancelled on the server when its client has disconnected, if no other waits for it', async () => {
    const tag = randomBytes(8).toString('hex')
    const callers = [new AbortController(), new AbortController()]
    const calls = callers.map(({ signal }) => failureOf(bare.client.search({ q: tag }, { signal })))
    await until('it runs once for both', async () => (await running(tag)) === 1)
    callers[0]?.abort()
    expect(await calls[0]).toMatchObject({ status: Code.CANCELLED })
    expect(await running(tag)).toBe(1)
    callers[1]?.abort()
    expect(await calls[1]).toMatchObject({ status: Code.CANCELLED })
    await until('it no longer exists', async () => (await running(tag)) === 0)
    expect(reasons.get(tag)).toBe(LEFT)
    expect(available.running).toBe(0)
  })

  it("is cancelled on the server at its client's deadline", async () => {
    const tag = randomBytes(8).toString('hex')
    const call = failureOf(bare.client.search({ q: tag }, { timeoutMs: 1_500 }))
    await until('it runs', async () => (await running(tag)) === 1)
    expect(await call).toMatchObject({ status: Code.DEADLINE_EXCEEDED })
    await until('it no longer exists', async () => (await running(tag)) === 0)
    // It would take twelve seconds, and an answer has five.
    expect(reasons.get(tag)).toBe(LEFT)
    expect(available.running).toBe(0)
  })
})
