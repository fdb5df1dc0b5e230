import { describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain } from '../../services/simnode/chain/sim-chain.js'
import { prepareTarget } from '../../pipelines/materialize/rebuild/replacement.js'
import { Successor } from '../../pipelines/materialize/rebuild/successor.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { createTables } from '../../pipelines/tables/schema-version.js'
import { dropDatabase, newDatabase, useDatabase, useEngine } from '../harness/engine.js'
import { Pipeline } from '../harness/pipeline.js'
import {
  onOneServer,
  replicatedSql,
  SHARDED_BY,
  shardedSql,
  statementsOf,
  tablesOf,
} from '../harness/cluster-schema.js'
import { text } from './tools.js'

const FILES = ['cluster', 'sharded'] as const

describe('the schema of a cluster', () => {
  const db = useDatabase()

  it('is generated from schema.sql', async () => {
    const tables = await tablesOf(db())
    expect(tables.length).toBeGreaterThan(15)
    expect(Object.keys(SHARDED_BY).filter((name) => !tables.some((each) => each.name === name))).toEqual([])
    await expect(await replicatedSql(tables)).toMatchFileSnapshot('../../deploy/clickhouse/cluster.sql')
    await expect(await shardedSql(tables)).toMatchFileSnapshot('../../deploy/clickhouse/sharded.sql')
  })

  it.each(FILES)('is accepted by the parser of ClickHouse: %s.sql', async (file) => {
    const statements = statementsOf(text(`deploy/clickhouse/${file}.sql`))
    expect(statements.length).toBeGreaterThan(15)
    for (const statement of statements) await db().command(`EXPLAIN AST ${statement}`)
    await expect(db().command(`EXPLAIN AST ${statements[1]!} WRONG`)).rejects.toThrow(/Syntax error/)
  })

  it('replicates every table, and has no engine that cannot replicate', () => {
    for (const file of FILES) {
      const creates = statementsOf(text(`deploy/clickhouse/${file}.sql`)).filter((each) =>
        each.startsWith('CREATE TABLE'),
      )
      for (const each of creates) {
        expect(each).toMatch(/ON CLUSTER '\{cluster\}'/)
        expect(each).toMatch(/ENGINE = (ReplicatedReplacingMergeTree|Distributed)\(/)
      }
    }
  })

  it('leaves nothing for the processes to create', async () => {
    const other = await newDatabase()
    try {
      await apply(other)
      const before = await tablesOf(other)
      await createTables(other)
      expect(await tablesOf(other)).toEqual(before)
    } finally {
      await dropDatabase(other)
    }
  })

  // A point table is here an engine without upsert by key: a row that is written twice exists twice until it is
  // merged.
  it('returns the same answers as the embedded schema, even after every row is written twice', async () => {
    const chain = buildChain({ seed: 'cluster', blocks: 40 })
    const node = await startSimnode({ chain })
    const usual = await Pipeline.start({ nodeUrl: node.url, engineUrl: useEngine() })
    const clustered = await Pipeline.start({ nodeUrl: node.url, engineUrl: useEngine(), prepare: apply })
    try {
      for (const each of [usual, clustered]) {
        await each.level()
        // A new materializer writes the last 50 blocks again, which here are all.
        each.restartMaterializer()
        chain.mine({})
        await each.level()
      }
      const [copies] = await clustered.db.query<{ rows: string; keys: string }>(
        'SELECT count() AS rows, uniqExact(txid) AS keys FROM txs',
      )
      expect(Number(copies?.rows)).toBeGreaterThan(Number(copies?.keys))
      const paths = await pathsOf(usual)
      expect(paths.length).toBeGreaterThan(20)
      // Both, because an indexer counts as stalled a while after its last heartbeat.
      await Promise.all([usual.level(), clustered.level()])
      for (const path of paths) {
        const [one, other] = [await usual.get(path), await clustered.get(path)]
        expect(one.status, path).toBe(200)
        expect({ path, body: timeless(other.body), tip: other.tip }).toEqual({
          path,
          body: timeless(one.body),
          tip: one.tip,
        })
      }
      await expectSecond(usual)
    } finally {
      await Promise.all([usual.close(), clustered.close()])
      await node.close()
    }
  })
})

/** A second database is built into the tables that exist under its name, and does not change their definitions. */
async function expectSecond({ db: old, log, name }: Pipeline): Promise<void> {
  const db = old.sibling(`${name}_second`)
  try {
    await apply(db)
    const before = await tablesOf(db)
    await prepareTarget(old, db.name)
    const logger = pino({ level: 'silent' })
    const head = await new Successor({ db, old, log, logger, progress: () => undefined }).run()
    expect(await latestHead(db)).toMatchObject({ position: head.position, tipHash: head.tipHash })
    expect(await tablesOf(db)).toEqual(before)
  } finally {
    await dropDatabase(db)
  }
}

/** Without the time at which each poller last polled. */
function timeless(body: object): object {
  return { ...body, lastReconciledAt: undefined }
}

/** In a database of its own, created as content/cluster.md describes. */
async function apply(db: Database): Promise<void> {
  await db.createIfAbsent()
  for (const statement of statementsOf(
    text('deploy/clickhouse/cluster.sql').replaceAll('headwater', db.name),
  ))
    await db.command(onOneServer(statement))
}

/** One read of each kind: by block, transaction, address and outpoint. */
async function pathsOf(pipeline: Pipeline): Promise<string[]> {
  const { items } = (await pipeline.get('/txs/recent?limit=8')).body
  const perTx = items.flatMap(
    ({ txid, outputs }: { txid: string; outputs: { addresses: { address: string }[] }[] }) => {
      const address = outputs[0]?.addresses[0]?.address
      return [
        `/tx/${txid}`,
        ...(address === undefined ? [] : [`/address/${address}`, `/address/${address}/txs`]),
      ]
    },
  )
  const { items: blocks } = (await pipeline.get('/blocks?limit=3')).body
  const perBlock = blocks.flatMap(({ hash }: { hash: string }) => [`/block/${hash}`, `/block/${hash}/txs`])
  return ['/stats/summary', '/stats/richlist', '/txs/recent', '/blocks', ...perTx, ...perBlock]
}
