import { pino, type Logger as PinoLogger } from 'pino'

export type Logger = PinoLogger

/**
 * A logger that writes JSON lines to standard error, at once: a process that dies has said everything it had to say.
 * @param service the name every line carries.
 */
export function createLogger(service: string, level: string): Logger {
  const destination = pino.destination({ fd: 2, sync: true })
  return pino(
    { level, base: { service, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  )
}
