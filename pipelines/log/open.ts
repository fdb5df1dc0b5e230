import { join } from 'node:path'
import type { Logger } from '../logger.js'
import { parseLogUrl } from './address.js'
import type { KafkaAccess } from './kafka/client.js'
import { openEmbeddedLog } from './embedded/embedded.js'
import type { EventLog } from './port.js'

export interface LogOptions extends Omit<KafkaAccess, 'brokers'> {
  /** The URL of the log; undefined for the embedded log in `dataDir`/log. */
  readonly url: string | undefined
  readonly dataDir: string
  readonly logger: Logger
}

/** Opens the configured log. @throws Error for an invalid URL, LogFormatError; unreachable brokers cause no error yet. */
export async function openLog({ url, dataDir, ...options }: LogOptions): Promise<EventLog> {
  if (url === undefined || url === '') return openEmbeddedLog(join(dataDir, 'log'), options)
  const address = parseLogUrl(url)
  if (address.kind === 'embedded') return openEmbeddedLog(address.folder, options)
  // Only processes that use Kafka load its driver.
  const { openKafkaLog } = await import('./kafka/kafka.js')
  return openKafkaLog({ ...options, ...address })
}
