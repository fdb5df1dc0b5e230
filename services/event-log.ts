import { openLog } from '../pipelines/log/open.js'
import type { EventLog } from '../pipelines/log/port.js'
import type { Logger } from '../pipelines/logger.js'
import type { Config } from './config.js'
import { StartRefused } from './lifecycle.js'

type LogSettings = Pick<
  Config,
  'logUrl' | 'dataDir' | 'kafkaSsl' | 'kafkaSaslMechanism' | 'kafkaUsername' | 'kafkaPassword'
>

/**
 * The event log that the settings name.
 * @throws StartRefused for credentials that are not whole.
 */
export function openEventLog(config: LogSettings, logger: Logger): Promise<EventLog> {
  const { logUrl: url, dataDir, kafkaSsl, kafkaUsername: username, kafkaPassword: password } = config
  if ((username === undefined) !== (password === undefined))
    throw new StartRefused('KAFKA_USERNAME and KAFKA_PASSWORD need each other: set both or none')
  const sasl =
    username === undefined || password === undefined
      ? undefined
      : { mechanism: config.kafkaSaslMechanism, username, password }
  return openLog({ url, dataDir, logger, ssl: kafkaSsl === 'true', sasl })
}
