export type LogAddress =
  | { readonly kind: 'embedded'; readonly folder: string }
  | { readonly kind: 'kafka'; readonly brokers: readonly string[]; readonly prefix: string }

const DEFAULT_PREFIX = 'headwater'
const KAFKA = /^kafka:\/\/([\w.-]+:\d{1,5}(?:,[\w.-]+:\d{1,5})*)(?:\/([\w.-]{1,200})?)?$/

/** `lmdb:` is its name of old, when the log was kept in LMDB. */
const EMBEDDED = /^(?:sqlite|lmdb):\/\/\//

/**
 * Where a log is: `sqlite:///folder`, or `kafka://host:port,host:port` with `/prefix` for what its topics' names begin with.
 * @throws for anything else; the message does not repeat it, for it may hold credentials.
 */
export function parseLogUrl(url: string): LogAddress {
  const [, brokers, prefix = DEFAULT_PREFIX] = KAFKA.exec(url) ?? []
  if (brokers !== undefined) return { kind: 'kafka', brokers: brokers.split(','), prefix }
  if (EMBEDDED.test(url) && URL.canParse(url))
    return { kind: 'embedded', folder: decodeURIComponent(new URL(url).pathname) }
  throw new Error(
    'must be sqlite:///folder or kafka://host:port,host:port/prefix (credentials go into KAFKA_*)',
  )
}
