import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { createTables } from '../../pipelines/tables/schema-version.js'
import { type Engine, startEngine } from '../../services/engine/engine.js'
import { freePort } from '../../services/process/ports.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { readFrames, TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { Patience } from '../harness/starvation.js'

const CLIENTS = 20
const LOOK_MS = 10
/** FROZEN_SECONDS=60 for a longer test. */
const FROZEN_MS = Number(process.env['FROZEN_SECONDS'] ?? 8) * 1_000
const FRAME = 700
/** The product's default. */
const DEADLINE_MS = 5_000

/** Measures how long this process, in which the explorer runs too, could not run: other tests share the processors. */
class Stalls {
  totalMs = 0
  readonly #timer: NodeJS.Timeout

  constructor() {
    let last = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      this.totalMs += Math.max(0, now - last - 2 * LOOK_MS)
      last = now
    }, LOOK_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** Sends one request after another, and keeps the worst results. */
class Crowd {
  worstMs = 0
  readonly statuses = new Map<number, number>()
  #stopped = false
  readonly #stalls = new Stalls()
  readonly #clients: Promise<void>[] = []

  constructor(url: string) {
    for (let client = 0; client < CLIENTS; client++) this.#clients.push(this.#ask(url, client))
  }

  reset(): void {
    this.worstMs = 0
    this.statuses.clear()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#clients)
    this.#stalls.stop()
  }

  async #ask(url: string, client: number): Promise<void> {
    for (let count = 0; !this.#stopped; count++) {
      const hash = (client * 1_000_000 + count).toString(16).padStart(64, '0')
      const path = `/api/v1/tx/${hash}`
      const [began, stalledMs] = [performance.now(), this.#stalls.totalMs]
      const { status } = await getAnswer(`${url}${path}`)
      this.worstMs = Math.max(this.worstMs, performance.now() - began - (this.#stalls.totalMs - stalledMs))
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      // Clients that get their 503 at once must not take the processor from those that measure.
      await sleep(25)
    }
  }
}

describe('an explorer whose database freezes', () => {
  let folder: string
  let engine: Engine
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let crowd: Crowd | undefined
  let httpPort: number

  const start = () => startEngine({ dataDir: join(folder, 'engine'), memoryBytes: 1024 ** 3, httpPort })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    httpPort = await freePort()
    engine = await start()
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: engine.url,
      prepare: createTables,
      explorer: { answerDeadlineMs: DEADLINE_MS },
    })
    await pipeline.level({ tip: readFrames()[FRAME]?.chaininfo.bestblockhash ?? '' })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await engine.stop()
    await rm(folder, { recursive: true, force: true })
  })

  afterEach(async () => {
    try {
      process.kill(engine.pid, 'SIGCONT')
    } catch {
      // The server was killed, and not started again.
    }
    await crowd?.stop()
  })

  const health = () => getAnswer(`${pipeline.url}/health`)
  /** The node's next block or transaction, through the tables, as the explorer shows it. */
  const somethingNew = async (): Promise<void> => {
    const tip = readFrames()[node.step(1)]?.chaininfo.bestblockhash ?? ''
    await until('what is new is shown', async () => {
      await pipeline.level({ tip })
      return true
    })
  }
  const missing = () => getAnswer(`${pipeline.url}/api/v1/tx/${'ef'.repeat(32)}`)

  it(
    'lets no client wait for more than five seconds, then answers 503 at once, and recovers within five seconds',
    async () => {
      const patience = new Patience()
      const many = (crowd = new Crowd(pipeline.url))
      await until('all are answered', () => (many.statuses.get(404) ?? 0) > 500)
      expect([...many.statuses.keys()]).toEqual([404])
      many.reset()
      process.kill(engine.pid, 'SIGSTOP')
      const stoppedAt = performance.now()
      const reported = until('health reports it', async () => (await health()).status === 503)
      await sleep(FROZEN_MS - 1_000)
      await reported
      const waited = many.worstMs
      many.reset()
      expect((await health()).body).toMatchObject({ status: 'degraded', database: 'disconnected' })
      expect(await missing()).toMatchObject({ status: 503, body: { error: 'Database unavailable' } })
      const foot = await (await fetch(`${pipeline.url}/_explorer/condition`)).text()
      expect(foot).toContain('The database is unreachable.')
      await sleep(FROZEN_MS - (performance.now() - stoppedAt))
      const frozen = { worst: many.worstMs, statuses: [...many.statuses.keys()] }
      process.kill(engine.pid, 'SIGCONT')
      const cameBackAt = performance.now()
      await until('it answers', async () => (await missing()).status === 404)
      await until('health reports it', async () => (await health()).status === 200)
      await somethingNew()
      const recovery = performance.now() - cameBackAt
      await many.stop()
      console.info(
        `frozen: worst answer ${waited.toFixed(0)} ms, then ${frozen.worst.toFixed(0)} ms, back after ${recovery.toFixed(0)} ms`,
      )
      expect(waited).toBeLessThan(patience.atMost(DEADLINE_MS + 500))
      expect(frozen.worst).toBeLessThan(patience.atMost(1_000))
      expect(frozen.statuses).toEqual([503])
      expect(recovery).toBeLessThan(patience.atMost(5_000))
    },
    FROZEN_MS + 30_000,
  )

  it('waits for a server that responds to nothing for two seconds', async () => {
    const many = (crowd = new Crowd(pipeline.url))
    await until('all are answered', () => (many.statuses.get(404) ?? 0) > 100)
    process.kill(engine.pid, 'SIGSTOP')
    await sleep(2_000)
    expect((await health()).body).toMatchObject({ status: 'ok', database: 'connected' })
    process.kill(engine.pid, 'SIGCONT')
    const before = many.statuses.get(404) ?? 0
    await until('all are answered', () => (many.statuses.get(404) ?? 0) > before + CLIENTS)
    await many.stop()
    expect([...many.statuses.keys()]).toEqual([404])
  })

  it('does not take a busy server for an unreachable one', async () => {
    const other = new Database({ url: engine.url, database: 'default' })
    const heavy = Array.from({ length: 8 }, () =>
      other.query('SELECT sum(cityHash64(number)) FROM numbers(300000000)').catch(() => undefined),
    )
    const many = (crowd = new Crowd(pipeline.url))
    await Promise.all(heavy)
    await many.stop()
    await other.close()
    console.info(`busy: worst answer ${many.worstMs.toFixed(0)} ms, ${JSON.stringify([...many.statuses])}`)
    expect([...many.statuses.keys()]).toEqual([404])
  })

  it('answers 503 while the server is down, and recovers within five seconds after it is started again', async () => {
    const patience = new Patience()
    const many = (crowd = new Crowd(pipeline.url))
    await until('all are answered', () => (many.statuses.get(404) ?? 0) > 100)
    many.reset()
    process.kill(engine.pid, 'SIGKILL')
    await engine.exited
    await until('health reports it', async () => (await health()).status === 503)
    expect(await missing()).toMatchObject({ status: 503, body: { error: 'Database unavailable' } })
    const { worstMs } = many
    engine = await start()
    const cameBackAt = performance.now()
    await until('it answers', async () => (await missing()).status === 404)
    await somethingNew()
    const recovery = performance.now() - cameBackAt
    await many.stop()
    console.info(`killed: worst answer ${worstMs.toFixed(0)} ms, back after ${recovery.toFixed(0)} ms`)
    expect(worstMs).toBeLessThan(patience.atMost(1_000))
    expect(recovery).toBeLessThan(patience.atMost(5_000))
  })
})
