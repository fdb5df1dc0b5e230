import { createHash } from 'node:crypto'
import { coded, errorBody, HTTP_STATUS, type ClientError } from '../../../pipelines/errors.js'

/** A complete answer. */
export interface Reply {
  readonly status: number
  /** Value of Content-Type. */
  readonly type: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json; charset=utf-8'
export const MARKDOWN = 'text/markdown; charset=utf-8'
export const PLAIN = 'text/plain; charset=utf-8'
export const HTML = 'text/html; charset=utf-8'

/** The header of answers that must not be stored. */
export const NO_STORE = { 'cache-control': 'no-store' } as const

/** An answer with a 4xx or 5xx status, which a handler throws. The client receives its message. */
export class Refusal extends coded<ClientError>('HW_DEFECT') {
  constructor(
    override readonly code: ClientError,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    /** Fields of the body beside `error` and `code`. */
    readonly fields: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, type: JSON_TYPE, body: JSON.stringify(value), headers }
}

export function text(type: string, body: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status: 200, type, body, headers }
}

/** Returns the answer for a refusal: JSON with `error`, `code` and the fields of the refusal. */
export function refusalReply({ code, message, headers, fields }: Refusal): Reply {
  const body = JSON.stringify(errorBody(code, message, fields))
  return { status: HTTP_STATUS[code], type: JSON_TYPE, body, headers: { ...NO_STORE, ...headers } }
}

export function etagOf(body: string | Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
}
