import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** Returns the key of a secret of Standard Webhooks, `whsec_` and base64 of 24 to 64 bytes; undefined for any other text. */
export function secretBytes(secret: string): Buffer | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : ''
  const key = Buffer.from(text, 'base64')
  return key.length >= 24 && key.length <= 64 && key.toString('base64') === text ? key : undefined
}

/**
 * Returns the headers of Standard Webhooks that identify and sign a body.
 * @param keys one signature is made with each.
 * @param time of this attempt, in Unix milliseconds: receivers refuse old ones.
 */
export function signedHeaders(
  { id, body }: { readonly id: string; readonly body: string },
  keys: readonly Buffer[],
  time: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(time / 1000))
  const signatures = keys.map(
    (key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  )
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
