import { StartRefused } from '../../pipelines/errors.js'
import type { UpgradeProgress } from '../../pipelines/log/embedded/embedded.js'
import { openLog } from '../../pipelines/log/open.js'
import type { EventLog } from '../../pipelines/log/port.js'
import type { Logger } from '../../pipelines/logger.js'
import type { Config } from '../config.js'

type LogSettings = Pick<
  Config,
  'logUrl' | 'dataDir' | 'kafkaSsl' | 'kafkaSaslMechanism' | 'kafkaUsername' | 'kafkaPassword'
>

/**
 * Opens the event log of the configuration, and waits until a log of an earlier version has been converted.
 * @param onUpgrade called repeatedly during the conversion.
 * @throws StartRefused if only one of user name and password is set; LogFormatError for a log of a later version.
 */
export async function openEventLog(
  config: LogSettings,
  logger: Logger,
  onUpgrade?: (progress: UpgradeProgress) => void,
): Promise<EventLog> {
  const { logUrl: url, dataDir, kafkaSsl, kafkaUsername: username, kafkaPassword: password } = config
  if ((username === undefined) !== (password === undefined))
    throw new StartRefused('KAFKA_USERNAME and KAFKA_PASSWORD must be set together: set both or neither')
  const sasl =
    username === undefined || password === undefined
      ? undefined
      : { mechanism: config.kafkaSaslMechanism, username, password }
  return openLog({ url, dataDir, logger, ssl: kafkaSsl === 'true', sasl, onUpgrade })
}
