import { StartRefused } from '../../pipelines/errors.js'
import { openLog } from '../../pipelines/log/open.js'
import type { EventLog } from '../../pipelines/log/port.js'
import type { Logger } from '../../pipelines/logger.js'
import type { Config } from '../config.js'

/** The settings of the event log. */
export type LogSettings = Pick<
  Config,
  'logUrl' | 'dataDir' | 'kafkaSsl' | 'kafkaSaslMechanism' | 'kafkaUsername' | 'kafkaPassword'
>

/**
 * Opens the event log of the configuration.
 * @throws StartRefused if only one of user name and password is set; LogFormatError for a log of a later version.
 */
export async function openEventLog(config: LogSettings, logger: Logger): Promise<EventLog> {
  const { logUrl: url, dataDir, kafkaSsl, kafkaUsername: username, kafkaPassword: password } = config
  if ((username === undefined) !== (password === undefined))
    throw new StartRefused('KAFKA_USERNAME and KAFKA_PASSWORD must be set together: set both or neither')
  const sasl =
    username === undefined || password === undefined
      ? undefined
      : { mechanism: config.kafkaSaslMechanism, username, password }
  return openLog({ url, dataDir, logger, ssl: kafkaSsl === 'true', sasl })
}
