/*
 * The codes of errors in logs and responses. The list is closed: content/operate/errors.md explains each code, and a test compares
 * the two.
 */

/** The codes of errors that clients receive, each with its HTTP status. */
export const HTTP_STATUS = {
  HW_INVALID_ARGUMENT: 400,
  HW_TX_REJECTED: 400,
  HW_OPERATION_TOO_COSTLY: 400,
  HW_ANSWER_TOO_LARGE: 400,
  HW_UNAUTHORIZED: 401,
  HW_FORBIDDEN: 403,
  HW_ADDRESS_NOT_FOUND: 404,
  HW_NOT_FOUND: 404,
  HW_METHOD_NOT_ALLOWED: 405,
  HW_CURSOR_OUTDATED: 410,
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
} as const

/** The codes that appear only in log lines, metrics and the output of commands. */
const INTERNAL = [
  'HW_BLOCK_INVALID',
  'HW_BLOCK_MISSING',
  'HW_BLOCK_TAG_REPEATED',
  'HW_CANNOT_REPLAY',
  'HW_CANNOT_SNAPSHOT',
  'HW_CONFIG_INVALID',
  'HW_CONTENT_INVALID',
  'HW_CONTENT_TOO_LARGE',
  'HW_DEFINITIONS_INVALID',
  'HW_FILE_DAMAGED',
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
  'HW_NODE_TOO_OLD',
  'HW_NODE_UNREACHABLE',
  'HW_NODE_UNSTEADY',
  'HW_NOTHING_INDEXED',
  'HW_POISON_EVENT',
  'HW_PORT_IN_USE',
  'HW_QUERY_REFUSED',
  'HW_RECEIVER_REFUSED',
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
  'HW_ZMQ_MISSING',
] as const

export type ClientError = keyof typeof HTTP_STATUS
export type ErrorCode = ClientError | (typeof INTERNAL)[number]
export const ERROR_CODES: ReadonlySet<unknown> = new Set([...Object.keys(HTTP_STATUS), ...INTERNAL])

type ErrorClass<E> = new (message?: string, options?: ErrorOptions) => E

/** Creates the base class of errors with a code. `class Lost extends coded('HW_LOST') {}` is a complete declaration. */
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

/** Thrown for an error of this program, including a query that the server refuses: a retry does not help. */
export class Defect extends coded<ErrorCode>('HW_DEFECT') {}

/** Thrown if a process cannot run with its configuration, however often it is started. The message says what to change. */
export class StartRefused extends coded<ErrorCode>('HW_START_REFUSED') {}

/** Thrown if two of node, log, tables and `CHAIN` are of different chains, or one is of an unknown chain: continuing would mix them. */
export class WrongChainError extends coded('HW_WRONG_CHAIN', StartRefused) {}

/** Thrown for an invalid command line. The message says what is valid. */
export class UsageError extends coded('HW_USAGE', StartRefused) {}

/** Thrown if another process uses the folder. */
export class FolderInUse extends coded('HW_FOLDER_IN_USE', StartRefused) {}

/** The classes of errors that JavaScript throws for programming errors. */
export const PROGRAMMING_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError]

/** Returns whether an error is caused by this program: a `Defect`, or one of `PROGRAMMING_ERRORS`. */
export function isDefect(error: unknown): boolean {
  return error instanceof Defect || PROGRAMMING_ERRORS.some((kind) => error instanceof kind)
}

/** Returns the code of any error, including errors of JavaScript, the operating system and libraries. */
export function codeOf(error: unknown): ErrorCode {
  const { code } = (error ?? {}) as { code?: unknown }
  if (ERROR_CODES.has(code)) return code as ErrorCode
  if (String(code).startsWith('ERR_PARSE_ARGS_')) return 'HW_USAGE'
  return isDefect(error) ? 'HW_DEFECT' : 'HW_UNCLASSIFIED'
}

/** Codes that are omitted from the body, because the contract of the API lists its exact fields. */
export const ERRORS_WITHOUT_CODE: ReadonlySet<ErrorCode> = new Set([
  'HW_ADDRESS_NOT_FOUND',
  'HW_RATE_LIMITED',
  'HW_SYNCING',
])

/** Returns the JSON body of an error. @param fields in addition to `error` and `code`. */
export function errorBody(code: ClientError, error: string, fields: object = {}): object {
  return ERRORS_WITHOUT_CODE.has(code) ? { error, ...fields } : { error, code, ...fields }
}
