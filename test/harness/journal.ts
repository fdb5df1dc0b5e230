import { pino } from 'pino'
import { HistoryBook } from '../../pipelines/journal/history-book.js'
import { MempoolJournal } from '../../pipelines/journal/journal.js'
import type { EventLog } from '../../pipelines/log/port.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { until } from './until.js'

const PATIENCE_MS = 60_000

/** Writes the history of the mempool up to the end of a log, as a materializer that is then stopped. */
export async function writeHistory(db: Database, log: EventLog, chain: string): Promise<void> {
  const stop = new AbortController()
  const journal = new MempoolJournal({
    db,
    log,
    logger: pino({ level: process.env['TEST_LOG'] ?? 'silent' }),
    chain: () => Promise.resolve(chain),
    isCluster: () => Promise.resolve(false),
    books: [new HistoryBook(db, log)],
    flushMs: 1,
    recordMs: 1,
  })
  const running = journal.run(stop.signal)
  try {
    const last = await log.last('node')
    await until('the journal is at the end', () => journal.position >= last, PATIENCE_MS)
  } finally {
    stop.abort()
    await running
  }
}
