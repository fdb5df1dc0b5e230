import { type ClientError, coded } from '../../../../pipelines/errors.js'
import type { Failure } from '../../core/answering/failure.js'

/** The codes of errors: those of the protocol, of JSON-RPC, and of ElectrumX. */
export const CODE = {
  badRequest: 1,
  node: 2,
  unparsable: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  excessive: -101,
  busy: -102,
} as const

/** Thrown for a request that has an error for its answer. */
export class Refusal extends coded('HW_INVALID_ARGUMENT') {
  /** @param rpcCode the code of the answer, one of `CODE`. */
  constructor(
    readonly rpcCode: number,
    message: string,
  ) {
    super(message)
  }
}

/** The failures after which the request may succeed a moment later. */
const PASSING: ReadonlySet<ClientError> = new Set([
  'HW_OVERLOADED',
  'HW_NOT_READY',
  'HW_SYNCING',
  'HW_DATABASE_UNAVAILABLE',
])

/** Returns whether a request may succeed if it is repeated soon. */
export const isPassing = ({ code }: Failure): boolean => PASSING.has(code)

/** Returns the error for a failure. @param absent the code for something that does not exist. */
export function refusalOf(failure: Failure, absent: number = CODE.badRequest): Refusal {
  const { code, message } = failure
  if (code === 'HW_NOT_FOUND') return new Refusal(absent, message)
  if (code === 'HW_NODE_UNAVAILABLE') return new Refusal(CODE.node, `daemon error: ${message}`)
  if (code === 'HW_DEFECT') return new Refusal(CODE.internal, message)
  if (isPassing(failure)) return new Refusal(CODE.busy, `server busy: ${message}`)
  return new Refusal(CODE.badRequest, message)
}
