import { status } from '@grpc/grpc-js'
import { coded, type ErrorCode, HTTP_STATUS } from '../../pipelines/errors.js'

/** The status codes of gRPC. */
export const Code = status
export type Code = status

/** Status codes of gRPC by the corresponding status of HTTP. */
const STATUS: Readonly<Partial<Record<number, Code>>> = {
  400: Code.INVALID_ARGUMENT,
  401: Code.UNAUTHENTICATED,
  404: Code.NOT_FOUND,
  410: Code.ABORTED,
  429: Code.RESOURCE_EXHAUSTED,
  500: Code.INTERNAL,
  503: Code.UNAVAILABLE,
}

/** The failure of a call: handlers of a server throw it, calls of a client reject with it. */
export class RpcError extends coded<ErrorCode>('HW_RPC_FAILED') {
  /**
   * @param code sent as the trailer `code`.
   * @param details the message for people, without internal information.
   * @param trailers metadata to send with it, names in lower case.
   * @param status never OK; by default the status that corresponds to the code.
   */
  constructor(
    override readonly code: ErrorCode,
    readonly details: string,
    readonly trailers: Readonly<Record<string, string>> = {},
    readonly status = STATUS[(HTTP_STATUS as Partial<Record<ErrorCode, number>>)[code] ?? 0] ?? Code.UNKNOWN,
  ) {
    super(`${Code[status]}: ${details}`)
  }
}
