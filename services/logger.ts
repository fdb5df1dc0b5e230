import { pino, type Logger as PinoLogger } from 'pino'
import { codeOf } from '../pipelines/errors.js'

export type Logger = PinoLogger

/**
 * A logger that writes JSON lines to standard error, at once: a process that dies has said everything it had to say. A line
 * with an error (`err`) has its code at the top.
 * @param service the name every line carries.
 * @param fd the file that it writes to; standard error where left out.
 */
export function createLogger(service: string, level: string, fd = 2): Logger {
  const destination = pino.destination({ fd, sync: true })
  return pino(
    {
      ...{ level, base: { service, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
      formatters: {
        log: (fields) => ('err' in fields ? { code: codeOf(fields['err']), ...fields } : fields),
      },
    },
    destination,
  )
}
