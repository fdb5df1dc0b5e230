import { type Database, DatabaseUnavailable } from '../clickhouse.js'
import { engineOf } from './replicas.js'

/** The end of the name of a table that has the rows of one shard; the table without it is distributed over all shards. */
export const LOCAL = '_shard'

/**
 * Runs a statement that a distributed table does not forward, such as a deletion, wherever a table has rows: on the servers of
 * CLICKHOUSE_URL if it is distributed over shards, and otherwise on one server.
 * @param statementOn returns the statement for a table, or for the part of it that one shard has.
 * @throws DatabaseUnavailable also if a shard was not reached; QueryRefused.
 */
export async function onEachShard(
  db: Database,
  table: string,
  statementOn: (local: string) => string,
): Promise<void> {
  if ((await engineOf(db, table)) !== 'Distributed') return db.command(statementOn(table))
  const reached = new Set<string>()
  let shards = 1
  const cause = await onEachServer(db, async (server) => {
    const [place] = await server.query<{ shard: string; shards: string }>(PLACE)
    await server.command(statementOn(`${table}${LOCAL}`))
    reached.add(place?.shard ?? '')
    shards = Math.max(shards, Number(place?.shards))
  })
  if (reached.size >= shards) return
  const help = `CLICKHOUSE_URL must name a server of each shard: ${String(reached.size)} of ${String(shards)} shards were reached`
  throw new DatabaseUnavailable(help, { cause })
}

/**
 * Runs something on each server of CLICKHOUSE_URL.
 * @returns the error of a server that was not reached, undefined if all were.
 * @throws DatabaseUnavailable if none was reached; any other error.
 */
export async function onEachServer(
  db: Database,
  run: (server: Database) => Promise<void>,
): Promise<DatabaseUnavailable | undefined> {
  let isReached = false
  let unreached: DatabaseUnavailable | undefined
  for (const server of db.eachServer()) {
    try {
      await run(server)
      isReached = true
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      unreached = error
    } finally {
      await server.close()
    }
  }
  if (!isReached && unreached !== undefined) throw unreached
  return unreached
}

const macro = (name: string): string =>
  `(SELECT any(substitution) FROM system.macros WHERE macro = '${name}')`

/** SQL for the cluster over which the tables of the database are distributed. */
const CLUSTER = `(SELECT replaceOne(splitByChar(char(39), engine_full)[2], '{cluster}', ${macro('cluster')})
  FROM system.tables WHERE database = currentDatabase() AND name = 'txs')`

/** SQL for the shard of a server, and the number of shards of that cluster. */
const PLACE = `SELECT ${macro('shard')} AS shard,
  (SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = ${CLUSTER}) AS shards`
