export type LogAddress =
  | { readonly kind: 'embedded'; readonly folder: string }
  | { readonly kind: 'kafka'; readonly brokers: readonly string[]; readonly prefix: string }

const DEFAULT_PREFIX = 'headwater'
const KAFKA = /^kafka:\/\/([\w.-]+:\d{1,5}(?:,[\w.-]+:\d{1,5})*)(?:\/([\w.-]{1,200})?)?$/

const EMBEDDED = 'sqlite:///'

/**
 * Parses the URL of a log: `sqlite:///folder`, or `kafka://host:port,host:port` with an optional `/prefix` of its topic names.
 * @throws Error for any other URL; the message does not contain it, because it may contain credentials.
 */
export function parseLogUrl(url: string): LogAddress {
  const [, brokers, prefix = DEFAULT_PREFIX] = KAFKA.exec(url) ?? []
  if (brokers !== undefined) return { kind: 'kafka', brokers: brokers.split(','), prefix }
  if (url.startsWith(EMBEDDED) && URL.canParse(url))
    return { kind: 'embedded', folder: decodeURIComponent(new URL(url).pathname) }
  throw new Error(
    'must be sqlite:///folder or kafka://host:port,host:port/prefix (credentials go into KAFKA_*)',
  )
}
