import { status } from '@grpc/grpc-js'

/** The status codes of gRPC. */
export const Code = status
export type Code = status

/** How a call fails, on both ends: the server's handlers throw it, the client's calls reject with it. */
export class RpcError extends Error {
  override readonly name = 'RpcError'

  /**
   * @param code never OK.
   * @param details for people; nothing from inside.
   * @param trailers metadata that goes along, lower case.
   */
  constructor(
    readonly code: Code,
    readonly details: string,
    readonly trailers: Readonly<Record<string, string>> = {},
  ) {
    super(`${Code[code]}: ${details}`)
  }
}
