import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { type Explorer, startExplorer } from '../../services/explorer/host/explorer.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { type Answer, getAnswer, Pipeline } from '../harness/pipeline.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const REORGS = Number(process.env['CACHED_ANSWERS_REORGS'] ?? 1)
const FINALITY = 20
/** Every fifth reorganisation goes below the final height. */
const depthOf = (round: number): number => (round % 5 === 4 ? FINALITY + 4 : 1 + (round % 5))
/** The blocks below the tip whose objects are read. */
const BLOCKS_READ = IS_WHOLE ? 3 : 2
const MAX_ADDRESSES = IS_WHOLE ? 10 : 4
const READERS = 2
/** Without pauses the readers would use most of the time of the processors. */
const READ_EVERY_MS = IS_WHOLE ? 10 : 40
/** Comparing with an explorer that has nothing in memory takes most of the time: the last of each four rounds, also after deep reorganisations. */
const isCompared = (round: number): boolean => (REORGS - 1 - round) % 4 === 0

/** Answers that depend on the tip, or on the mempool as a whole. */
const LISTS = [
  '/blocks',
  '/blocks?page=2&limit=5',
  '/blocks/tip',
  '/txs/recent?limit=50',
  '/stats/supply',
  '/stats/richlist',
  '/stats/dilithium',
  '/op-returns',
  '/mempool/summary',
  '/mempool/txs?limit=100',
  '/mining/pools',
  '/mining/difficulty?limit=50',
  '/whale-alerts?minValue=1',
  '/search?q=30',
]
/** Reads whose answers depend on the chain alone: they are compared at every moment. */
const OF_CHAIN = /^\/(block|txs|stats|op-returns|mining)|\/utxos$/

const textOf = ({ status, body }: Answer): string => `${String(status)} ${JSON.stringify(body)}`
const digestOf = (answer: Answer): string => createHash('sha256').update(textOf(answer)).digest('base64')

