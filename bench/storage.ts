import { join } from 'node:path'
import { Database } from '../pipelines/tables/clickhouse.js'
import { latestHead } from '../pipelines/tables/head.js'
import { measureLog } from './log-size.js'
import { measureMemory } from './memory-size.js'
import {
  becomeIdle,
  chainHeight,
  engineOf,
  explorerOf,
  MAX_EXPLORER_MB,
  settled,
  simulatedNode,
  type Start,
  withProcesses,
} from './processes.js'
import { repeated } from './repetitions.js'
import type { Figure } from './report.js'
import { bytesOnDisk, listTables, type TableSize } from './table-size.js'

/** The options of one run. */
export interface StorageOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly repetitions: number
}

/** Bytes of all tables per transaction of the chain of a full run, whose transactions have 474 bytes. */
const MAX_BYTES_PER_TX = 1_060

/**
 * Measures the storage of an indexed chain: bytes by table and row, rows per transaction, bytes of the log by event
 * and by byte of the node's, and the explorer's memory by object. Chains of another mix differ in rows per
 * transaction, so these are reported separately: content/scale.md multiplies them. Tables are merged before they are
 * measured.
 */
export async function storage(options: StorageOptions): Promise<Figure[]> {
  return withProcesses(async (startNode, nodeFolder) => {
    const { url } = await simulatedNode(startNode, nodeFolder, options)
    // Processes and a folder of its own for each repetition.
    return repeated(options.repetitions, () =>
      withProcesses((start, folder) => measure(start, folder, url, options)),
    )
  })
}

async function measure(
  start: Start,
  folder: string,
  nodeUrl: string,
  options: StorageOptions,
): Promise<Figure[]> {
  const indexed = await indexAll(start, nodeUrl, options)
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
    { name: 'tables_bytes_per_tx', value: perTx(total), unit: 'B/tx', most: MAX_BYTES_PER_TX },
    { name: 'tables_bytes_per_chain_byte', value: total / log.rawBytes, unit: 'ratio' },
    { name: 'transactions_payload_per_tx', value: perTx(log.payloadBytes), unit: 'B/tx' },
    { name: 'log_bytes_per_event', value: log.eventBytes / log.events, unit: 'B/event' },
    { name: 'log_bytes_per_chain_byte', value: log.eventBytes / log.rawBytes, unit: 'ratio' },
    { name: 'log_bytes_per_input', value: (log.eventBytes - log.rawBytes) / log.inputs, unit: 'B/input' },
    { name: 'file_bytes_per_log_byte', value: log.fileBytes / log.eventBytes, unit: 'ratio' },
    { name: 'explorer_rss', value: indexed.explorerMb, unit: 'MB', most: MAX_EXPLORER_MB },
    { name: 'explorer_bytes_per_pool_tx', value: memory.perMempoolTx, unit: 'B/tx' },
    { name: 'explorer_pool_tx_size', value: memory.mempoolTxSize, unit: 'B/tx' },
    { name: 'explorer_bytes_per_day', value: memory.perDay, unit: 'B/day' },
    { name: 'materializer_rss', value: indexed.materializerMb, unit: 'MB' },
  ]
}

interface Indexed {
  readonly tables: readonly TableSize[]
  readonly explorerMb: number
  readonly materializerMb: number
}

async function indexAll(start: Start, nodeUrl: string, options: StorageOptions): Promise<Indexed> {
  // Set it to measure the index without bodies.
  const env = { NODE_RPC_URL: nodeUrl, TX_BODIES: process.env['TX_BODIES'] ?? 'tables' }
  const { engine, url } = await engineOf(start)
  const db = new Database({ url, database: 'headwater', timeoutMs: 600_000 })
  try {
    const [poller, materializer] = [start('poller', env), start('materializer', env)]
    await settled(async () => (await latestHead(db))?.tipHeight === options.blocks, 1_800_000, [
      engine,
      poller,
      materializer,
    ])
    await becomeIdle([materializer, engine])
    // Started now, so that it contains nothing of the backfill.
    const { url: api, explorer } = await explorerOf(start, env)
    await settled(async () => (await chainHeight(api)) === options.blocks, 60_000, [explorer])
    const [explorerMb, materializerMb] = [explorer.rssMb(), materializer.rssMb()]
    for (const each of [explorer, poller, materializer]) await each.kill('SIGTERM')
    const listed = await listTables(db)
    // SIGTERM first, so that the point tables write what they hold in memory.
    await engine.kill('SIGTERM')
    return { tables: await bytesOnDisk(listed), explorerMb, materializerMb }
  } finally {
    await db.close()
  }
}
