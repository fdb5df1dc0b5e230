import { pino } from 'pino'
import { expect, it } from 'vitest'
import { RetrievalService } from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { rpcClient } from '../../../services/rpc/client.js'
import { Code, type RpcError } from '../../../services/rpc/error.js'
import { rpcService } from '../../../services/rpc/handlers.js'
import { startRpcServer } from '../../../services/rpc/server.js'

/** Their responses are one and a half times as large as the memory that may be kept. */
const CALLS = 1_500
const AT_ONCE = 50
const BYTES = 250_000

it('1,500 calls that were cancelled while their responses were sent leave room and memory for others', async () => {
  const service = rpcService(RetrievalService, {
    search: () => ({}),
    passages: () => ({ passages: [{ id: 'x'.repeat(BYTES), similarity: 0.5 }] }),
    status: () => ({}),
  })
  const logger = pino({ level: 'silent' })
  const server = await startRpcServer({ host: '127.0.0.1', port: 0, services: [service], logger })
  const client = rpcClient(RetrievalService, `127.0.0.1:${String(server.port)}`)
  const before = process.memoryUsage().rss
  const outcomes = new Map<Code, number>()
  const cancelled = async (): Promise<void> => {
    const caller = new AbortController()
    const onHeaders = (): void => {
      caller.abort()
    }
    const status = await client.passages({}, { signal: caller.signal, onHeaders }).then(
      () => Code.OK,
      (error: unknown) => (error as RpcError).status,
    )
    outcomes.set(status, (outcomes.get(status) ?? 0) + 1)
  }
  for (let count = 0; count < CALLS; count += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, cancelled))
  const growth = process.memoryUsage().rss - before
  console.info(`${JSON.stringify([...outcomes])}, memory grew by ${(growth / 2 ** 20).toFixed(0)} MiB`)
  // Node closes a connection on which more than 1,000 streams are reset at once; the client connects again.
  expect(outcomes.get(Code.CANCELLED)).toBeGreaterThan(0.9 * CALLS)
  expect(outcomes.get(Code.RESOURCE_EXHAUSTED)).toBeUndefined()
  // The first call may still be sent on the connection that Node is closing.
  const lastLength = async (): Promise<number | undefined> =>
    (await client.passages({})).passages[0]?.id.length
  await expect.poll(lastLength, { timeout: 10_000 }).toBe(BYTES)
  expect(growth).toBeLessThan(256 * 2 ** 20)
  client.close()
  await server.close()
})
