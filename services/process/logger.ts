import { pino, type Logger as PinoLogger } from 'pino'
import { codeOf } from '../../pipelines/errors.js'

export type Logger = PinoLogger

/**
 * Creates a logger that writes JSON lines to standard error synchronously, so that no line is lost when the process exits. A
 * line with an error (`err`) contains the error's code as `code`.
 * @param service the name of the service, which each line contains.
 * @param fd the file descriptor to write to; default: standard error.
 */
export function createLogger(service: string, level: string, fd = 2): Logger {
  const destination = pino.destination({ fd, sync: true })
  return pino(
    {
      level,
      base: { service, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        log: (fields) => ('err' in fields ? { code: codeOf(fields['err']), ...fields } : fields),
      },
    },
    destination,
  )
}
