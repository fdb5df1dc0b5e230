import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { Channel } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import { State } from '../../../../../services/explorer/core/state/state.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { Code } from '../../../../../services/rpc/error.js'
import { getAnswer } from '../../../../harness/pipeline.js'
import { SOCKET_REQUEST, sendRaw, startBare } from '../../bare-server.js'
import { failureOf, startBareRpc } from '../../faces/grpc/bare-rpc.js'

describe('an explorer that has read neither head nor mempool', () => {
  const closing: (() => void | Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  /** The answers of REST and gRPC, and the code in the metrics. */
  async function failures(isReachable: boolean, state: State) {
    const db = {
      query: () => Promise.resolve([]),
      bytes: () => Promise.resolve(Buffer.alloc(0)),
      ping: () => Promise.resolve(isReachable),
    }
    const available = new AvailableDatabase(db, pino({ level: 'silent' }))
    await available.ping()
    const parts = { state, tables: new Tables(available) }
    const bare = await startBare({ ...parts, reads: READS })
    const rpc = await startBareRpc(parts)
    closing.push(
      () => bare.close(),
      () => rpc.close(),
    )
    const { status, body, headers } = await getAnswer(`${bare.url}/api/v1/blocks`)
    // A shared cache may not serve it after the reason has passed, and clients learn when to try again.
    expect(headers.get('cache-control')).toBe('no-store')
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    const socket = await sendRaw(bare.port, SOCKET_REQUEST, { answers: 1 })
    const call = (await failureOf(rpc.client.blocks({}))) as { status: Code; details: string }
    const { trailers } = call as { trailers?: Readonly<Record<string, string>> }
    const subscription = rpc.client.subscribe({ channel: Channel.BLOCKS })[Symbol.asyncIterator]()
    const subscribed = (await failureOf(subscription.next())) as { details: string }
    const metrics = await (await fetch(`${bare.url}/metrics`)).text()
    const counted = /_count\{route="\/api\/v1\/blocks",status="503",code="(\w+)"\} 1/.exec(metrics)?.[1]
    expect([call.status, call.details, subscribed.details]).toEqual([
      Code.UNAVAILABLE,
      body.error,
      body.error,
    ])
    expect(socket.text).toContain(`"error":"${String(body.error)}"`)
    return { status, body: body as unknown, counted, trailers }
  }

  it('is not ready if its database is available: it waits for the log', async () => {
    expect(await failures(true, new State())).toMatchObject({
      status: 503,
      body: { error: 'Not ready yet', code: 'HW_NOT_READY' },
      counted: 'HW_NOT_READY',
      trailers: { code: 'HW_NOT_READY', 'retry-after-ms': '1000' },
    })
  })

  it('reports the database first if that is unreachable, whatever else is missing', async () => {
    expect(await failures(false, new State())).toMatchObject({
      status: 503,
      body: { error: 'Database unavailable', code: 'HW_DATABASE_UNAVAILABLE' },
      counted: 'HW_DATABASE_UNAVAILABLE',
      trailers: { code: 'HW_DATABASE_UNAVAILABLE' },
    })
  })
})
