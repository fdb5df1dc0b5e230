import { BITCOIN_REGTEST } from '../pipelines/chain/networks.js'
import { Database } from '../pipelines/tables/clickhouse.js'
import { Electrs } from './electrs-server.js'
import { shuffled, Supply } from './large-chain.js'
import { type LoadTool, loadTool } from './load-tool.js'
import { NETWORK } from './network.js'
import { becomeIdle, explorerOf, indexOf, settled, simulatedNode, withProcesses } from './processes.js'
import { comparison, repeated } from './repetitions.js'
import type { Figure } from './report.js'
import { bytesOnDisk, listTables } from './table-size.js'

export interface ElectrsOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly repetitions: number
  /** Seconds of each load. */
  readonly seconds: number
}

/** Connections of the loads of transactions that no cache has, and the requests per second for which there are keys. */
const COLD_LOADS = [
  { connections: 1, perSecond: 4_000 },
  { connections: 16, perSecond: 12_000 },
  { connections: 64, perSecond: 25_000 },
  { connections: 256, perSecond: 30_000 },
]
const BUSY_CONNECTIONS = 64
const BUSY_ADDRESSES = 300
/** The maximum number of blocks of whose first transactions the addresses are counted. */
const ADDRESS_BLOCKS = 200
const INDEXING_MS = 1_800_000
/** The maximum time of indexing: at least .7 of the speed of electrs. */
const MAX_INDEXING = 1.43

/**
 * Compares the Esplora API, and the index that it needs, with electrs on one simulated node: indexing from an empty folder, one after
 * the other; disk; transactions that no cache has, each requested once; and busy addresses again and again. Reads alternate, so that
 * other load on the machine affects both. They are figures of time per request, so that the bar of each is a maximum.
 * @throws Error if `ELECTRS_EXE`, the program, is not set, or the chain is not bitcoin-regtest.
 */
export async function electrs(options: ElectrsOptions): Promise<Figure[]> {
  const program = process.env['ELECTRS_EXE']
  if (NETWORK !== BITCOIN_REGTEST || program === undefined)
    throw new Error(`needs ELECTRS_EXE, the path of electrs, and CHAIN=${BITCOIN_REGTEST.name}`)
  const { blocks } = options
  return withProcesses(async (start, folder) => {
    const { url: nodeUrl, node } = await simulatedNode(start, folder, { ...options, mix: 'cheap' })
    const isLevel = async (url: string): Promise<boolean> =>
      Number(await text(`${url}/blocks/tip/height`)) === blocks
    const theirBegin = performance.now()
    const server = await Electrs.start(program, folder, nodeUrl)
    try {
      await settled(() => isLevel(server.url), INDEXING_MS, [server, node])
      const [theirMs, theirCpu] = [performance.now() - theirBegin, server.cpuSeconds()]
      const ourBegin = performance.now()
      const stack = await indexOf(start, nodeUrl, blocks)
      const { engine, poller, materializer, explorer } = stack
      const ourMs = performance.now() - ourBegin
      const ourCpu = [engine, poller, materializer, explorer].reduce(
        (sum, each) => sum + each.cpuSeconds(),
        0,
      )
      for (const each of [poller, materializer]) await each.kill('SIGTERM')
      await becomeIdle([engine, explorer])
      const plain = await explorerOf(start, { NODE_RPC_URL: nodeUrl, TX_STORE_BYTES: '0' })
      await settled(() => isLevel(plain.esploraUrl), INDEXING_MS, [plain.explorer])
      const explorers = { stored: stack.esploraUrl, plain: plain.esploraUrl }
      const keys = await keysOf(server.url, blocks)
      const load = loadTool(folder)
      const reads = await repeated(options.repetitions, () =>
        readsOf(load, keys, { ...explorers, server: server.url }, options.seconds),
      )
      const db = new Database({ url: stack.engineUrl, database: 'headwater', timeoutMs: INDEXING_MS })
      const tables = await listTables(db)
      await db.close()
      // SIGTERM first, so that the point tables write what they hold in memory.
      for (const each of [plain.explorer, explorer, engine]) await each.kill('SIGTERM')
      await server.stop()
      const perTx = (seconds: number): number => (seconds * 1e6) / keys.count
      const bytes = (await bytesOnDisk(tables)).reduce((sum, each) => sum + each.bytes, 0)
      return [
        { ...comparison('indexing', 's', ourMs / 1000, theirMs / 1000), maxRatio: MAX_INDEXING },
        comparison('indexing_cpu_per_tx', 'µs', perTx(ourCpu), perTx(theirCpu)),
        { ...comparison('disk', 'MB', bytes / 1e6, (await server.size()) / 1e6), maxRatio: 1 },
        ...reads,
      ]
    } finally {
      await server.stop()
    }
  })
}

