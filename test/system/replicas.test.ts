import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { latestHead } from '../../pipelines/tables/head.js'
import { dropRankings, rankingParts } from '../../pipelines/tables/lists/ranking.js'
import { Database, DatabaseUnavailable } from '../../pipelines/tables/clickhouse.js'
import { migrate, readMigrations } from '../../pipelines/tables/migrate.js'
import { startReplica, statementsOf, tablesOf } from '../harness/cluster-schema.js'
import { text } from '../deploy/tools.js'

const ON_CLUSTER = " ON CLUSTER '{cluster}'"

it('an upgrade of a cluster makes its tables on all replicas, as its schema defines them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-keeper-'))
  const engine = await startReplica(folder)
  const applied = new Database({ url: engine.url, database: 'headwater' })
  const upgraded = new Database({ url: engine.url, database: 'upgraded' })
  try {
    const schema = statementsOf(text('deploy/clickhouse/cluster.sql')).filter((each) =>
      each.startsWith('CREATE'),
    )
    await applied.createIfAbsent()
    for (const each of schema) await applied.command(each.replace(ON_CLUSTER, ''))
    await upgraded.createIfAbsent()
    const migrations = schema.find((each) => each.includes('headwater.migrations')) ?? ''
    await upgraded.command(migrations.replaceAll('headwater.', 'upgraded.').replace(ON_CLUSTER, ''))
    const requested: string[] = []
    const run = upgraded.command.bind(upgraded)
    // There is one server; the embedded engine keeps its replicated tables read-only: it only creates them.
    vi.spyOn(upgraded, 'command').mockImplementation(async (sql) => {
      requested.push(sql)
      if (sql.startsWith('CREATE TABLE')) await run(sql.replace(ON_CLUSTER, ''))
    })
    await migrate(upgraded)
    const made = requested.filter((sql) => sql.startsWith('CREATE TABLE') && !sql.includes(' migrations '))
    expect(made.length).toBeGreaterThan(15)
    for (const sql of made) expect(sql).toContain(ON_CLUSTER)
    for (const sql of requested.filter(
      (each) => each.startsWith('ALTER TABLE') && !each.includes(' DELETE '),
    ))
      expect(sql).toMatch(/ SETTINGS alter_sync = 2$/)
    const isAltered = (name: string): boolean =>
      requested.some(
        (sql) => sql.startsWith(`ALTER TABLE ${name}\n`) || sql.startsWith(`ALTER TABLE ${name} `),
      )
    const [expected, found] = await Promise.all([tablesOf(applied), tablesOf(upgraded)])
    expect(found.map(({ name }) => name)).toEqual(expected.map(({ name }) => name))
    const whole = (tables: typeof found) => tables.filter(({ name }) => !isAltered(name))
    expect(whole(found).length).toBeGreaterThan(10)
    // The paths in Keeper contain the name of the database.
    const named = whole(found).map(({ name, sql }) => ({
      name,
      sql: sql.replaceAll('upgraded', 'headwater'),
    }))
    expect(named).toEqual(whole(expected))
    // Each migration is recorded, so that none runs again.
    expect(requested.filter((sql) => sql.startsWith('INSERT INTO migrations'))).toHaveLength(
      (await readMigrations()).length,
    )
  } finally {
    await Promise.all([applied.close(), upgraded.close()])
    await engine.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

it('the schema of shards with replicas is accepted with a Keeper, and so are the statements for each shard', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-keeper-'))
  const engine = await startReplica(folder)
  const db = new Database({ url: engine.url, database: 'headwater' })
  try {
    const creates = statementsOf(text('deploy/clickhouse/sharded.sql')).filter((each) =>
      each.startsWith('CREATE'),
    )
    await db.createIfAbsent()
    for (const each of creates) await db.command(each.replace(ON_CLUSTER, ''))
    const engines = await db.query<{ name: string; engine: string }>(
      'SELECT name, engine FROM system.tables WHERE database = currentDatabase() ORDER BY name',
    )
    expect(engines).toHaveLength(creates.length - 1)
    for (const { name, engine: of } of engines)
      expect(of, name).toBe(name.endsWith('_shard') ? 'ReplicatedReplacingMergeTree' : 'Distributed')
    // Read through the distributed tables.
    expect(await latestHead(db)).toBeUndefined()
    expect(await rankingParts(db, 'ranked_balances')).toEqual([])
    // The embedded engine keeps replicated tables read-only: a statement that it refuses for good fails before that.
    const unused = [{ height: 1, hash: 'ab'.repeat(32), size: 1 }]
    await expect(dropRankings(db, unused)).rejects.toThrow(DatabaseUnavailable)
    await expect(migrate(db)).rejects.toThrow(/apply deploy\/clickhouse\/sharded.sql of this version/)
  } finally {
    await db.close()
    await engine.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
