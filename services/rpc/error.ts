import { status } from '@grpc/grpc-js'
import { coded, type ErrorCode, HTTP_STATUS } from '../../pipelines/errors.js'

/** The status codes of gRPC. */
export const Code = status
export type Code = status

/** Those that correspond to a status of HTTP. */
const STATUS: Readonly<Partial<Record<number, Code>>> = {
  400: Code.INVALID_ARGUMENT,
  401: Code.UNAUTHENTICATED,
  404: Code.NOT_FOUND,
  429: Code.RESOURCE_EXHAUSTED,
  500: Code.INTERNAL,
  503: Code.UNAVAILABLE,
}

/** How a call fails, on both ends: the server's handlers throw it, the client's calls reject with it. */
export class RpcError extends coded<ErrorCode>('HW_RPC_FAILED') {
  /**
   * @param code sent as the trailer `code`.
   * @param details for people; nothing from inside.
   * @param trailers metadata that goes along, lower case.
   * @param status never OK; where left out the one of the code.
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
