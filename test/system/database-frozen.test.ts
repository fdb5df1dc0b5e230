import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Engine, startEngine } from '../../services/engine/engine.js'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { getAnswer } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { Patience } from '../harness/starvation.js'

/** FROZEN_SECONDS=60 for a longer test. */
const FROZEN_MS = Number(process.env['FROZEN_SECONDS'] ?? 10) * 1_000
const CLIENTS = 20
/** Shorter than the default: it must be the operator's. */
const DEADLINE_MS = 3_000

/** The real processes beside a database that accepts connections and does not answer, while the chain grows. */
describe('a database that freezes', () => {
  const services: ServiceProcess[] = []
  let folder = ''
  let engine: Engine
  let node: Simnode
  let url = ''

  const get = (path: string) => getAnswer(`${url}${path}`)
  const shows = (height: number) =>
    until(`the explorer shows ${String(height)}`, async () => {
      const { body } = await get('/api/v1/stats/summary')
      return body.tipHeight === height && body.tipMatch === true && body.indexerStatus === 'live'
    })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-frozen-'))
    engine = await startEngine({ dataDir: join(folder, 'engine'), memoryBytes: 1024 ** 3 })
    node = await startSimnode({ seed: 'frozen', blocks: 50 })
    const port = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    const env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: engine.url,
      EXPLORER_PORT: String(port),
      EXPLORER_GRPC_PORT: '0',
      ANSWER_DEADLINE_MS: String(DEADLINE_MS),
      POLL_INTERVAL_MS: '200',
      RATE_LIMIT_PER_MINUTE: '0',
    }
    for (const name of ['explorer', 'materializer', 'poller'])
      services.push(new ServiceProcess(name, env, join(folder, `${name}.log`)).start())
    await until('the explorer answers', async () => (await fetch(`${url}/health`)).ok)
    await shows(50)
  })

  afterAll(async () => {
    process.kill(engine.pid, 'SIGCONT')
    for (const service of services) await service.kill()
    await engine.stop()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  it(
    'leads to 503 within ANSWER_DEADLINE_MS for every read that needs it, and everything is live within five seconds of its return',
    async () => {
      const patience = new Patience()
      const seen = new Set<number>()
      let worstMs = 0
      let isOver = false
      const client = async (own: number): Promise<void> => {
        for (let count = 0; !isOver; count++) {
          const began = performance.now()
          const { status } = await get(`/api/v1/tx/${(own * 1e6 + count).toString(16).padStart(64, '0')}`)
          worstMs = Math.max(worstMs, performance.now() - began)
          seen.add(status)
          await sleep(20)
        }
      }
      const clients = Array.from({ length: CLIENTS }, (_, own) => client(own))
      await until('they are answered', () => seen.size > 0)
      expect([...seen]).toEqual([404])
      process.kill(engine.pid, 'SIGSTOP')
      await until('health says it', async () => (await get('/health')).status === 503)
      for (let block = 0; block < 5; block++) {
        node.chain.mine()
        await sleep(FROZEN_MS / 5)
      }
      expect(await get('/health')).toMatchObject({
        status: 503,
        body: { status: 'degraded', database: 'disconnected', error: 'Database unavailable' },
      })
      expect(await get('/api/v1/node/health')).toMatchObject({ status: 200 })
      expect([...seen].sort()).toEqual([404, 503])
      const worstFrozenMs = worstMs
      process.kill(engine.pid, 'SIGCONT')
      const began = performance.now()
      await shows(55)
      await until(
        'a transaction is answered',
        async () => (await get(`/api/v1/tx/${'ef'.repeat(32)}`)).status === 404,
      )
      const backMs = performance.now() - began
      isOver = true
      await Promise.all(clients)
      console.info(
        `frozen: worst answer ${worstFrozenMs.toFixed(0)} ms, all live after ${backMs.toFixed(0)} ms`,
      )
      expect((await get('/health')).status).toBe(200)
      expect(worstFrozenMs).toBeLessThan(patience.atMost(DEADLINE_MS + 500))
      expect(backMs).toBeLessThan(patience.atMost(5_000))
    },
    FROZEN_MS + 90_000,
  )
})
