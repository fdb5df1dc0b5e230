import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../services/process/ports.js'
import { ElectrumClient } from '../test/harness/electrum-client.js'
import { ROOT, ServiceProcess } from '../test/harness/processes.js'
import { type ClientsTarget, ElectrumClients, type Expected, type Round } from './electrum-clients.js'
import { type ElectrumSizes, hashesOf, type Owner } from './electrum-scripts.js'
import { type Opening, openInBatches, openInLines, requestsPerSecond, statusOf } from './electrum-wallet.js'
import { withElectrumX } from './electrumx.js'
import { NETWORK } from './network.js'
import { controlNode } from './node-control.js'
import {
  becomeIdle,
  chainHeight,
  explorerOf,
  indexOf,
  settled,
  type Stack,
  withPeakSize,
  withProcesses,
} from './processes.js'
import { median, percentile } from './repetitions.js'
import type { Figure } from './report.js'

export interface ElectrumOptions extends ElectrumSizes {
  readonly blocks: number
  readonly blockIntervalMs: number
  /** Seconds of a load of answers from memory. */
  readonly seconds: number
}

/** Milliseconds from the event of the feed to the 99th percentile of the notifications. */
const MAX_NOTIFICATION_MS = 100
/** The share of the time in which ElectrumX sends all statuses and histories of the wallet. */
const MAX_OF_ELECTRUMX = 0.1
/** The memory of a subscription. */
const MAX_BYTES = 600
/** The time in which memory of connecting is released. */
const REST_MS = 3_000
const HOT_SCRIPTS = 50
/** The sizes of a single client with one script. */
const ONE = { clients: 1, scriptsOfClient: 1 }
const LOADED = 'blockchain.scripthash.get_history'

/** Returns the environment of an explorer that collects its garbage on SIGUSR2, and writes the bytes that it uses to a file. */
const collecting = (file: string): Record<string, string> => ({
  NODE_OPTIONS: `--expose-gc --import ${pathToFileURL(join(ROOT, 'dist/bench/collect-on-signal.js')).href}`,
  COLLECTED_FILE: file,
})

/**
 * Measures the Electrum protocol.
 *
 * - Clients with 100 subscriptions each, and blocks that pay one script of every client: the time from the event of the feed, which a
 *   WebSocket client in the same process receives, to the header and to the status on each client. The explorer waits 10 ms with a header, in
 *   case another block follows; this is part of the time. The memory of a subscription is what the explorer grows by when the clients
 *   connect for the second time: its caches are as full as they will be.
 * - A wallet of used scripts that opens, in batches as Sparrow and in lines as Electrum, each on an explorer that has just started.
 * - A script with a long history, as many transactions as an answer may have: its status, history, balance and unspent outputs, and the
 *   time of its notification.
 * - Histories per second, from memory and not.
 *
 * With `ELECTRUMX_EXE` (the program electrumx_server of PyPI's `e-x` 1.20.0) and Bitcoin's chain, the wallet and the load are also measured on
 * ElectrumX, which follows the same node, while the other processes have nothing to do.
 */
