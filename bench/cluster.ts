import { Database } from '../pipelines/tables/clickhouse.js'
import { onEachServer } from '../pipelines/tables/cluster/shards.js'
import { startSimnode } from '../services/simnode/node.js'
import { Pipeline } from '../test/harness/pipeline.js'
import { applySharded, Shards } from '../test/harness/shards.js'
import { NETWORK } from './network.js'
import { comparison } from './repetitions.js'
import type { Figure } from './report.js'

export interface ClusterOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  /** The number of transactions that are read, each once. */
  readonly reads: number
}

/** The work of an engine, by the server's own counters. */
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
/** One of so many reads is made alone. */
const ALONE = 10
/** The share of the work of one shard that the busier one of two may have. */
const MAX_SHARE = 0.6

/**
 * Indexes the same chain on one shard and on two, and reads the same transactions. Both have the same tables, so what the busiest
 * shard does shows how work is divided, whatever processors the shards share here.
 */
export async function cluster(options: ClusterOptions): Promise<Figure[]> {
  const node = await startSimnode({
    seed: 'cluster',
    network: NETWORK,
    blocks: options.blocks,
    txsPerBlock: options.txsPerBlock,
    blockIntervalMs: 0,
  })
  try {
    const one = await workOf(1, node.url, options)
    const two = await workOf(2, node.url, options)
    const compared = (name: string, unit: string, pick: (each: Done) => readonly number[]): Figure =>
      comparison(`${name}_of_the_busiest_shard`, unit, Math.max(...pick(two)), Math.max(...pick(one)))
    const queries = (name: string, pick: (each: Done) => readonly Work[], count: number): Figure[] =>
      [...pick(one), ...pick(two)].map((work, at) => ({
        name: `${name}_${['on_one_shard', 'on_the_first_of_two', 'on_the_second_of_two'][at] ?? ''}`,
        unit: 'queries',
        value: work.queries / count,
      }))
    const limit = { maxRatio: MAX_SHARE }
    return [
      {
        ...compared('inserted_rows', 'rows', ({ inserting }) => inserting.map((work) => work.inserted)),
        ...limit,
      },
      compared('insert_cpu', 's', ({ inserting }) => inserting.map(({ cpu }) => cpu / 1e6)),
      {
        ...compared('read_granules', 'granules', ({ reading }) => reading.map((work) => work.granules)),
        ...limit,
      },
      compared('read_cpu', 's', ({ reading }) => reading.map(({ cpu }) => cpu / 1e6)),
      ...queries(`queries_per_read_of_${String(AT_ONCE)}_at_once`, ({ reading }) => reading, options.reads),
      ...queries('queries_per_read_alone', ({ alone }) => alone, options.reads / ALONE),
    ]
  } finally {
    await node.close()
  }
}

interface Done {
  readonly inserting: readonly Work[]
  readonly reading: readonly Work[]
  /** Reads one after another, so that no two share a query. */
  readonly alone: readonly Work[]
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
      const count = reads + reads / ALONE
      const txids: string[] = []
      for (let height = 1; txids.length < count && height <= blocks; height++) {
        const { items } = (await pipeline.get(`/block/${String(height)}/txs?limit=100`)).body
        for (const { txid } of items as { txid: string }[]) txids.push(txid)
      }
      if (txids.length < count) throw new Error(`the chain has only ${String(txids.length)} transactions`)
      const read = async (wanted: readonly string[], atOnce: number): Promise<Work[]> => {
        const before = await countersOf(db)
        for (let at = 0; at < wanted.length; at += atOnce) {
          const answers = wanted.slice(at, at + atOnce).map((txid) => pipeline.get(`/tx/${txid}`))
          for (const { status } of await Promise.all(answers))
            if (status !== 200) throw new Error(`a read returned ${String(status)}`)
        }
        return difference(await countersOf(db), before)
      }
      return {
        inserting: difference(indexed, empty),
        reading: await read(txids.slice(0, reads), AT_ONCE),
        alone: await read(txids.slice(reads, count), 1),
      }
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
