/*
 * The codes of errors, in logs and answers. They are a closed list: content/operate/errors.md explains each, and a test compares
 * the two.
 */

/** Codes of errors that clients get, each with its HTTP status. */
export const HTTP_STATUS = {
  HW_INVALID_ARGUMENT: 400,
  HW_UNAUTHORIZED: 401,
  HW_FORBIDDEN: 403,
  HW_ADDRESS_NOT_FOUND: 404,
  HW_NOT_FOUND: 404,
  HW_METHOD_NOT_ALLOWED: 405,
  HW_BODY_TOO_LARGE: 413,
  HW_URI_TOO_LONG: 414,
  HW_UPGRADE_REQUIRED: 426,
  HW_RATE_LIMITED: 429,
  HW_ANSWER_FAILED: 500,
  HW_DEFECT: 500,
  HW_DATABASE_UNAVAILABLE: 503,
  HW_NODE_UNAVAILABLE: 503,
  HW_NOT_READY: 503,
  HW_OVERLOADED: 503,
  HW_RETRIEVAL_UNAVAILABLE: 503,
  HW_SYNCING: 503,
  HW_UPGRADING: 503,
} as const

/** Codes that only log lines, metrics and commands have. */
const INTERNAL = [
  'HW_BLOCK_INVALID',
  'HW_CANNOT_REPLAY',
  'HW_CONFIG_INVALID',
  'HW_CONTENT_INVALID',
  'HW_CONTENT_TOO_LARGE',
  'HW_DEFINITIONS_INVALID',
  'HW_FOLDER_IN_USE',
  'HW_KAFKA_MISSING',
  'HW_LOG_DAMAGED',
  'HW_LOG_FORMAT',
  'HW_LOG_LOST',
  'HW_LOG_MOVED',
  'HW_LOG_SHRANK',
  'HW_MODEL_LOST',
  'HW_MODEL_MISSING',
  'HW_NODE_BUSY',
  'HW_NODE_INVALID',
  'HW_NODE_PRUNED',
  'HW_NODE_REFUSED',
  'HW_NODE_RPC',
  'HW_NODE_TIMEOUT',
  'HW_NODE_UNREACHABLE',
  'HW_NODE_UNSTEADY',
  'HW_NOTHING_INDEXED',
  'HW_POISON_EVENT',
  'HW_PORT_IN_USE',
  'HW_QUERY_REFUSED',
  'HW_RETRIEVAL_INDEX_INVALID',
  'HW_RPC_FAILED',
  'HW_SCHEMA_MISMATCH',
  'HW_START_REFUSED',
  'HW_SUPERSEDED',
  'HW_TABLE_MISSING',
  'HW_TOPIC_INVALID',
  'HW_UNCLASSIFIED',
  'HW_USAGE',
  'HW_WRONG_CHAIN',
] as const

export type ClientError = keyof typeof HTTP_STATUS
export type ErrorCode = ClientError | (typeof INTERNAL)[number]
export const ERROR_CODES: ReadonlySet<unknown> = new Set([...Object.keys(HTTP_STATUS), ...INTERNAL])

type ErrorClass<E> = new (message?: string, options?: ErrorOptions) => E

/** Makes the class of errors with a code. `class Lost extends coded('HW_LOST') {}` is a whole declaration. */
export function coded<C extends ErrorCode, E extends Error = Error>(
  code: C,
  Base: ErrorClass<E> = Error as unknown as ErrorClass<E>,
): ErrorClass<E & { readonly code: C }> {
  return class extends (Base as ErrorClass<Error>) {
    readonly code = code

    override get name(): string {
      return this.constructor.name
    }
  } as unknown as ErrorClass<E & { readonly code: C }>
}

/** Something that trying again cannot help: a defect of this program, or a query of it that the server refuses. */
export class Defect extends coded<ErrorCode>('HW_DEFECT') {}

/** Thrown where a process cannot run as it is set up, however often it is started; the message tells the operator what to change. */
export class StartRefused extends coded<ErrorCode>('HW_START_REFUSED') {}

/** Thrown for a command line that cannot be taken; the message says what it must be. */
export class UsageError extends coded('HW_USAGE', StartRefused) {}

/** Another process holds the folder. */
export class FolderInUse extends coded('HW_FOLDER_IN_USE', StartRefused) {}

/** What the language throws at an error of the program. */
export const PROGRAMMING_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError]

/** Whether an error is our own: a `Defect`, or one of `PROGRAMMING_ERRORS`. */
export function isDefect(error: unknown): boolean {
  return error instanceof Defect || PROGRAMMING_ERRORS.some((kind) => error instanceof kind)
}

/** Returns the code of any error, those of the language, the operating system and libraries included. */
export function codeOf(error: unknown): ErrorCode {
  const { code } = (error ?? {}) as { code?: unknown }
  if (ERROR_CODES.has(code)) return code as ErrorCode
  if (String(code).startsWith('ERR_PARSE_ARGS_')) return 'HW_USAGE'
  return isDefect(error) ? 'HW_DEFECT' : 'HW_UNCLASSIFIED'
}

/** Those whose bodies the API's contract lists field by field: their code is in this table only. */
const EXACT: ReadonlySet<ErrorCode> = new Set(['HW_ADDRESS_NOT_FOUND', 'HW_RATE_LIMITED', 'HW_SYNCING'])

/** Returns the JSON body of an error. @param fields what it has beside `error` and `code`. */
export function errorBody(code: ClientError, error: string, fields: object = {}): object {
  return EXACT.has(code) ? { error, ...fields } : { error, code, ...fields }
}
