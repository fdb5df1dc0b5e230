type Write = (fields: object, message: string) => void

/** The logger of a stage; implemented by services/process/logger.ts. */
export interface Logger {
  readonly debug: Write
  readonly info: Write
  readonly warn: Write
  readonly error: Write
}
