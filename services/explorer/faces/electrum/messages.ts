import { CODE, Refusal } from './refusal.js'
import { spelled } from './values.js'

/** The form of the answers of a connection: that of JSON-RPC 1.0 has `result` and `error` in each. */
export type Form = '1.0' | '2.0'

/** The id of a request. */
export type Id = string | number | boolean

/** A request for an answer. */
export interface Call {
  readonly id: Id
  /** As it was sent. */
  readonly method: unknown
  readonly params: unknown
}

/** A message that has an error for its answer before it is a call. */
export interface Malformed {
  readonly id: Id | null
  readonly refusal: Refusal
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses a message, of which transports deliver the bytes or the text. @throws Refusal. */
export function parsed(message: Uint8Array | string): unknown {
  let text: string
  try {
    text = typeof message === 'string' ? message : UTF8.decode(message)
  } catch {
    throw new Refusal(CODE.unparsable, 'messages must be encoded in UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(CODE.unparsable, 'invalid JSON')
  }
}

/** Returns the call of a message; undefined if the message wants no answer: a notification, or an answer. */
export function callOf(message: unknown): Call | Malformed | undefined {
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    return {
      id: null,
      refusal: new Refusal(CODE.invalidRequest, 'request object must be a dictionary'),
    }
  if (!('method' in message)) return undefined
  const { id, method, params } = message as {
    readonly id?: unknown
    readonly method: unknown
    readonly params?: unknown
  }
  if (id === undefined || id === null) return undefined
  if (typeof id === 'object')
    return { id: null, refusal: new Refusal(CODE.invalidRequest, `invalid "id": ${spelled(id)}`) }
  return { id: id as Id, method, params }
}

/** Returns the form in which a client wants its answers, by its first message. */
export function formOf(message: unknown): Form {
  const first: unknown = Array.isArray(message) ? message[0] : message
  const { jsonrpc } = (first ?? {}) as { readonly jsonrpc?: unknown }
  return jsonrpc === '1.0' ? '1.0' : '2.0'
}

/** Returns the answer with a result. @param json the result as JSON. */
export const resultText = (form: Form, id: Id, json: string): string =>
  form === '1.0'
    ? `{"result":${json},"error":null,"id":${JSON.stringify(id)}}`
    : `{"jsonrpc":"2.0","result":${json},"id":${JSON.stringify(id)}}`

/** Returns the answer with an error. */
export function errorText(form: Form, id: Id | null, { rpcCode: code, message }: Refusal): string {
  const error = JSON.stringify({ code, message })
  return form === '1.0'
    ? `{"result":null,"error":${error},"id":${JSON.stringify(id)}}`
    : `{"jsonrpc":"2.0","error":${error},"id":${JSON.stringify(id)}}`
}

/** Returns a message to a subscriber. @param params as JSON. */
export const notificationText = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":${params}}`
