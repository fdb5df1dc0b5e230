import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { expectSameRows } from '../harness/clean-index.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { freePort } from '../../services/ports.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'

const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 10)
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_121)

interface SimState {
  readonly height: number
  readonly hash: string
  readonly supply: string
  readonly utxoCount: number
  readonly balances?: Record<string, string>
  readonly pool: readonly string[]
}

/** A small generator, so that a failing round can be run again by its seed. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    let value = state
    value = Math.imul(value ^ (value >>> 16), 0x21f0aaad)
    value = Math.imul(value ^ (value >>> 15), 0x735a2d97)
    return ((value ^ (value >>> 15)) >>> 0) / 2 ** 32
  }
}

describe(`kill -9, ${String(ROUNDS)} rounds on a chain that reorganises`, () => {
  const next = random(SEED)
  const expected = new Map<string, { supply: string; utxoCount: number }>()
  const faults: string[] = []
  let folder = ''
  let nodeUrl = ''
  let explorerUrl = ''
  let engineUrl = ''
  let reads = 0
  let stopped = false
  let reading: Promise<void> | undefined
  const service: Record<string, ServiceProcess> = {}

  const control = async (path: string, method = 'POST'): Promise<SimState> => {
    const answer = await fetch(`${nodeUrl}/control/${path}`, { method })
    return (await answer.json()) as SimState
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-crash-'))
    const [nodePort, enginePort, explorerPort] = [await freePort(), await freePort(), await freePort()]
    nodeUrl = `http://127.0.0.1:${String(nodePort)}`
    engineUrl = `http://127.0.0.1:${String(enginePort)}`
    explorerUrl = `http://127.0.0.1:${String(explorerPort)}`
    const env = {
      DATA_DIR: folder,
      NODE_RPC_URL: nodeUrl,
      CLICKHOUSE_URL: engineUrl,
      EXPLORER_PORT: String(explorerPort),
      EXPLORER_GRPC_PORT: '0',
      RATE_LIMIT_PER_MINUTE: '0',
      POLL_INTERVAL_MS: '50',
      FINALITY_DEPTH: '12',
      LOG_LEVEL: 'warn',
    }
    const add = (name: string, args: string[] = []): ServiceProcess =>
      (service[name] = new ServiceProcess(name, env, join(folder, `${name}.log`), args))
    add('simnode', [
      '--port',
      String(nodePort),
      '--blocks',
      '60',
      '--txs-per-block',
      '6',
      '--block-interval-ms',
      '0',
      '--seed',
      String(SEED),
    ]).start()
    add('engine', ['--http-port', String(enginePort)]).start()
    await until('the node answers', async () => (await fetch(`${nodeUrl}/control/state`)).ok)
    await until('the engine answers', async () => (await fetch(`${engineUrl}/ping`)).ok)
    for (const name of ['poller', 'materializer', 'explorer']) add(name).start()
    reading = read()
  })

  afterAll(async () => {
    stopped = true
    await reading
    // An engine whose holder is killed goes on writing for a moment.
    for (const each of Object.values(service).reverse())
      await each.kill(each.name === 'engine' ? 'SIGTERM' : 'SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  })

  /** A reader that never pauses: each answer is of one whole state that the node has really been in. */
  async function read(): Promise<void> {
    while (!stopped) {
      const answer = await getAnswer(`${explorerUrl}/api/v1/stats/supply`).catch(() => undefined)
      if (answer?.status !== 200) {
        await sleep(20)
        continue
      }
      reads++
      const figures = expected.get(answer.tip)
      if (figures === undefined) continue
      if (answer.body.circulatingSupply !== figures.supply || answer.body.utxoCount !== figures.utxoCount)
        faults.push(
          `${answer.tip} at ${String(answer.height)}: ${JSON.stringify(answer.body)}, not ${JSON.stringify(figures)}`,
        )
    }
  }

  async function note(): Promise<SimState> {
    const state = await control('state', 'GET')
    expected.set(state.hash, { supply: state.supply, utxoCount: state.utxoCount })
    return state
  }

  /** A few blocks, sometimes a reorganisation, the pool moving: what goes on while a process dies. */
  async function live(): Promise<void> {
    for (let step = 0; step < 4; step++) {
      await control(`pool?enter=${String(3 + Math.floor(next() * 5))}&replace=1`)
      if (next() < 0.35) await control(`reorg?depth=${String(1 + Math.floor(next() * 14))}`)
      else await control(`mine?blocks=${String(1 + Math.floor(next() * 3))}`)
      await note()
      await sleep(next() * 120)
    }
  }

  const VICTIMS = ['poller', 'materializer', 'engine', 'explorer', 'between'] as const

  async function strike(victim: (typeof VICTIMS)[number]): Promise<void> {
    const target = service[victim === 'between' ? 'materializer' : victim]
    if (target === undefined) throw new Error(`no such process: ${victim}`)
    if (victim === 'between') {
      await target.kill()
      target.args = ['--crash-before-head', '1']
      target.start()
      await control('mine?blocks=1')
      await until('it dies between its rows and its head', () => !target.alive)
      target.args = []
    } else {
      await sleep(next() * 150)
      await target.kill()
      await sleep(next() * 150)
    }
    target.start()
  }

  async function settle(): Promise<SimState> {
    const state = await note()
    await until(`the explorer is at ${state.hash}`, async () => {
      const answer = await getAnswer(`${explorerUrl}/api/v1/mempool/summary`)
      return answer.status === 200 && answer.tip === state.hash && answer.body.txCount === state.pool.length
    })
    return state
  }

  for (let round = 1; round <= ROUNDS; round++) {
    it(`round ${String(round)} of seed ${String(SEED)}`, { timeout: 90_000 }, async () => {
      const victim = VICTIMS[(round - 1) % VICTIMS.length] ?? 'poller'
      await Promise.all([live(), strike(victim)])
      const state = await settle()
      const supply = await getAnswer(`${explorerUrl}/api/v1/stats/supply`)
      expect(supply.body, victim).toMatchObject({
        circulatingSupply: state.supply,
        utxoCount: state.utxoCount,
      })
      expect(faults, victim).toEqual([])
    })
  }

  it('shows the same rows as a clean index of the chain as it is', { timeout: 120_000 }, async () => {
    const state = await settle()
    await service['poller']?.kill('SIGTERM')
    await service['materializer']?.kill('SIGTERM')
    const clean = await Pipeline.start({ nodeUrl, engineUrl, finalityDepth: 12 })
    const crashed = new Database({ url: engineUrl, database: 'headwater' })
    try {
      await clean.level({ tip: state.hash })
      await expectSameRows(crashed, clean.db)
    } finally {
      await clean.close()
      await crashed.close()
    }
    expect(reads).toBeGreaterThan(ROUNDS * 10)
  })
})