/** The URLs of the Esplora APIs. */
interface Servers {
  readonly server: string
  /** An explorer with its transaction store, which has all transactions of the chain. */
  readonly stored: string
  /** An explorer that reads all of them from the database, as those of a chain that exceed the store. */
  readonly plain: string
}

interface Keys {
  /** The number of transactions of the chain. */
  readonly count: number
  /** Each is used once. */
  readonly txids: Supply<string>
  readonly addresses: readonly string[]
}

async function readsOf(
  load: LoadTool,
  { txids, addresses }: Keys,
  { server, stored, plain }: Servers,
  seconds: number,
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { connections, perSecond } of COLD_LOADS) {
    const paths = txids.take(perSecond * seconds + connections).map((txid) => `/tx/${txid}`)
    const at = async (url: string): Promise<number> =>
      1000 / (await load({ url, paths, once: true, connections, seconds })).requestsPerSecond
    const [ours, theirs, fromDatabase] = [await at(stored), await at(server), await at(plain)]
    const name = `tx_cold_${String(connections)}`
    figures.push(
      { ...comparison(name, 'ms', ours, theirs), maxRatio: 1 },
      comparison(`${name}_without_store`, 'ms', fromDatabase, theirs),
    )
  }
  for (const kind of ['', '/txs', '/utxo']) {
    const paths = addresses.map((address) => `/address/${address}${kind}`)
    const at = async (url: string): Promise<number> =>
      1000 /
      (await load({ url, paths, once: false, connections: BUSY_CONNECTIONS, seconds })).requestsPerSecond
    const [ours, theirs] = [await at(stored), await at(server)]
    figures.push({ ...comparison(`address${kind.replace('/', '_')}_busy`, 'ms', ours, theirs), maxRatio: 1 })
  }
  return figures
}

/** Returns all txids of a chain, in random order, and the addresses that its newest blocks pay most often. */
async function keysOf(url: string, blocks: number): Promise<Keys> {
  const txids: string[] = []
  const counts = new Map<string, number>()
  for (let height = blocks; height > 0; height--) {
    const hash = await text(`${url}/block-height/${String(height)}`)
    txids.push(...(JSON.parse(await text(`${url}/block/${hash}/txids`)) as string[]))
    if (height <= blocks - ADDRESS_BLOCKS) continue
    const page = JSON.parse(await text(`${url}/block/${hash}/txs`)) as {
      readonly vout: readonly { readonly scriptpubkey_address?: string }[]
    }[]
    for (const { scriptpubkey_address: address } of page.flatMap(({ vout }) => vout))
      if (address !== undefined) counts.set(address, (counts.get(address) ?? 0) + 1)
  }
  const busiest = [...counts].sort(([, one], [, other]) => other - one).slice(0, BUSY_ADDRESSES)
  return {
    count: txids.length,
    txids: new Supply(shuffled(txids)),
    addresses: busiest.map(([address]) => address),
  }
}

const text = async (url: string): Promise<string> => (await fetch(url)).text()
