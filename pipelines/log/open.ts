import { join } from 'node:path'
import { openLmdbLog } from './lmdb.js'
import type { EventLog } from './port.js'

/**
 * Opens the log that the configuration names: without a URL the embedded one in DATA_DIR/log, with `lmdb:///folder` the
 * embedded one there.
 * @throws for a URL that no adapter serves; the message names the protocol only, a URL may hold credentials.
 */
export async function openLog(url: string | undefined, dataDir: string): Promise<EventLog> {
  if (url === undefined || url === '') return openLmdbLog(join(dataDir, 'log'))
  const { protocol, pathname } = new URL(url)
  if (protocol === 'lmdb:') return openLmdbLog(decodeURIComponent(pathname))
  throw new Error(
    `LOG_URL names ${protocol}, which no log adapter serves; leave it out to use the embedded log`,
  )
}