// Thousands of reads for each reorganisation take ten times as long beside eight busy loops.
describe('answers from memory', { timeout: 30 * 60_000 }, () => {
  let node: Simnode | undefined
  let pipeline: Pipeline | undefined
  let clean: Pipeline | undefined

  afterEach(async () => {
    await clean?.close()
    await pipeline?.close()
    await node?.close()
  })

  /** Returns the paths of the newest blocks, of their transactions and addresses, and of the transactions that these spend. */
  async function pathsOfTop(from: Pipeline): Promise<string[]> {
    const { height } = await from.get('/blocks/tip')
    const paths = new Set<string>()
    const addresses = new Set<string>()
    for (let at = height; at > height - BLOCKS_READ; at--) {
      const { body: block } = await from.get(`/block/${String(at)}`)
      for (const which of [String(at), String(block.hash)])
        for (const suffix of ['', '/txs', '/txs?witness=true&limit=2']) paths.add(`/block/${which}${suffix}`)
      paths.add(`/search?q=${String(block.hash)}`)
      for (const tx of (await from.get(`/block/${String(at)}/txs?limit=100`)).body.items) {
        paths.add(`/tx/${String(tx.txid)}`)
        paths.add(`/op-return/${String(tx.txid)}`)
        for (const { prev_txid } of tx.inputs) if (prev_txid !== null) paths.add(`/tx/${String(prev_txid)}`)
        for (const { addresses: paid } of tx.outputs) for (const { address } of paid) addresses.add(address)
        for (const { address } of tx.inputs) if (address !== null) addresses.add(address)
      }
    }
    for (const { txid } of (await from.get('/mempool/txs?limit=100')).body.items)
      paths.add(`/tx/${String(txid)}`).add(`/search?q=${String(txid)}`)
    for (const address of [...addresses].slice(0, MAX_ADDRESSES))
      for (const path of [`/address/${address}`, `/address/${address}/txs`, `/address/${address}/utxos`])
        paths.add(path)
    return [...paths]
  }

  async function readAll(url: string, paths: readonly string[]): Promise<Map<string, Answer>> {
    const left = [...paths]
    const answers = new Map<string, Answer>()
    const worker = async (): Promise<void> => {
      for (let path = left.pop(); path !== undefined; path = left.pop()) {
        const read = `${url}/api/v1${path}`
        // On a machine with more work than it can do, an answer may exceed its deadline.
        const inTime = async () => {
          const answer = await getAnswer(read)
          return answer.status !== 503 && answer
        }
        answers.set(path, await until(`${read} is answered`, inTime))
      }
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    return answers
  }

  /** Starts an explorer of the same tables and log, whose memory is empty. */
  async function freshExplorer({ db, log }: Pipeline): Promise<Explorer> {
    return startExplorer({
      host: '127.0.0.1',
      port: 0,
      db,
      log,
      logger: pino({ level: 'silent' }),
      rateLimitPerMinute: 0,
      answerDeadlineMs: PATIENT_DEADLINE_MS,
      auditEveryMs: 0,
    })
  }

  async function metric(url: string, series: string): Promise<number> {
    const text = await (await fetch(`${url}/metrics`)).text()
    const line = text.split('\n').find((each) => each.startsWith(`${series} `))
    return Number(line?.slice(series.length + 1))
  }

  it('are those of a clean index through reorganisations', async () => {
    const sim = await startSimnode({ seed: 'cached', blocks: 60, txsPerBlock: 4 })
    node = sim
    const followed = await Pipeline.start({
      nodeUrl: sim.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0 },
    })
    pipeline = followed
    const level = (on: Pipeline): Promise<void> =>
      on.level({ tip: sim.chain.tip.hash, mempoolSize: sim.simulation.mempool.size })
    await level(followed)

    const expected = new Map<string, string>()
    /** The digests of the answers that were received for a tip and path. */
    const received = new Map<string, Set<string>>()
    let readDuring = 0
    let paths: readonly string[] = LISTS
    let isOver = false
    /** Reads all the time, each path twice in a row, so that it is found in memory. */
    async function read(start: number): Promise<void> {
      for (let at = start; !isOver; at++) {
        if (at % 2 === 0) await sleep(READ_EVERY_MS)
        const path = paths[Math.floor(at / 2) % paths.length] ?? ''
        const answer = await getAnswer(`${followed.url}/api/v1${path}`)
        if (!OF_CHAIN.test(path)) continue
        const key = `${answer.tip} ${path}`
        received.set(key, (received.get(key) ?? new Set()).add(digestOf(answer)))
        readDuring++
      }
    }
    const readers = Array.from({ length: READERS }, (_, index) => read(index * 17))

    try {
      for (let round = 0; round < REORGS; round++) {
        paths = [...LISTS, ...(await pathsOfTop(followed))]
        await readAll(followed.url, paths)
        // A change of the mempool alone, then the reorganisation, then whatever has become new.
        sim.simulation.enter(3)
        if (round % 3 === 0) sim.simulation.replace(1)
        await level(followed)
        await readAll(followed.url, paths)
        sim.simulation.reorg(depthOf(round))
        await level(followed)
        if (!isCompared(round)) continue
        paths = [...new Set([...paths, ...(await pathsOfTop(followed))])]
        const fresh = await freshExplorer(followed)
        try {
          const list = async (url: string): Promise<string> => {
            const answer = await getAnswer(`${url}/api/v1/mempool/txs?limit=100`)
            return `${answer.tip} ${textOf(answer)}`
          }
          await until('both explorers have the same mempool', async () => {
            const [ours, theirs] = [await list(followed.url), await list(fresh.url)]
            return ours === theirs
          })
          const right = await readAll(fresh.url, paths)
          const shown = await readAll(followed.url, paths)
          for (const [path, answer] of right) {
            expect(textOf(shown.get(path) as Answer), `${path} after reorganisation ${String(round)}`).toBe(
              textOf(answer),
            )
            if (OF_CHAIN.test(path)) expected.set(`${answer.tip} ${path}`, digestOf(answer))
          }
        } finally {
          await fresh.close()
        }
      }
    } finally {
      isOver = true
      await Promise.all(readers)
    }

    const compared = [...received].filter(([key]) => expected.has(key))
    expect(compared.length).toBeGreaterThan(REORGS / 2)
    expect(readDuring).toBeGreaterThan(compared.length)
    const isWrong = ([key, digests]: [string, Set<string>]): boolean =>
      [...digests].some((digest) => digest !== expected.get(key))
    expect(compared.filter(isWrong).slice(0, 3)).toEqual([])
    // Otherwise the comparison would be one of the tables.
    expect(await metric(followed.url, 'headwater_api_cache_requests_total{result="hit"}')).toBeGreaterThan(
      REORGS,
    )

    clean = await Pipeline.start({
      nodeUrl: sim.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
    })
    await level(clean)
    // A clean index knows neither replaced blocks nor when transactions were first seen.
    const isKnown = (path: string): boolean => OF_CHAIN.test(path) && !/^\/block\/[0-9a-f]{64}/.test(path)
    const known = paths.filter(isKnown)
    const [right, shown] = [await readAll(clean.url, known), await readAll(followed.url, known)]
    for (const [path, answer] of right) expect(textOf(shown.get(path) as Answer), path).toBe(textOf(answer))
  })

  it('stay while blocks arrive that do not touch them', async () => {
    const sim = await startSimnode({ seed: 'untouched', blocks: 40, txsPerBlock: 4 })
    node = sim
    const followed = await Pipeline.start({
      nodeUrl: sim.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0 },
    })
    pipeline = followed
    await followed.level({ tip: sim.chain.tip.hash })
    const hash = String((await followed.get('/block/11')).body.hash)
    const paths = ['/block/10', `/block/${hash}`]
    await readAll(followed.url, paths)
    const misses = 'headwater_api_cache_requests_total{result="miss"}'
    for (let block = 0; block < 3; block++) {
      sim.simulation.mine({ txs: 3 })
      await followed.level({ tip: sim.chain.tip.hash })
      const before = await metric(followed.url, misses)
      const answers = await readAll(followed.url, paths)
      expect(await metric(followed.url, misses)).toBe(before)
      for (const { tip } of answers.values()) expect(tip).toBe(sim.chain.tip.hash)
    }
  })
})
