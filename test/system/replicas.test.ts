import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { latestHead } from '../../pipelines/tables/head.js'
import { dropRankings, rankingParts } from '../../pipelines/tables/lists/ranking.js'
import { Database, DatabaseUnavailable } from '../../pipelines/tables/clickhouse.js'
import { createTables } from '../../pipelines/tables/schema-version.js'
import { startReplica, statementsOf } from '../harness/cluster-schema.js'
import { text } from '../deploy/tools.js'

const ON_CLUSTER = " ON CLUSTER '{cluster}'"

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
    const refusal = /apply deploy\/clickhouse\/sharded.sql of this version completely/
    await expect(createTables(db)).rejects.toThrow(refusal)
    // As if the file were still being applied.
    await db.command('DROP TABLE schema_version')
    await expect(createTables(db)).rejects.toThrow(refusal)
  } finally {
    await db.close()
    await engine.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