export function electrum(options: ElectrumOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const port = await freePort()
    const { blocks: _, blockIntervalMs: __, seconds, ...sizes } = options
    const args = [String(port), JSON.stringify(sizes)]
    const log = join(folder, 'electrum-node.log')
    const node = new ServiceProcess(
      'electrum-node',
      { CHAIN: NETWORK.name },
      log,
      args,
      'bench/electrum-node.js',
    )
    const nodeUrl = `http://bench:bench@127.0.0.1:${String(port)}`
    try {
      node.start()
      await settled(async () => (await controlNode(nodeUrl, 'state', 'GET')).height > 0, 300_000, [node])
      const { height } = await controlNode(nodeUrl, 'state', 'GET')
      const memoryFile = join(folder, 'memory')
      const stack = await indexOf(start, nodeUrl, height, collecting(memoryFile))
      const { engine, poller, materializer } = stack
      await becomeIdle([engine, materializer])
      const figures = await withPeakSize(stack.explorer, async () => [
        ...(await subscriptions(stack, options, memoryFile)),
        ...(await merchant(stack, options)),
      ])
      await Promise.all([poller, materializer, stack.explorer].map((each) => each.kill('SIGTERM')))

      const wallet = hashesOf('wallet', options.walletScripts)
      const clients = hashesOf('client', options.clients * options.scriptsOfClient)
      const fresh = async <T>(work: (electrumPort: number) => Promise<T>): Promise<T> => {
        const { url, electrumPort, explorer } = await explorerOf(start, { NODE_RPC_URL: nodeUrl })
        await settled(async () => ((await chainHeight(url)) ?? -1) >= height, 60_000, [explorer])
        await becomeIdle([engine, explorer])
        const result = await work(electrumPort)
        await explorer.kill('SIGTERM')
        return result
      }
      const load = async (electrumPort: number): Promise<Load> => ({
        cold: await requestsPerSecond({ port: electrumPort, method: LOADED, hashes: clients }),
        hot: await requestsPerSecond({
          port: electrumPort,
          method: LOADED,
          hashes: wallet.slice(0, HOT_SCRIPTS),
          seconds,
        }),
      })
      const batches = await fresh((electrumPort) => openInBatches(electrumPort, wallet))
      const lines = await fresh((electrumPort) => openInLines(electrumPort, wallet))
      const own = await fresh(load)
      // To its advantage: it is not started again, so it has the histories of the first opening in memory at the second one.
      const other = await withElectrumX(folder, { nodeUrl, height }, async (electrumPort) => ({
        batches: await openInBatches(electrumPort, wallet),
        lines: await openInLines(electrumPort, wallet),
        load: await load(electrumPort),
      }))
      return [
        ...figures,
        ...opening('batches', batches, other?.batches),
        ...opening('lines', lines, other?.lines),
        ...(['cold', 'hot'] as const).map((kind) => ({
          name: `histories_${kind}`,
          unit: 'requests/s',
          ...compared(own[kind], other?.load[kind]),
        })),
      ]
    } finally {
      await node.kill()
    }
  })
}

interface Load {
  readonly cold: number
  readonly hot: number
}

function opening(how: string, own: Opening, other: Opening | undefined): Figure[] {
  const histories = compared(own.histories, other?.histories)
  return [
    {
      name: `wallet_${how}_histories`,
      unit: 's',
      ...histories,
      ...(other === undefined ? {} : { maxRatio: MAX_OF_ELECTRUMX }),
    },
    { name: `wallet_${how}_transactions`, unit: 's', ...compared(own.transactions, other?.transactions) },
  ]
}

const compared = (
  value: number,
  baseline: number | undefined,
): Pick<Figure, 'value' | 'baseline' | 'ratio'> =>
  baseline === undefined ? { value } : { value, baseline, ratio: value / baseline }

/** Measures the notifications of many clients, and the memory of their subscriptions. */
async function subscriptions(
  stack: Omit<Stack, 'node'>,
  options: ElectrumOptions,
  memoryFile: string,
): Promise<Figure[]> {
  const { nodeUrl, explorer } = stack
  const target = targetOf(stack, 'client', options)
  const count = options.clients * options.scriptsOfClient
  const first = await ElectrumClients.connect(target)
  await first.close()
  const used = async (): Promise<number> => {
    await sleep(REST_MS)
    process.kill(explorer.pid ?? 0, 'SIGUSR2')
    await sleep(REST_MS)
    return Number(await readFile(memoryFile, 'utf8'))
  }
  const before = await used()
  const clients = await ElectrumClients.connect(target)
  const bytes = ((await used()) - before) / count
  const rounds = await roundsOf(clients, options, async (script) => {
    const { height } = await controlNode(nodeUrl, `pay-clients?script=${String(script)}`)
    return { height, script }
  })
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0)
  return [
    { name: 'subscriptions_cold', value: count / first.seconds, unit: 'subscriptions/s' },
    { name: 'subscriptions_again', value: count / clients.seconds, unit: 'subscriptions/s' },
    { name: 'bytes_per_subscription', value: bytes, unit: 'bytes', most: MAX_BYTES },
    ...timesOf(
      'header',
      rounds.flatMap(({ headers }) => headers),
    ),
    ...timesOf(
      'status',
      rounds.flatMap(({ statuses }) => statuses),
    ),
    { name: 'lost_notifications', value: sum(({ lost }) => lost), unit: 'messages', most: 0 },
    {
      name: 'superfluous_notifications',
      value: sum((round) => round.superfluous),
      unit: 'messages',
      most: 0,
    },
  ]
}

