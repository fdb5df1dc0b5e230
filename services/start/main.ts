import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { pause } from '../../pipelines/pause.js'
import { findNetwork, NETWORKS } from '../../pipelines/chain/networks.js'
import { StartRefused, UsageError } from '../../pipelines/errors.js'
import { childEnvironment } from '../config.js'
import { runService, untilAborted, type ServiceContext } from '../process/lifecycle.js'
import { explorerPorts, type ExplorerPorts } from '../process/explorer-ports.js'
import { availablePort, hostInUrl, reachable } from '../process/ports.js'
import { launchScript, Supervised } from '../process/supervised.js'
import { holdFolder } from '../process/only-one.js'

const LOOK_AGAIN_MS = 100
/** The time to wait for live data before the ready line: a real node may have a long history, or be unreachable. */
const LIVE_WAIT_MS = 15_000
const SERVICE_STOP_MS = 10_000
/** Longer than for services: the engine waits for requests in progress and closes its tables. */
const ENGINE_STOP_MS = 30_000
/** Options of the simulator: the length of its history and the interval of its blocks. */
const SIMNODE = ['--days', '30', '--block-interval-ms', '10000', '--txs-per-block', '20']
/** The definitions of the mining pools of the simulated chain. */
const SIMULATED_POOLS = fileURLToPath(new URL('../../../deploy/pools.json', import.meta.url))

/** The same options as in `npm run docs`: without a limit, garbage would double the memory before Node collects it. */
const DOCS_MEMORY = ['--max-old-space-size=192', '--max-semi-space-size=1']

await runService('start', run, { stopDeadlineMs: 7 * SERVICE_STOP_MS + ENGINE_STOP_MS + 5000 })

/** Starts all processes that no URL replaces, prints the ready line, restarts processes that exit, and stops them in reverse order. */
async function run(context: ServiceContext): Promise<void> {
  const { config, signal } = context
  const chain = chainOf(context.args) ?? config.chain
  await mkdir(config.dataDir, { recursive: true })
  const release = await holdFolder(config.dataDir)
  // Chosen here, also a free one for port 0, so that a restarted service keeps its port.
  const portFor = (port: number, what: string) => availablePort(port, config.host, what)
  const ports = {
    explorer: await explorerPorts(config),
    docs: await portFor(config.docsPort, 'the documentation (DOCS_PORT)'),
    retrieval: await portFor(config.retrievalGrpcPort, 'gRPC of retrieval (RETRIEVAL_GRPC_PORT)'),
  }
  const refused = new AbortController()
  let refusal = ''
  const services = plan(context, { ports, chain }, (name) => {
    refusal = `${name} cannot run with this configuration (see the error above), stopping`
    refused.abort()
  })
  const over = AbortSignal.any([signal, refused.signal])
  for (const service of services) service.start()
  try {
    const host = hostInUrl(config.host)
    const http = ports.explorer.EXPLORER_PORT
    const [explorer, docs] = [http, ports.docs].map((port) => `http://${host}:${String(port)}`)
    const local = `http://${reachable(config.host)}`
    const ready = await Promise.all([
      answers(`${local}:${http}/health`, over, liveSoon()),
      answers(`${local}:${String(ports.docs)}/api/search?query=headwater`, over, () => true),
    ])
    if (ready.every(Boolean)) process.stdout.write(`ready explorer=${explorer ?? ''} docs=${docs ?? ''}\n`)
    await untilAborted(over)
  } finally {
    for (const service of [...services].reverse()) await service.stop()
    release()
  }
  if (refused.signal.aborted) throw new StartRefused(refusal)
}

/** Requests a URL until it returns a success whose body is accepted. @returns false if `over` is aborted before. */
async function answers(url: string, over: AbortSignal, isReady: (body: string) => boolean): Promise<boolean> {
  while (!over.aborted) {
    const isGood = await fetch(url, { signal: AbortSignal.any([over, AbortSignal.timeout(5000)]) })
      .then(async (response) => response.ok && isReady(await response.text()))
      .catch(() => false)
    if (isGood) return true
    await pause(LOOK_AGAIN_MS, over)
  }
  return false
}

/** Returns a function that accepts an answer of `/health` with live data, and any answer after a while. */
function liveSoon(): (health: string) => boolean {
  let answeredAt: number | undefined
  return (health) => {
    answeredAt ??= Date.now()
    const { indexerStatus } = JSON.parse(health) as { readonly indexerStatus?: string }
    return indexerStatus === 'live' || Date.now() - answeredAt > LIVE_WAIT_MS
  }
}

/** Returns the value of `--chain`, the name of the chain to simulate or to follow, undefined without it. @throws UsageError */
function chainOf(args: readonly string[]): string | undefined {
  let chain: string | undefined
  try {
    chain = parseArgs({ args: [...args], options: { chain: { type: 'string' } } }).values.chain
  } catch (error) {
    throw new UsageError(
      `${error instanceof Error ? error.message : String(error)} (npm start -- --chain NAME)`,
    )
  }
  if (chain === undefined || findNetwork(chain) !== undefined) return chain
  throw new UsageError(`--chain must be one of ${[...NETWORKS.keys()].join(', ')}, got '${chain}'`)
}

/** The ports of the processes, and their chain. */
interface Choices {
  readonly ports: { readonly explorer: ExplorerPorts; readonly docs: number; readonly retrieval: number }
  readonly chain: string | undefined
}

/** Returns the processes in the order of their start. */
function plan(
  { config, logger }: ServiceContext,
  { ports, chain }: Choices,
  onRefused: (name: string) => void,
): Supervised[] {
  const env = childEnvironment({
    ...ports.explorer,
    DOCS_PORT: String(ports.docs),
    RETRIEVAL_GRPC_PORT: String(ports.retrieval),
    DATA_DIR: config.dataDir,
    ...(chain === undefined ? {} : { CHAIN: chain }),
    ...((config.nodeRpcUrl ?? config.poolsFile) === undefined ? { POOLS_FILE: SIMULATED_POOLS } : {}),
  })
  const service = (
    name: string,
    args: readonly string[] = [],
    stopDeadlineMs = SERVICE_STOP_MS,
    nodeArgs: readonly string[] = [],
  ): Supervised => {
    const script = fileURLToPath(new URL(`../${name}/main.js`, import.meta.url))
    const launch = () => launchScript({ script, args, nodeArgs, env })
    return new Supervised({ name, launch, stopDeadlineMs, logger, onRefused })
  }
  const state = [
    '--data-dir',
    join(config.dataDir, 'simnode'),
    '--state-file',
    join(config.dataDir, 'simnode.json'),
  ]
  return [
    ...(config.clickhouseUrl === undefined ? [service('engine', [], ENGINE_STOP_MS)] : []),
    ...(config.nodeRpcUrl === undefined ? [service('simnode', [...SIMNODE, ...state])] : []),
    service('poller'),
    service('materializer'),
    service('explorer'),
    ...(config.webhooksFile === undefined ? [] : [service('webhooks')]),
    service('retrieval'),
    service('docs', ['--explorer-port', ports.explorer.EXPLORER_PORT], SERVICE_STOP_MS, DOCS_MEMORY),
  ]
}
