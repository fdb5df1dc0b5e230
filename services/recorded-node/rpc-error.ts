/** An error as Bitcoin Core answers it. */
export class RpcError extends Error {
  override readonly name = 'RpcError'

  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message)
  }

  /** HTTP status that goes with it. */
  get status(): number {
    if (this.code === METHOD_NOT_FOUND) return 404
    return this.code === INVALID_REQUEST ? 400 : 500
  }
}

export const NOT_FOUND = -5
export const INVALID_PARAMETER = -8
export const TYPE_ERROR = -3
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const PARSE_ERROR = -32700
