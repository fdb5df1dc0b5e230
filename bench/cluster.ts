import { Database } from '../pipelines/tables/clickhouse.js'
import { onEachServer } from '../pipelines/tables/cluster/shards.js'
import { startSimnode } from '../services/simnode/node.js'
import { Pipeline } from '../test/harness/pipeline.js'
import { applySharded, Shards } from '../test/harness/shards.js'
import type { Figure } from './report.js'

export interface ClusterOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  /** The number of transactions that are read, each once. */
  readonly reads: number
}

/** What an engine has done, by the server's own counters. */
interface Work {
  /** Rows written to tables of this shard. */
  readonly inserted: number
  /** Granules that queries of this shard have read. */
  readonly granules: number
  /** Queries that ran here: those of clients, and those of other servers. */
  readonly queries: number
  /** Processor time in microseconds. */
  readonly cpu: number
}

const COUNTERS: Readonly<Record<keyof Work, string>> = {
  inserted: 'MergeTreeDataWriterRows',
  granules: 'SelectedMarks',
  queries: 'SelectQuery',
  cpu: 'OSCPUVirtualTimeMicroseconds',
}

/** The number of reads at once. */
const AT_ONCE = 32

/**
 * Indexes the same chain on one shard and on two, and reads the same transactions. Both have the same tables, so what the busiest
 * shard does shows how work is divided, whatever processors the shards share here.
 */
export async function cluster(options: ClusterOptions): Promise<Figure[]> {
  const node = await startSimnode({
    ...{ seed: 'cluster', blocks: options.blocks, txsPerBlock: options.txsPerBlock, blockIntervalMs: 0 },
  })
  try {
    const one = await workOf(1, node.url, options)
    const two = await workOf(2, node.url, options)
    const compared = (name: string, unit: string, pick: (each: Done) => readonly number[]): Figure => {
      const [baseline, value] = [Math.max(...pick(one)), Math.max(...pick(two))]
      return { name, unit, value, baseline, ratio: baseline / value }
    }
    const perRead = (done: Done, at: number): number => (done.reading[at]?.queries ?? 0) / options.reads
    return [
      compared('inserted_rows_of_the_busiest_shard', 'rows', ({ inserting }) =>
        inserting.map((w) => w.inserted),
      ),
      compared('insert_cpu_of_the_busiest_shard', 's', ({ inserting }) => inserting.map((w) => w.cpu / 1e6)),
      compared('read_granules_of_the_busiest_shard', 'granules', ({ reading }) =>
        reading.map((w) => w.granules),
      ),
      compared('read_cpu_of_the_busiest_shard', 's', ({ reading }) => reading.map((w) => w.cpu / 1e6)),
      { name: 'queries_per_read_on_one_shard', unit: 'queries', value: perRead(one, 0) },
      { name: 'queries_per_read_on_the_first_of_two', unit: 'queries', value: perRead(two, 0) },
      { name: 'queries_per_read_on_the_second_of_two', unit: 'queries', value: perRead(two, 1) },
    ]
  } finally {
    await node.close()
  }
}

interface Done {
  readonly inserting: readonly Work[]
  readonly reading: readonly Work[]
}

/** Indexes the chain on a number of shards and reads transactions. @returns the work of each shard. */
async function workOf(count: number, nodeUrl: string, { blocks, reads }: ClusterOptions): Promise<Done> {
  const shards = await Shards.start(count)
  const db = new Database({ url: shards.urlFrom(), database: 'default' })
  try {
    const pipeline = await Pipeline.start({ nodeUrl, engineUrl: shards.urlFrom(), prepare: applySharded })
    try {
      const empty = await countersOf(db)
      await pipeline.level()
      const indexed = await countersOf(db)
      const txids: string[] = []
      for (let height = 1; txids.length < reads && height <= blocks; height++) {
        const { items } = (await pipeline.get(`/block/${String(height)}/txs?limit=100`)).body
        for (const { txid } of items as { txid: string }[]) txids.push(txid)
      }
      if (txids.length < reads) throw new Error(`the chain has only ${String(txids.length)} transactions`)
      const before = await countersOf(db)
      const wanted = txids.slice(0, reads)
      for (let at = 0; at < reads; at += AT_ONCE) {
        const answers = wanted.slice(at, at + AT_ONCE).map((txid) => pipeline.get(`/tx/${txid}`))
        for (const { status } of await Promise.all(answers))
          if (status !== 200) throw new Error(`a read returned ${String(status)}`)
      }
      return { inserting: difference(indexed, empty), reading: difference(await countersOf(db), before) }
    } finally {
      await pipeline.close()
    }
  } finally {
    await db.close()
    await shards.close()
  }
}

async function countersOf(db: Database): Promise<Work[]> {
  const counted: Work[] = []
  await onEachServer(db, async (server) => {
    const rows = await server.query<{ event: string; value: string }>(
      'SELECT event, value FROM system.events',
    )
    const values = new Map(rows.map(({ event, value }) => [event, Number(value)]))
    const of = (name: keyof Work): number => values.get(COUNTERS[name]) ?? 0
    counted.push({
      inserted: of('inserted'),
      granules: of('granules'),
      queries: of('queries'),
      cpu: of('cpu'),
    })
  })
  return counted
}

function difference(after: readonly Work[], before: readonly Work[]): Work[] {
  return after.map((work, at) => {
    const of = (name: keyof Work): number => work[name] - (before[at]?.[name] ?? 0)
    return { inserted: of('inserted'), granules: of('granules'), queries: of('queries'), cpu: of('cpu') }
  })
}
