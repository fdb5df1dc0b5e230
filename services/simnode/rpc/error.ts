/** An error as the node answers it: a JSON-RPC code and the HTTP status that goes with it. */
export class RpcError extends Error {
  override readonly name = 'RpcError'

  constructor(
    readonly code: number,
    message: string,
    readonly status = 500,
  ) {
    super(message)
  }
}

export const NOT_FOUND = -5
export const BAD_PARAMETER = -8
export const WRONG_TYPE = -3
export const METHOD_NOT_FOUND = -32601
export const INVALID_REQUEST = -32600
export const PARSE_ERROR = -32700
