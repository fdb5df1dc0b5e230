/**
 * Starts Headwater on a node with the command line of Blockstream's and romanz' electrs, for test suites of wallets that start a node and
 * an electrs: `ELECTRS_EXE=…/deploy/electrs-shim`. Plain JavaScript without packages.
 */
import { Buffer } from 'node:buffer'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
/** The time that the processes have to stop. */
const STOP_MS = 5_000
/** The time without a change after which the node is asked for news. */
const QUIET_MS = 400
/** The options of electrs that have a meaning here. */
const OPTIONS = {
  'db-dir': { type: 'string' },
  network: { type: 'string' },
  cookie: { type: 'string' },
  'cookie-file': { type: 'string' },
  auth: { type: 'string' },
  'daemon-rpc-addr': { type: 'string' },
  'daemon-dir': { type: 'string' },
  'electrum-rpc-addr': { type: 'string' },
  'http-addr': { type: 'string' },
  // Accepted, and without effect.
  'daemon-p2p-addr': { type: 'string' },
  'monitoring-addr': { type: 'string' },
  'log-filters': { type: 'string' },
  cors: { type: 'string' },
  'jsonrpc-import': { type: 'boolean' },
  timestamp: { type: 'boolean' },
  verbose: { type: 'boolean', short: 'v', multiple: true },
}

const { values } = parseArgs({ options: OPTIONS, strict: false })
const rpc = values['daemon-rpc-addr'] ?? '127.0.0.1:18443'
const electrum = addressOf(values['electrum-rpc-addr'] ?? '127.0.0.1:60401')
const esplora = values['http-addr'] === undefined ? undefined : addressOf(values['http-addr'])
const dataDir = join(values['db-dir'] ?? './db', 'headwater')
mkdirSync(dataDir, { recursive: true })

const env = {
  ...process.env,
  DATA_DIR: dataDir,
  NODE_RPC_URL: `http://${credentials()}@${rpc}`,
  HOST: electrum.host,
  ELECTRUM_PORT: electrum.port,
  ESPLORA_PORT: esplora?.port ?? '',
  EXPLORER_PORT: '0',
  EXPLORER_GRPC_PORT: '0',
  BROADCAST: 'true',
  RATE_LIMIT_PER_MINUTE: '0',
  ESPLORA_RATE_LIMIT_PER_MINUTE: '0',
  ELECTRUM_RATE_LIMIT_PER_MINUTE: '0',
  BROADCAST_RATE_LIMIT_PER_MINUTE: '0',
  // News is asked for by `followNode`, and by signals.
  POLL_INTERVAL_MS: process.env.POLL_INTERVAL_MS ?? '60000',
  NODE_WAIT_FOR_BLOCKS: 'false',
  LOG_LEVEL: process.env.LOG_LEVEL ?? (values.verbose === undefined ? 'error' : 'warn'),
}
// An engine of its own unless one is named: the tables of each data folder are then a database of that engine.
if (process.env.CLICKHOUSE_URL !== undefined)
  env.CLICKHOUSE_DATABASE = `shim_${String(process.pid)}_${Date.now()}`
const metricsPort = await freePort()
env.POLLER_METRICS_PORT = String(metricsPort)
let isStopping = false
const children = []
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0))
if (process.env.CLICKHOUSE_URL === undefined) start('engine')
const poller = start('poller')
start('materializer')
await untilPolled()
start('explorer')
const poll = () => poller.kill('SIGUSR1')
// By this signal the crate electrsd asks for an update.
process.on('SIGUSR1', poll)
void followNode()

/** Starts a process, which stops when its channel closes, so also if this process is killed. */
function start(name) {
  const script = join(ROOT, 'dist', 'services', name, 'main.js')
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 2, 2, 'ipc'] })
  child.once('exit', (code, signal) => {
    if (isStopping) return
    process.stderr.write(`electrs-shim: ${name} exited (${signal ?? String(code)})\n`)
    stop(1)
  })
  children.push(child)
  return child
}

/** Waits for the first poll: it must not come while a test, which waits for the explorer, already mines blocks. */
async function untilPolled() {
  for (;;) {
    const health = await fetch(`http://127.0.0.1:${metricsPort}/health`)
      .then((response) => response.json())
      .catch(() => undefined)
    if (health?.height >= 0) return
    await sleep(50)
  }
}

function stop(status) {
  if (isStopping) return
  isStopping = true
  for (const child of children) child.kill('SIGTERM')
  const running = () => children.some(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  const end = Date.now() + STOP_MS
  const watch = setInterval(() => {
    if (running() && Date.now() < end) return
    clearInterval(watch)
    for (const child of children) child.kill('SIGKILL')
    process.exit(status)
  }, 20)
}

/**
 * Makes the poller ask for news when the node has changed, and then not for a while: tests mine several blocks, and take the first message
 * about a tip for one about the last of them.
 */
async function followNode() {
  let polled
  let before
  while (!isStopping) {
    await sleep(QUIET_MS)
    const now = await nodeState().catch(() => undefined)
    if (now !== undefined && now === before && now !== polled) {
      poll()
      polled = now
    }
    before = now
  }
}

/** Returns tip and mempool of the node as a text. */
async function nodeState() {
  const calls = ['getbestblockhash', 'getrawmempool'].map((method, id) => ({ id, method, params: [] }))
  const authorization = `Basic ${Buffer.from(decodeURIComponent(credentials())).toString('base64')}`
  const body = JSON.stringify(calls)
  const response = await fetch(`http://${rpc}/`, { method: 'POST', headers: { authorization }, body })
  const answers = await response.json()
  return JSON.stringify(answers.map(({ result }) => result))
}

/** Returns user and password for the node, as a URL has them. */
function credentials() {
  const { cookie, auth } = values
  const file = values['cookie-file'] ?? join(values['daemon-dir'] ?? '', '.cookie')
  const text = (cookie ?? auth ?? readFileSync(file, 'utf8')).trim()
  const at = text.indexOf(':')
  return [text.slice(0, at), text.slice(at + 1)].map(encodeURIComponent).join(':')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

function addressOf(text) {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: text.slice(at + 1) }
}
