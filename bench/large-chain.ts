import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Loaded, loadChain } from './baseline/load.js'
import { FrozenTables } from './baseline/tables.js'
import type { Cache, Format } from './cache.js'
import { NETWORK } from './network.js'
import {
  becomeIdle,
  chainHeight,
  engineOf,
  explorerOf,
  settled,
  simulatedNode,
  type Start,
} from './processes.js'

/** The database of the frozen tables. */
const FROZEN = 'frozen'
const LISTS = 'lists.json'
const INDEXING_MS = 3_600_000

export interface ChainSize {
  readonly blocks: number
  readonly txsPerBlock: number
}

/** The files that determine the simulated chain, the index of it, and the frozen tables of it. */
const CHAIN_SOURCES = [
  'services/simnode/chain',
  'services/simnode/wallet',
  'services/simnode/mempool',
  'services/simnode/simulation.ts',
  'services/simnode/random.ts',
  'pipelines/chain',
]
const INDEX_SOURCES = [
  'pipelines/events',
  'pipelines/log',
  'pipelines/materialize',
  'pipelines/tables',
  'proto/headwater/events',
]
const FROZEN_SOURCES = ['bench/baseline']

/** Bytes on disk per transaction while a part is built: merges write a table again before they remove the old one. */
const CHAIN_BYTES = 1_500
const INDEX_BYTES = 6_000
const FROZEN_BYTES = 4_000

/** The folders of a simulated chain, of its index, and of the frozen tables, and what the latter contain. */
export interface LargeChain {
  readonly blocks: number
  /** DATA_DIR of the processes. */
  readonly index: string
  /** DATA_DIR of an engine with the frozen tables. */
  readonly frozen: string
  readonly lists: Loaded
}

/** Returns a large chain, indexed by the real processes and loaded into the frozen tables, from the cache if it is there. */
export async function largeChain(start: Start, cache: Cache, size: ChainSize): Promise<LargeChain> {
  const { blocks, txsPerBlock } = size
  const txs = blocks * txsPerBlock
  const format = (...sources: readonly string[]): Format => ({
    options: [NETWORK.name, blocks, txsPerBlock],
    sources,
  })
  const chain = await cache.part('chain', format(...CHAIN_SOURCES), txs * CHAIN_BYTES, async (folder) => {
    const { node } = await simulatedNode(start, folder, { ...size, mix: 'cheap' })
    await node.kill('SIGTERM')
  })
  const withNode = async (work: (nodeUrl: string) => Promise<void>): Promise<void> => {
    const { url, node } = await simulatedNode(start, chain, { ...size, mix: 'cheap' })
    await work(url)
    await node.kill('SIGTERM')
  }
  const indexFormat = format(...CHAIN_SOURCES, ...INDEX_SOURCES)
  const index = await cache.part('index', indexFormat, txs * INDEX_BYTES, (folder) =>
    withNode((nodeUrl) => buildIndex(start, folder, nodeUrl, blocks)),
  )
  const frozenFormat = format(...CHAIN_SOURCES, ...FROZEN_SOURCES)
  const frozen = await cache.part('frozen', frozenFormat, txs * FROZEN_BYTES, (folder) =>
    withNode((nodeUrl) => buildFrozen(start, folder, nodeUrl, blocks)),
  )
  const lists = JSON.parse(await readFile(join(frozen, LISTS), 'utf8')) as Loaded
  return { blocks, index, frozen, lists }
}

/** Starts an engine with the frozen tables of a large chain. */
export async function frozenTables(
  start: Start,
  { frozen }: Pick<LargeChain, 'frozen'>,
): Promise<FrozenTables> {
  const { url } = await engineOf(start, { DATA_DIR: frozen })
  return new FrozenTables(url, FROZEN)
}

async function buildIndex(start: Start, folder: string, nodeUrl: string, blocks: number): Promise<void> {
  const env = { DATA_DIR: folder, NODE_RPC_URL: nodeUrl }
  const { engine } = await engineOf(start, env)
  const [poller, materializer] = [start('poller', env), start('materializer', env)]
  const { url, explorer } = await explorerOf(start, env)
  await settled(async () => (await chainHeight(url)) === blocks, INDEXING_MS)
  await becomeIdle([materializer, engine])
  for (const each of [explorer, poller, materializer, engine]) await each.kill('SIGTERM')
}

async function buildFrozen(start: Start, folder: string, nodeUrl: string, blocks: number): Promise<void> {
  const { engine, url } = await engineOf(start, { DATA_DIR: folder })
  const tables = new FrozenTables(url, FROZEN)
  await tables.create()
  const lists = await loadChain(nodeUrl, blocks, tables)
  tables.close()
  await writeFile(join(folder, LISTS), JSON.stringify(lists))
  await becomeIdle([engine])
  await engine.kill('SIGTERM')
}

/** Returns the elements in an order that depends on nothing but their number: each is as likely at any place. */
export function shuffled<T>(elements: readonly T[]): T[] {
  const list = [...elements]
  let state = 0x9e3779b9
  const below = (count: number): number => {
    // Xorshift with 32 bits.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % count
  }
  for (let at = list.length - 1; at > 0; at--) {
    const other = below(at + 1)
    const [a, b] = [list[at] as T, list[other] as T]
    list[at] = b
    list[other] = a
  }
  return list
}

/** Hands out elements of a list, each once. */
export class Supply<T> {
  #next = 0

  constructor(private readonly elements: readonly T[]) {}

  /** @throws Error if there are fewer elements left. */
  take(count: number): readonly T[] {
    const taken = this.elements.slice(this.#next, this.#next + count)
    if (taken.length < count)
      throw new Error(`the chain has ${String(this.elements.length)} keys, too few for this measurement`)
    this.#next += count
    return taken
  }

  /** @throws Error if there is none left. */
  next(): T {
    return this.take(1)[0] as T
  }
}
