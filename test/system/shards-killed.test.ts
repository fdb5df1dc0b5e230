import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { describe, expect, inject, it } from 'vitest'
import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { DatabaseUnavailable } from '../../pipelines/tables/clickhouse.js'
import { startSimnode } from '../../services/simnode/node.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { applySharded, Shards } from '../harness/shards.js'
import { until } from '../harness/until.js'
import { pathsOfReads } from '../services/explorer/read-paths.js'

/** The time for which engines are killed; the test does not run in CI. */
const SECONDS = Number(process.env['SHARDS_KILLED_SECONDS'] ?? 0)
const SHARDS = 4
const EVERY_MS = 20_000
const DOWN_MS = 8_000
const BLOCKS = 120
const DEPTH = 12
/** At least so many states are compared. */
const MIN_STATES = 5

describe.skipIf(SECONDS === 0)('four shards, of which one after the other is killed', () => {
  it(
    'never answer wrong, are unavailable at most, and are right afterwards',
    async () => {
      const shards = await Shards.start(SHARDS)
      const node = await startSimnode({ seed: 'killed', blocks: BLOCKS, txsPerBlock: 5, blockIntervalMs: 0 })
      const common = { nodeUrl: node.url, finalityDepth: DEPTH, rankingTail: 200, listTail: 60 }
      const one = await Pipeline.start({ ...common, engineUrl: inject('engineUrl') })
      const four = await Pipeline.start({ ...common, engineUrl: shards.urlFrom(), prepare: applySharded })
      const order = async (action: string): Promise<{ hash: string }> =>
        (await (await fetch(`${new URL(node.url).origin}/control/${action}`, { method: 'POST' })).json()) as {
          hash: string
        }
      try {
        for (const each of [one, four]) await each.level()
        const reads = (await pathsOfReads((path) => one.get(path), BLOCKS)).filter(
          ({ read }) => read.fresh === 'head' || read.fresh === 'objects',
        )
        expect(reads.length).toBeGreaterThan(20)
        /** Answers of the index on one engine, by tip and path. */
        const expected = new Map<string, string>()
        /** The different answers of the index on shards, by tip and path. */
        const received = new Map<string, Set<string>>()
        const counts = { whileDown: 0, statuses: new Map<number, number>() }
        /** The states that were read. */
        const tips = new Set<string>()
        let isOver = false
        let isDown = false

        const reading = async (): Promise<void> => {
          while (!isOver)
            for (const { path } of reads) {
              const { status, tip, body } = await getAnswer(`${four.url}/api/v1${path}`)
              counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1)
              if (status === 503) continue
              if (isDown && status === 200) counts.whileDown++
              tips.add(tip)
              const answers = received.get(`${tip} ${path}`) ?? new Set()
              received.set(`${tip} ${path}`, answers.add(JSON.stringify({ status, body })))
            }
        }
        const noteExpected = async (): Promise<void> => {
          for (const { path } of reads) {
            const { status, tip, body } = await one.get(path)
            expected.set(`${tip} ${path}`, JSON.stringify({ status, body }))
          }
        }
        const indexing = async (): Promise<void> => {
          for (let step = 1; !isOver; step++) {
            const { hash } = await order(step % 5 === 0 ? 'reorg?depth=3' : 'mine?blocks=1')
            await one.level({ tip: hash })
            await noteExpected()
            await four.poll()
            // What a killed shard has is written when it is back.
            await four.materialize().catch((error: unknown) => {
              if (!(error instanceof DatabaseUnavailable)) throw error
              return sleep(200)
            })
          }
        }
        const killing = async (): Promise<number> => {
          const end = performance.now() + SECONDS * 1000
          let kills = 0
          // A starved machine kills fewer, but each at least once, and must not compare only the first states.
          const isDone = (): boolean => performance.now() > end && kills >= SHARDS && tips.size > MIN_STATES
          for (; !isDone() && !isOver; kills++) {
            await shards.kill(kills % SHARDS)
            isDown = true
            await sleep(DOWN_MS)
            isDown = false
            await shards.restart(kills % SHARDS)
            await sleep(EVERY_MS - DOWN_MS)
          }
          return kills
        }
        await noteExpected()
        const loops = [killing(), indexing(), reading(), reading()] as const
        for (const loop of loops)
          void loop
            .catch(() => undefined)
            .then(() => {
              isOver = true
            })
        await Promise.allSettled(loops)
        const [kills] = await Promise.all(loops)
        const compared = [...received].filter(([key]) => expected.has(key))
        const wrong = compared.flatMap(([key, answers]) =>
          [...answers]
            .filter((answer) => answer !== expected.get(key))
            .map((answer) => ({ key, answer, expected: expected.get(key) })),
        )
        console.log(
          `${String(kills)} engines killed, ${String(shards.exits)} exited by themselves; answers by status: ${JSON.stringify([...counts.statuses])}, ${String(counts.whileDown)} of them 200 while an engine was down; ${String(compared.length)} of ${String(received.size)} different ones compared, of ${String(tips.size)} states`,
        )
        expect(wrong.slice(0, 3)).toEqual([])
        expect(kills).toBeGreaterThanOrEqual(SHARDS)
        expect(tips.size).toBeGreaterThan(MIN_STATES)
        expect(counts.whileDown).toBeGreaterThan(0)
        expect(received.size - compared.length).toBeLessThan(received.size / 10)
        expect([...counts.statuses.keys()].filter((status) => status >= 500 && status !== 503)).toEqual([])

        const { hash } = await order('mine?blocks=1')
        await one.level({ tip: hash })
        await until('the shards are level', async () => {
          await four.level({ tip: hash })
          return true
        })
        for (const { path } of reads) {
          const [ours, theirs] = [await four.get(path), await one.get(path)]
          expect({ path, status: ours.status, body: ours.body }).toEqual({
            path,
            status: theirs.status,
            body: theirs.body,
          })
        }
        const report = await audit(
          {
            db: four.db,
            log: four.log,
            node: new NodeClient(node.url, { timeoutMs: 10_000 }),
            logger: pino({ level: 'silent' }),
            signal: new AbortController().signal,
          },
          { sample: 50, seed: 'killed', checks: CHECKS },
        )
        expect(report.checks.flatMap(({ differences }) => differences)).toEqual([])
        expect(report.differences).toBe(0)
      } finally {
        await four.close()
        await one.close()
        await node.close()
        await shards.close()
      }
    },
    SECONDS * 10_000,
  )
})