const targetOf = (
  { electrumPort, port }: Pick<Stack, 'electrumPort' | 'port'>,
  owner: Owner,
  { clients, scriptsOfClient }: Pick<ElectrumSizes, 'clients' | 'scriptsOfClient'>,
): ClientsTarget => ({ electrumPort, port, owner, clients, scriptsOfClient })

/** Mines blocks, and returns what the clients received, which leave then. */
async function roundsOf(
  clients: ElectrumClients,
  { blocks, blockIntervalMs }: ElectrumOptions,
  mine: (block: number) => Promise<Expected>,
): Promise<Round[]> {
  const rounds: Round[] = []
  try {
    for (let block = 0; block < blocks; block++) {
      await sleep(blockIntervalMs)
      rounds.push(await clients.round(() => mine(block)))
    }
  } finally {
    await clients.close()
  }
  return rounds
}

const timesOf = (what: string, times: readonly number[]): Figure[] => [
  { name: `${what}_notification_p50`, value: percentile(times, 0.5), unit: 'ms' },
  { name: `${what}_notification_p99`, value: percentile(times, 0.99), unit: 'ms', most: MAX_NOTIFICATION_MS },
  { name: `${what}_notification_max`, value: Math.max(...times), unit: 'ms' },
]

/** Measures a script with a long history. */
async function merchant(stack: Omit<Stack, 'node'>, options: ElectrumOptions): Promise<Figure[]> {
  const [hash = ''] = hashesOf('merchant', 1)
  const client = await ElectrumClient.connect(`127.0.0.1:${String(stack.electrumPort)}`)
  try {
    await client.result('server.version', 'bench', '1.4')
    const figures: Figure[] = []
    const timed = async (name: string, method: string): Promise<unknown> => {
      const times: number[] = []
      let result: unknown
      for (let round = 0; round < 2; round++) {
        const began = performance.now()
        result = await client.result(`blockchain.scripthash.${method}`, hash)
        times.push(performance.now() - began)
      }
      const [first = 0, again = 0] = times
      figures.push(
        { name: `long_${name}_first`, value: first, unit: 'ms' },
        { name: `long_${name}_again`, value: again, unit: 'ms' },
      )
      return result
    }
    const status = await timed('status', 'subscribe')
    const history = (await timed('history', 'get_history')) as { tx_hash: string; height: number }[]
    await timed('balance', 'get_balance')
    await timed('unspent', 'listunspent')
    if (history.length !== options.merchantTxs || statusOf(history) !== status)
      throw new Error('the long history is incorrect')
    const watching = await ElectrumClients.connect(targetOf(stack, 'merchant', ONE))
    const rounds = await roundsOf(watching, options, async () => {
      const { height } = await controlNode(stack.nodeUrl, 'pay-merchant')
      return { height, script: 0 }
    })
    const times = rounds.flatMap(({ statuses }) => statuses)
    return [...figures, { name: 'long_notification', value: median(times), unit: 'ms' }]
  } finally {
    client.close()
  }
}
