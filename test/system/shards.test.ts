import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { pino } from 'pino'
import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { Successor } from '../../pipelines/materialize/rebuild/successor.js'
import { prepareTarget } from '../../pipelines/materialize/rebuild/replacement.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { loadChainView } from '../../pipelines/tables/chain-view.js'
import { type Database, DatabaseUnavailable } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { announcedRankings, rankingParts } from '../../pipelines/tables/lists/ranking.js'
import { VISIBLE_TABLES, visibleRowsQuery } from '../../pipelines/tables/visible.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { SHARDED_BY } from '../harness/cluster-schema.js'
import { Pipeline } from '../harness/pipeline.js'
import { applySharded, rowsOfShards, Shards } from '../harness/shards.js'
import { until } from '../harness/until.js'
import { pathsOfReads } from '../services/explorer/read-paths.js'
import { IS_WHOLE } from '../harness/whole.js'

const BLOCKS = 110
const DEPTH = 12
/** The number of exits of an engine by itself (see `Shards`) from which the test fails. */
const MOST_EXITS = 3

/** Two engines as the shards of one cluster, and one engine: both index the same chain. */
describe('two shards', () => {
  let shards: Shards
  let node: Simnode
  let one: Pipeline
  let two: Pipeline

  beforeAll(async () => {
    shards = await Shards.start(2)
    node = await startSimnode({ seed: 'shards', blocks: BLOCKS, txsPerBlock: 5, blockIntervalMs: 0 })
    const common = { nodeUrl: node.url, finalityDepth: DEPTH, rankingTail: 200, listTail: 60 }
    one = await Pipeline.start({ ...common, engineUrl: inject('engineUrl') })
    two = await Pipeline.start({ ...common, engineUrl: shards.urlFrom(1), prepare: applySharded })
  })

  afterAll(async () => {
    await two.close()
    await one.close()
    await node.close()
    await shards.close()
  })

  it('index a chain as one engine does', async () => {
    await expectEqual(await order('pool?enter=10'), IS_WHOLE)
    for (const table of Object.keys(SHARDED_BY).filter((name) => !TEMPORARY.includes(name)))
      await until(`each shard has rows of ${table}`, async () => {
        // A list or ranking that could not be built is built at the next step.
        await two.materialize()
        return (await rowsOfShards(two.db, table)).every((rows) => rows > 0)
      })
    for (const table of ['heads', 'writers', 'blocks'])
      expect((await rowsOfShards(two.db, table))[0], table).toBe(0)
  })

  it('follow reorganisations, one of them below the final height', async () => {
    for (const depth of IS_WHOLE ? [3, DEPTH + 5] : [DEPTH + 5])
      await expectEqual(await order(`reorg?depth=${String(depth)}`))
    for (const rows of await rowsOfShards(two.db, 'replaced_witnesses')) expect(rows).toBeGreaterThan(0)
  })

  it.runIf(IS_WHOLE)(
    'continue after a restart of the materializer, which writes the last blocks again',
    async () => {
      two.restartMaterializer()
      await expectEqual(await order('mine?blocks=3'))
    },
  )

  it.runIf(IS_WHOLE)('drop rankings that were replaced, on all shards', async () => {
    const kept = (await announcedRankings(two.db)).length
    expect(kept).toBeGreaterThan(0)
    expect((await rankingParts(two.db, 'ranking_changes')).length).toBe(0)
  })

  it.runIf(IS_WHOLE)('pass the audit', async () => {
    const client = new NodeClient(node.url, { timeoutMs: 10_000 })
    const report = await audit(
      {
        db: two.db,
        log: two.log,
        node: client,
        logger: pino({ level: 'silent' }),
        signal: new AbortController().signal,
      },
      { sample: 20, seed: 'shards', checks: CHECKS },
    )
    expect(report.checks.flatMap(({ differences }) => differences)).toEqual([])
    expect(report.differences).toBe(0)
  })

  it.runIf(IS_WHOLE)('are built again into a second database', async () => {
    const db = two.db.sibling(`${two.name}_2`)
    try {
      await expect(prepareTarget(two.db, db.name)).rejects.toThrow('is distributed')
      await applySharded(db)
      await prepareTarget(two.db, db.name)
      const logger = pino({ level: 'silent' })
      await new Successor({ db, old: two.db, log: two.log, logger, progress: () => undefined }).run()
      expect(await visibleRows(db)).toEqual(await visibleRows(one.db))
    } finally {
      await db.close()
    }
    two.restartMaterializer()
  })

  async function order(action: string): Promise<State> {
    const answer = await fetch(`${new URL(node.url).origin}/control/${action}`, { method: 'POST' })
    expect(answer.status, action).toBe(200)
    return (await answer.json()) as State
  }

  /** Follows the node; then all rows and all answers are the same. Repeated if an engine exits by itself amid it. */
  async function expectEqual(state: State, comparesAnswers = true): Promise<void> {
    for (let exits = shards.exits; ; exits++) {
      try {
        await compare(state, comparesAnswers)
        return
      } catch (error) {
        const isExit = error instanceof DatabaseUnavailable || shards.exits > exits
        if (!isExit || exits >= MOST_EXITS) throw error
        await until('the engine has exited', () => shards.exits > exits, 60_000)
        await until('all engines answer', async () => (await rowsOfShards(two.db, 'heads')).length === 2)
        two.restartMaterializer()
      }
    }
  }

  async function compare({ hash: tip, pool }: State, comparesAnswers: boolean): Promise<void> {
    for (const each of [one, two]) await each.level({ tip, mempoolSize: pool.length })
    expect(await visibleRows(two.db)).toEqual(await visibleRows(one.db))
    if (!comparesAnswers) return
    const paths = await pathsOfReads(
      (path) => one.get(path),
      BLOCKS,
      IS_WHOLE ? undefined : { answered: 1, refused: 1 },
    )
    expect(paths.length).toBeGreaterThan(30)
    for (const { read, path } of paths) {
      if (read.fresh === 'live' || read.fresh === 'outside') continue
      const [ours, theirs] = [await two.get(path), await one.get(path)]
      expect({ path, status: ours.status, body: ours.body, tip: ours.tip }).toEqual({
        path,
        status: theirs.status,
        body: theirs.body,
        tip: theirs.tip,
      })
    }
  }
})

interface State {
  readonly hash: string
  readonly pool: readonly string[]
}

/** Tables that have rows only while a ranking is built, or after a reorganisation. */
const TEMPORARY = ['ranking_changes', 'ranking_order', 'replaced_witnesses']

/** Returns the number of the visible rows of each table, and the sum of their hashes. */
async function visibleRows(db: Database): Promise<Record<string, unknown>> {
  const head = await latestHead(db)
  if (head === undefined) throw new Error(`${db.name} has no head`)
  const view = await loadChainView(db, head)
  const found: Record<string, unknown> = {}
  for (const table of VISIBLE_TABLES) {
    if (table === 'script_balances') continue
    const sql = `SELECT count() AS rows, sum(sipHash64(*)) AS hash FROM (${visibleRowsQuery(table, view, db.name)})`
    found[table] = (await db.query(sql))[0]
  }
  return found
}
