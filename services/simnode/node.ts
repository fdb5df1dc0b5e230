import type { Chain } from '../../pipelines/chain/network.js'
import { eraseChain, openChain, writeSnapshot } from './chain/chain-files.js'
import { control } from './control.js'
import { Faults } from './faults.js'
import type { Mix } from './wallet/keyring.js'
import { live, type LifeOptions } from './life.js'
import { Rpc } from './rpc/methods.js'
import { RpcServer } from './rpc/server.js'
import { type ChainOptions, SimChain } from './chain/sim-chain.js'
import { Simulation, type SimulationOptions } from './simulation.js'

export interface SimnodeOptions {
  /** A chain to serve (without dataDir); by default one is made from network, seed and mix. */
  readonly chain?: SimChain
  readonly network?: Chain
  readonly seed?: string
  readonly mix?: Mix
  /** 0 or left out: a free one. */
  readonly port?: number
  readonly host?: string
  /** The chain has at least this height when the node starts. */
  readonly blocks?: number
  readonly txsPerBlock?: number
  /** A block so often by itself; 0 (default): only when told. */
  readonly blockIntervalMs?: number
  readonly reorgRate?: number
  readonly reorgDepth?: number
  readonly bigBlock?: number
  readonly blockMs?: number
  /** Keeps the chain there; by default in memory. */
  readonly dataDir?: string
  readonly traffic?: SimulationOptions['traffic']
  /** Told now and then while the history is made. */
  readonly onHistory?: (height: number) => void
  readonly signal?: AbortSignal
}

/** A simulated node that serves JSON-RPC in this process. */
export class Simnode {
  readonly faults = new Faults()
  #simulation: Simulation
  #rpc: Rpc
  #server: RpcServer | undefined
  #endLife: (() => void) | undefined
  readonly #started = process.hrtime.bigint()

  constructor(private readonly options: SimnodeOptions) {
    const { chain, network = 'regtest', seed = 'headwater', mix = 'rich', dataDir } = options
    this.#simulation = this.#simulate(chain ?? openOrMake(dataDir, { chain: network, seed, mix }))
    this.#rpc = this.#rpcOf(this.#simulation)
  }

  get simulation(): Simulation {
    return this.#simulation
  }

  get chain(): SimChain {
    return this.#simulation.chain
  }

  get port(): number {
    if (this.#server === undefined) throw new Error('the node does not listen')
    return this.#server.port
  }

  /** With credentials, of which any will do. */
  get url(): string {
    return `http://simnode:simnode@${this.options.host ?? '127.0.0.1'}:${String(this.port)}`
  }

  /** Makes the history, listens, and begins to live. Rejects where the port is taken. */
  async start(): Promise<void> {
    await this.#makeHistory()
    this.#server = await RpcServer.listen({
      rpc: { call: (method, params) => this.#rpc.call(method, params) },
      faults: this.faults,
      control: (method, url) => control(this, method, url),
      ...(this.options.port === undefined ? {} : { port: this.options.port }),
      ...(this.options.host === undefined ? {} : { host: this.options.host }),
      ...(this.options.blockMs === undefined ? {} : { blockMs: this.options.blockMs }),
    })
    const { blockIntervalMs = 0 } = this.options
    if (blockIntervalMs > 0) this.#endLife = live(() => this.#simulation, this.#lifeOptions(blockIntervalMs))
  }

  /** Serves another chain from now on, with an empty pool. */
  serve(chain: SimChain): void {
    this.#simulation.end()
    this.#simulation = this.#simulate(chain)
    this.#rpc = this.#rpcOf(this.#simulation)
  }

  /** Begins again with nothing but genesis, as a node that lost its data; with the same seed unless told another. */
  empty(seed = this.chain.seed): void {
    const { chain, store } = this.chain
    const { dataDir, mix } = this.options
    if (dataDir !== undefined) {
      store.close()
      eraseChain(dataDir)
    }
    this.serve(openOrMake(dataDir, { chain, seed, ...(mix === undefined ? {} : { mix }) }))
  }

  /** Stops listening and living; the chain is written down if it is kept. */
  async close(): Promise<void> {
    this.#endLife?.()
    await this.#server?.close()
    this.#simulation.end()
    if (this.options.dataDir === undefined) return
    writeSnapshot(this.chain, this.options.dataDir)
    this.chain.store.close()
  }

  /** In slices, so that signals and timers are heard in between. */
  async #makeHistory(): Promise<void> {
    const { blocks = 0, bigBlock = 0, dataDir, onHistory, signal } = this.options
    const before = this.chain.tip.height
    for (const height of this.#simulation.history(blocks)) {
      onHistory?.(height)
      await new Promise((resolve) => setImmediate(resolve))
      if (signal?.aborted === true) break
    }
    if (this.chain.tip.height === before) return
    if (bigBlock > 0) this.#simulation.mine({ bytes: bigBlock })
    if (dataDir !== undefined) writeSnapshot(this.chain, dataDir)
  }

  #simulate(chain: SimChain): Simulation {
    const { txsPerBlock, traffic } = this.options
    return new Simulation(chain, {
      ...(txsPerBlock === undefined ? {} : { txsPerBlock }),
      ...(traffic === undefined ? {} : { traffic }),
    })
  }

  #rpcOf(simulation: Simulation): Rpc {
    return new Rpc(simulation, () => Number((process.hrtime.bigint() - this.#started) / 1_000_000_000n))
  }

  #lifeOptions(blockIntervalMs: number): LifeOptions {
    const { txsPerBlock = 5, reorgRate = 0, reorgDepth = 3, bigBlock = 0 } = this.options
    return { blockIntervalMs, txsPerBlock, reorgRate, reorgDepth, bigBlock }
  }
}

function openOrMake(dataDir: string | undefined, options: Omit<ChainOptions, 'store'>): SimChain {
  return dataDir === undefined ? new SimChain(options) : openChain(dataDir, options)
}

/** Makes a simulated node and starts it. */
export async function startSimnode(options: SimnodeOptions = {}): Promise<Simnode> {
  const node = new Simnode(options)
  await node.start()
  return node
}
