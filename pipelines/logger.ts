type Write = (fields: object, message: string) => void

/** Where a stage says what it does; services/logger.ts makes the real one. */
export interface Logger {
  readonly debug: Write
  readonly info: Write
  readonly warn: Write
  readonly error: Write
}
