import { create, toBinary } from '@bufbuild/protobuf'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { displayBytes } from '../../pipelines/chain/hash.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { BlockWriter } from '../../pipelines/materialize/apply/block-writer.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { prepareTarget } from '../../pipelines/materialize/rebuild/replacement.js'
import { Successor } from '../../pipelines/materialize/rebuild/successor.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { type Head, headsAfter, latestHead } from '../../pipelines/tables/head.js'
import { noteServing, notesOf, servingDatabase } from '../../pipelines/tables/serving.js'
import { announcedRankings } from '../../pipelines/tables/lists/ranking.js'
import { balanceFloor } from '../../pipelines/tables/lists/balance-floor.js'
import { RankingBuilder } from '../../pipelines/materialize/lists/ranking-builder.js'
import { claimWriting, newestWriter, Superseded } from '../../pipelines/tables/writers.js'
import { CommittedEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../harness/clean-index.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { FeedClient } from '../services/explorer/feed-client.js'
import { IS_WHOLE } from '../harness/whole.js'

const logger = pino({ level: 'silent' })
const finalityDepth = 4
const quiet = (): void => undefined
const heartbeatOf = (nodeHash: string): Uint8Array => {
  const value = { heartbeat: { nodeHash: displayBytes(nodeHash) } }
  return toBinary(CommittedEventSchema, create(CommittedEventSchema, { event: { case: 'heartbeat', value } }))
}
const withoutWriter = (head: Head): Omit<Head, 'writer'> =>
  ({ ...head, writer: undefined }) as Omit<Head, 'writer'>

describe('a successor', () => {
  let folder: string
  let log: EventLog
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline
  let clean: Pipeline
  let db: Database
  let third: Database
  const made: string[] = []

  const named = (name: string): Database => {
    made.push(name)
    return pipeline.db.sibling(name)
  }
  const successor = (options: Partial<ConstructorParameters<typeof Successor>[0]> = {}): Successor =>
    new Successor({ db, old: pipeline.db, log, logger, progress: quiet, ...options })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-successor-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    // More than a batch: the first one is written without balances.
    chain = buildChain({ seed: 'successor', blocks: 1020 })
    node = await startSimnode({ chain })
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth }
    pipeline = await Pipeline.start({ ...options, log })
    await pipeline.level()
    await live()
    clean = await Pipeline.start(options)
    await clean.level()
    db = named(`${pipeline.name}_next`)
  })
  afterAll(async () => {
    await Promise.all([pipeline.close(), clean.close()])
    for (const name of made) await db.command(`DROP DATABASE IF EXISTS ${name} SYNC`).catch(quiet)
    await db.close()
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  function reorg(depth: number, length: number): void {
    const fork = forkAt(chain, chain.tip.height - depth)
    for (let block = 0; block < length; block++) fork.mine({})
    fork.activate()
  }

  /**
   * Heads of all kinds: single blocks, reorganisations, one below the final height, blocks that were connected and
   * disconnected unseen.
   */
  async function live(): Promise<void> {
    chain.mine({})
    await pipeline.level()
    for (const depth of [1, 3, 9]) {
      chain.mine({})
      await pipeline.level()
      reorg(depth, depth + 1)
      await pipeline.level()
    }
    for (let unseen = 0; unseen < 3; unseen++) {
      chain.mine({})
      await pipeline.poll()
      reorg(2, 3)
      await pipeline.poll()
    }
    await pipeline.level({ tip: chain.tip.hash })
  }

  async function expectLevel(): Promise<void> {
    await expectSameRows(db, clean.db)
    const [theirs, ours] = await Promise.all([headsAfter(pipeline.db, -1), headsAfter(db, -1)])
    expect(ours.length).toBeGreaterThan(10)
    expect(ours.at(-1)?.reached).toBe(true)
    expect(ours.map(withoutWriter)).toEqual(theirs.map(withoutWriter))
  }

  it('has the rows of a clean index and the heads of the first index; an interruption before the switch changes nothing', async () => {
    const stop = new Error('broken off')
    const stopping = (): void => {
      throw stop
    }
    const rewriting = vi.spyOn(BlockWriter.prototype, 'rewrite')
    await expect(successor({ beforeSwitch: stopping }).run()).rejects.toThrow(stop)
    expect(rewriting).not.toHaveBeenCalled()
    rewriting.mockRestore()
    await expectLevel()
    expect(await servingDatabase(pipeline.db)).toBe(pipeline.name)
  })

  it('continues from its newest head, and switches over in one step only if it shows what the first index shows', async () => {
    let calls = 0
    const seen: number[] = []
    const beforeSwitch = async (): Promise<void> => {
      if (++calls > 2) return
      chain.mine({})
      await pipeline.level({ tip: chain.tip.hash })
    }
    await prepareTarget(pipeline.db, db.name)
    const head = await successor({ beforeSwitch, progress: (height) => seen.push(height) }).run()
    await clean.level()
    expect(calls).toBe(3)
    expect(Math.min(...seen)).toBeGreaterThan(1010)
    expect(head).toMatchObject({ tipHash: chain.tip.hash, tipHeight: chain.tip.height })
    expect(await servingDatabase(pipeline.db)).toBe(db.name)
    await expectLevel()
  })

  it('has a rich list that no reorganisation above the final height removes', async () => {
    const head = await latestHead(db)
    const finalHeight = head?.finalHeight ?? -1
    const [ranking, ...others] = await announcedRankings(db)
    expect(others).toEqual([])
    expect(ranking?.height).toBeLessThanOrEqual(finalHeight)
    expect(await balanceFloor(db)).toBe(ranking?.height)
    // No other ranking is built meanwhile.
    const writer = await newestWriter(db)
    reorg(finalityDepth, finalityDepth + 1)
    await pipeline.poll()
    const materializer = new Materializer({ db, log, logger, finalityDepth })
    const building = vi.spyOn(RankingBuilder.prototype, 'consider').mockReturnValue(undefined)
    while (await materializer.step());
    await materializer.close()
    building.mockRestore()
    expect(await newestWriter(db)).toBeGreaterThan(writer)
    await clean.level({ tip: chain.tip.hash })
    await until('the explorer shows the new branch', async () => {
      return (await pipeline.get('/stats/summary')).tip === chain.tip.hash
    })
    const [theirs, ours] = await Promise.all([clean, pipeline].map((each) => each.get('/stats/richlist')))
    expect(ours).toMatchObject({ status: 200, body: theirs?.body as unknown })
  })

  it('stops the writes of the first index, whose explorer shows the successor', async () => {
    chain.mine({})
    await pipeline.poll()
    await expect(pipeline.materialize()).rejects.toThrow('0 of')
    const error = await pipeline.materialize().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Superseded)
    expect(error).toMatchObject({ successor: db.name })
    const materializer = new Materializer({ db, log, logger, finalityDepth })
    while (await materializer.step());
    await materializer.idle()
    await until('the explorer shows the new block', async () => {
      return (await pipeline.get('/stats/summary')).tip === chain.tip.hash
    })
    await clean.level()
    await expectSameRows(db, clean.db)
    const first = new Materializer({ db: pipeline.db, log, logger, finalityDepth })
    await expect(first.step()).rejects.toThrow(Superseded)
    await expect(claimWriting(pipeline.db, 1)).rejects.toThrow(Superseded)
  })

  it.runIf(IS_WHOLE)(
    'has a head that is written while an explorer switches over: the feed contains its events',
    async () => {
      third = named(`${pipeline.name}_third`)
      const last = await latestHead(db)
      await new Successor({ db: third, old: db, log, logger, progress: quiet }).run()
      const feed = await FeedClient.connect(pipeline.url, '/ws')
      await feed.subscribe('blocks')
      const materializer = new Materializer({ db: third, log, logger, finalityDepth })
      // It claims before the explorer reads: a claim after that would make the explorer read again.
      while (await materializer.step());
      chain.mine({})
      await pipeline.poll()
      const writes = vi.fn(async () => {
        while (await materializer.step());
      })
      // eslint-disable-next-line @typescript-eslint/unbound-method -- applied to the database below
      const { query } = Database.prototype
      const querying = vi.spyOn(Database.prototype, 'query').mockImplementation(async function (
        this: Database,
        ...statement
      ) {
        const rows = await query.apply(this, statement)
        if (this.name === third.name && statement[0].includes('FROM heads') && writes.mock.calls.length === 0)
          await writes()
        return rows
      })
      await log.append('committed', [heartbeatOf(chain.tip.hash)])
      await until('the explorer shows the new block', async () => {
        return (await pipeline.get('/stats/summary')).tip === chain.tip.hash
      })
      querying.mockRestore()
      expect(writes).toHaveBeenCalledOnce()
      chain.mine({})
      await pipeline.poll()
      while (await materializer.step());
      await materializer.close()
      const seqs = (await feed.events('blocks', 1)).map(({ seq }) => seq)
      expect(seqs[0]).toBe((last?.blocksBefore ?? 0) + (last?.connected.length ?? 0) + 1)
      await feed.close()
      await clean.level()
    },
  )

  it.runIf(IS_WHOLE)('is found even if the index before it was dropped', async () => {
    await noteServing(pipeline.db, db.name)
    made.push(notesOf(pipeline.name))
    await noteServing(pipeline.db, third.name)
    await db.command(`DROP DATABASE ${pipeline.name} SYNC`)
    await db.command(`DROP DATABASE ${db.name} SYNC`)
    expect(await servingDatabase(pipeline.db)).toBe(third.name)
    await expectSameRows(third, clean.db)
    await third.close()
  })
})
