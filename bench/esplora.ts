import { startBareServer, storedAnswers } from './bare-server.js'
import { shuffled } from './large-chain.js'
import { loadTool } from './load-tool.js'
import { indexedExplorer, withPeakSize, withProcesses } from './processes.js'
import { comparison, repeated } from './repetitions.js'
import type { Figure } from './report.js'

export interface EsploraOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly repetitions: number
  /** Seconds of each load of answers from memory. */
  readonly seconds: number
}

const HOT_CONNECTIONS = 64
const COLD_CONNECTIONS = [1, 16, 64, 256] as const
/** The paths of a load of answers from memory. */
const HOT_PATHS = 50
/** Blocks of which the addresses and the pages are read. */
const LAST_BLOCKS = 400
const COLD_SECONDS = 1

interface Keys {
  readonly txids: readonly string[]
  readonly addresses: readonly string[]
  readonly blocks: readonly string[]
}

type Kind = 'tx' | 'address' | 'address_txs' | 'address_utxo' | 'block_txs'

const PATHS: Readonly<Record<Kind, (keys: Keys) => readonly string[]>> = {
  tx: ({ txids }) => txids.map((txid) => `/tx/${txid}`),
  address: ({ addresses }) => addresses.map((address) => `/address/${address}`),
  address_txs: ({ addresses }) => addresses.map((address) => `/address/${address}/txs`),
  address_utxo: ({ addresses }) => addresses.map((address) => `/address/${address}/utxo`),
  block_txs: ({ blocks }) => blocks.map((hash) => `/block/${hash}/txs`),
}

/**
 * Measures the Esplora API: answers from memory against a bare handler of `node:http` that sends the same headers and bytes, and answers
 * that were never requested before, by the number of connections. The two of a comparison alternate, so that other load on the machine
 * affects both.
 */
export function esplora(options: EsploraOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const { esploraUrl: url, explorer } = await indexedExplorer(start, folder, options)
    const keys = await keysOf(url, options.blocks)
    const load = loadTool(folder)
    const unused = Object.fromEntries(
      Object.entries(PATHS).map(([kind, pathsOf]) => [kind, [...pathsOf(keys)].slice(HOT_PATHS)]),
    ) as Record<Kind, string[]>
    const measure = async (): Promise<Figure[]> => {
      const figures: Figure[] = []
      for (const kind of Object.keys(PATHS) as Kind[]) {
        const paths = PATHS[kind](keys).slice(0, HOT_PATHS)
        const requests = { paths, once: false, connections: HOT_CONNECTIONS, seconds: options.seconds }
        const bare = await startBareServer(await storedAnswers(url, paths), 'node:http')
        const served = await load({ url, ...requests })
        const base = await load({ url: bare.url, ...requests })
        await bare.close()
        figures.push(
          comparison(`${kind}_hot`, 'requests/s', served.requestsPerSecond, base.requestsPerSecond),
        )
      }
      return figures
    }
    return withPeakSize(explorer, async () => {
      const hot = await repeated(options.repetitions, measure)
      const cold: Figure[] = []
      for (const connections of COLD_CONNECTIONS) {
        const paths = unused.tx.splice(0, Math.floor(keys.txids.length / (COLD_CONNECTIONS.length + 1)))
        const requests = { paths, once: true, connections, seconds: COLD_SECONDS }
        const { requestsPerSecond, p50Ms, p99Ms } = await load({ url, ...requests })
        const name = `tx_cold_${String(connections)}`
        cold.push(
          { name, value: requestsPerSecond, unit: 'requests/s' },
          { name: `${name}_p50`, value: p50Ms, unit: 'ms' },
          { name: `${name}_p99`, value: p99Ms, unit: 'ms' },
        )
      }
      return [...hot, ...cold]
    })
  })
}

/** Returns the keys of the chain, in random order. */
async function keysOf(url: string, blocks: number): Promise<Keys> {
  const json = async (path: string): Promise<unknown> => (await fetch(url + path)).json()
  const hashes: string[] = []
  const txids: string[] = []
  const addresses = new Set<string>()
  for (let height = blocks; height > 0; height--) {
    const hash = await (await fetch(`${url}/block-height/${String(height)}`)).text()
    txids.push(...((await json(`/block/${hash}/txids`)) as string[]))
    if (height <= blocks - LAST_BLOCKS) continue
    hashes.push(hash)
    const page = (await json(`/block/${hash}/txs`)) as {
      readonly vout: readonly { readonly scriptpubkey_address?: string }[]
    }[]
    for (const { vout } of page)
      for (const { scriptpubkey_address: address } of vout) if (address !== undefined) addresses.add(address)
  }
  return { txids: shuffled(txids), addresses: shuffled([...addresses]), blocks: shuffled(hashes) }
}
