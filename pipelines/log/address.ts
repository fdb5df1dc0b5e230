export type LogAddress =
  | { readonly kind: 'lmdb'; readonly folder: string }
  | { readonly kind: 'kafka'; readonly brokers: readonly string[]; readonly prefix: string }

const DEFAULT_PREFIX = 'headwater'
const KAFKA = /^kafka:\/\/([\w.-]+:\d{1,5}(?:,[\w.-]+:\d{1,5})*)(?:\/([\w.-]{1,200})?)?$/

/**
 * Where a log is: `lmdb:///folder`, or `kafka://host:port,host:port` with `/prefix` for what its topics' names begin with.
 * @throws for anything else; the message does not repeat it, for it may hold credentials.
 */
export function parseLogUrl(url: string): LogAddress {
  const [, brokers, prefix = DEFAULT_PREFIX] = KAFKA.exec(url) ?? []
  if (brokers !== undefined) return { kind: 'kafka', brokers: brokers.split(','), prefix }
  if (url.startsWith('lmdb:///') && URL.canParse(url))
    return { kind: 'lmdb', folder: decodeURIComponent(new URL(url).pathname) }
  throw new Error(
    'must be lmdb:///folder or kafka://host:port,host:port/prefix (credentials go into KAFKA_*)',
  )
}
