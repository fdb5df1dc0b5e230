import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { coded, type ErrorCode } from '../../../../pipelines/errors.js'
import type { Failure } from '../../core/answering/failure.js'

/** Thrown for an operation that has no answer. */
export class Failed extends coded<ErrorCode>('HW_DEFECT') {
  override readonly code: ErrorCode

  constructor(readonly failure: Failure) {
    super(failure.message)
    this.code = failure.code
  }
}

/** Returns an error as clients receive it. Those of documents and variables have the code of invalid arguments. */
export function formatError(error: unknown): GraphQLFormattedError {
  const formatted: GraphQLFormattedError =
    error instanceof GraphQLError
      ? error.toJSON()
      : { message: error instanceof Error ? error.message : String(error) }
  return { ...formatted, extensions: { code: 'HW_INVALID_ARGUMENT', ...formatted.extensions } }
}

/** Returns the error of an operation that exceeds a limit. @param message says what to reduce. */
export function tooCostly(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'HW_OPERATION_TOO_COSTLY' } })
}

/** Returns the error of an operation that has no answer. */
export function errorOf({ code, message, details }: Failure): GraphQLError {
  return new GraphQLError(message, { extensions: { code, ...details } })
}
