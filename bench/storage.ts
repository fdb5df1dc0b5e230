import { join } from 'node:path'
import { freePort } from '../services/ports.js'
import { Database } from '../pipelines/tables/clickhouse.js'
import { settled, simulatedNode, type Start, withProcesses } from './processes.js'
import type { Figure } from './report.js'
import { measureLog } from './log-size.js'
import { measureMemory } from './memory-size.js'
import { bytesOnDisk, listTables, type TableSize } from './table-size.js'

/** The options of one run. */
export interface StorageOptions {
  readonly blocks: number
  readonly txsPerBlock: number
}

/**
 * Measures the storage of an indexed chain: bytes by table and row, rows per transaction, bytes of the log by event
 * and by byte of the node's, and the explorer's memory by object. Chains of another mix differ in rows per
 * transaction, so these are reported separately: content/scale.md multiplies them. Tables are merged before they are
 * measured.
 */
export async function storage(options: StorageOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const { url } = await simulatedNode(start, folder, options)
    const indexed = await indexAll(start, url, options)
    const log = await measureLog(join(folder, 'log'))
    const memory = await measureMemory(join(folder, 'log'))
    const { txs } = log
    const perTx = (bytes: number): number => bytes / txs
    const total = indexed.tables.reduce((sum, { bytes }) => sum + bytes, 0)
    return [
      { name: 'chain_blocks', value: options.blocks, unit: 'blocks' },
      { name: 'chain_transactions', value: txs, unit: 'transactions' },
      { name: 'chain_inputs_per_tx', value: perTx(log.inputs), unit: 'inputs/tx' },
      { name: 'chain_outputs_per_tx', value: perTx(log.outputs), unit: 'outputs/tx' },
      { name: 'chain_bytes_per_tx', value: perTx(log.rawBytes), unit: 'B/tx' },
      ...indexed.tables.flatMap(({ name, rows, bytes }) => [
        { name: `${name}_bytes_per_row`, value: bytes / rows, unit: 'B/row' },
        { name: `${name}_rows_per_tx`, value: rows / txs, unit: 'rows/tx' },
      ]),
      { name: 'tables_bytes_per_tx', value: perTx(total), unit: 'B/tx' },
      { name: 'tables_bytes_per_chain_byte', value: total / log.rawBytes, unit: 'ratio' },
      { name: 'transactions_payload_per_tx', value: perTx(indexed.payload), unit: 'B/tx' },
      { name: 'log_bytes_per_event', value: log.eventBytes / log.events, unit: 'B/event' },
      { name: 'log_bytes_per_chain_byte', value: log.eventBytes / log.rawBytes, unit: 'ratio' },
      { name: 'log_bytes_per_input', value: (log.eventBytes - log.rawBytes) / log.inputs, unit: 'B/input' },
      { name: 'file_bytes_per_log_byte', value: log.fileBytes / log.eventBytes, unit: 'ratio' },
      { name: 'explorer_rss', value: indexed.explorerMb, unit: 'MB' },
      { name: 'explorer_bytes_per_pool_tx', value: memory.perMempoolTx, unit: 'B/tx' },
      { name: 'explorer_pool_tx_size', value: memory.mempoolTxSize, unit: 'B/tx' },
      { name: 'explorer_bytes_per_day', value: memory.perDay, unit: 'B/day' },
      { name: 'materializer_rss', value: indexed.materializerMb, unit: 'MB' },
    ]
  })
}

interface Indexed {
  readonly tables: readonly TableSize[]
  /** Returns the bytes of the serialised transactions in the tables. */
  readonly payload: number
  readonly explorerMb: number
  readonly materializerMb: number
}

async function indexAll(start: Start, nodeUrl: string, options: StorageOptions): Promise<Indexed> {
  const [http, port] = [await freePort(), await freePort()]
  const env = {
    NODE_RPC_URL: nodeUrl,
    EXPLORER_PORT: String(port),
    EXPLORER_GRPC_PORT: '0',
    RATE_LIMIT_PER_MINUTE: '0',
  }
  const engine = start('engine', {}, ['--http-port', String(http)])
  const db = new Database({
    url: `http://127.0.0.1:${String(http)}`,
    database: 'headwater',
    timeoutMs: 600_000,
  })
  try {
    await settled(() => db.ping(), 60_000)
    const [poller, materializer] = [start('poller', env), start('materializer', env)]
    await settled(async () => {
      const [head] = await db.query<{ tip: string }>('SELECT max(tip_height) AS tip FROM heads')
      return Number(head?.tip) === options.blocks
    }, 1_800_000)
    // Started again, so that it contains nothing of the backfill.
    const explorer = start('explorer', env)
    await settled(async () => (await fetch(`http://127.0.0.1:${String(port)}/health`)).ok, 60_000)
    const [explorerMb, materializerMb] = [explorer.rssMb(), materializer.rssMb()]
    for (const each of [explorer, poller, materializer]) await each.kill('SIGTERM')
    const listed = await listTables(db)
    const [sum] = await db.query<{ payload: string }>(
      `SELECT (SELECT sum(length(body) + length(prevouts)) FROM tx_bodies) +
         (SELECT sum(length(witness)) FROM tx_witnesses) AS payload`,
    )
    // SIGTERM first, so that the point tables write what they hold in memory.
    await engine.kill('SIGTERM')
    return { tables: await bytesOnDisk(listed), payload: Number(sum?.payload), explorerMb, materializerMb }
  } finally {
    await db.close()
  }
}
