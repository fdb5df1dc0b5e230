import { type Network, REGTEST } from '../../pipelines/chain/networks.js'
import { type NodeServer, TipWaits } from '../http/json-rpc.js'
import { eraseChain, openChain, writeSnapshot } from './chain/chain-files.js'
import { type ChainOptions, SimChain } from './chain/sim-chain.js'
import { control } from './control.js'
import { Faults } from './faults.js'
import { type Plan, untilNow, upTo } from './history.js'
import { live, type LifeOptions } from './life.js'
import { Rpc } from './rpc/methods.js'
import { serveMethods } from './rpc/server.js'
import { Simulation, type SimulationOptions } from './simulation.js'
import type { Mix } from './wallet/keyring.js'

export interface SimnodeOptions extends SimulationOptions, Partial<Omit<LifeOptions, 'plan'>> {
  /** The chain to serve, without `dataDir`; by default one is created from network, seed and mix. */
  readonly chain?: SimChain
  readonly network?: Network
  readonly seed?: string
  readonly mix?: Mix
  /** 0 or not set: a free port. */
  readonly port?: number
  /** The minimum height of the chain when the node starts; missing blocks are mined first. Only without `days`. */
  readonly blocks?: number
  /**
   * The length of the history, in days, which ends now: missing blocks are mined before the node listens, and later blocks have the time
   * at which they are mined. 0 or not set: time is that of the chain.
   */
  readonly days?: number
  readonly blockMs?: number
  /** The folder in which the chain is stored; by default it is in memory. */
  readonly dataDir?: string
  /** Called every few blocks while the history is mined. */
  readonly onHistory?: (height: number) => void
  readonly signal?: AbortSignal
}

/** The number of transactions that wait when a node begins whose time is that of the clock, and the seconds between their entries. */
const [WAITING, SECONDS_APART] = [60, 3]

/** A simulated node that serves JSON-RPC in this process. */
export class Simnode {
  readonly faults = new Faults()
  readonly tipWaits = new TipWaits()
  readonly #options: SimnodeOptions
  #rpc: Rpc
  #server: NodeServer | undefined
  #endLife: (() => void) | undefined
  #unwatch: () => void = () => undefined

  constructor(options: SimnodeOptions) {
    this.#options = options
    const { chain, network = REGTEST, seed = 'headwater', mix = 'rich', dataDir, days = 0 } = options
    const now = days > 0 ? { now: () => Math.floor(Date.now() / 1000) } : {}
    this.#rpc = this.#rpcOf(chain ?? openOrMake(dataDir, { network, seed, mix, ...now }))
  }

  get simulation(): Simulation {
    return this.#rpc.simulation
  }

  get chain(): SimChain {
    return this.simulation.chain
  }

  get port(): number {
    if (this.#server === undefined) throw new Error('the node is not listening')
    return this.#server.port
  }

  /** The URL of the RPC, with credentials; the node accepts any. */
  get url(): string {
    return `http://simnode:simnode@127.0.0.1:${String(this.port)}`
  }

  /** Mines the history, listens, and starts mining on a timer. Rejects if the port is in use. */
  async start(): Promise<void> {
    await this.#makeHistory()
    const { port, blockMs, blockIntervalMs = 0 } = this.#options
    this.#server = await serveMethods({
      port,
      blockMs,
      faults: this.faults,
      tipWaits: this.tipWaits,
      callMethod: (method, params) => this.#rpc.call(method, params),
      control: (method, url) => control(this, method, url),
    })
    if (blockIntervalMs > 0)
      this.#endLife = live(() => this.simulation, {
        ...this.#options,
        blockIntervalMs,
        plan: this.#catchUp(),
      })
  }

  /** Serves another chain from now on, with an empty mempool. */
  serve(chain: SimChain): void {
    this.simulation.end()
    this.#unwatch()
    this.#rpc = this.#rpcOf(chain)
    this.tipWaits.changed()
  }

  /** Starts over with genesis only, like a node that has lost its data. The seed does not change by default. */
  empty(seed = this.chain.seed): void {
    const { network, store, keyring, now } = this.chain
    const { dataDir } = this.#options
    if (dataDir !== undefined) {
      store.close()
      eraseChain(dataDir)
    }
    this.serve(openOrMake(dataDir, { network, seed, mix: keyring.mix, ...(now && { now }) }))
  }

  /** Stops mining and listening, and writes the snapshot if the chain is stored in a folder. */
  async close(): Promise<void> {
    this.#endLife?.()
    await this.#server?.close()
    this.simulation.end()
    const { dataDir } = this.#options
    if (dataDir === undefined) return
    writeSnapshot(this.chain, dataDir)
    this.chain.store.close()
  }

  /** Mines the history in slices, between which signals and timers are handled. */
  async #makeHistory(): Promise<void> {
    const { blocks = 0, bigBlock = 0, dataDir, onHistory, signal } = this.#options
    const before = this.chain.tip.height
    for (const height of this.simulation.history(this.#catchUp() ?? upTo(blocks))) {
      onHistory?.(height)
      await new Promise((resolve) => setImmediate(resolve))
      if (signal?.aborted === true) break
    }
    if (this.chain.now !== undefined)
      for (let age = WAITING * SECONDS_APART; age > 0; age -= SECONDS_APART) this.simulation.enter(1, age)
    if (this.chain.tip.height === before) return
    if (bigBlock > 0) this.simulation.mine({ bytes: bigBlock })
    if (dataDir !== undefined) writeSnapshot(this.chain, dataDir)
  }

  /** Returns the plan of the blocks between the tip and now; undefined if time is that of the chain. */
  #catchUp(): Plan | undefined {
    const { days = 0, blockIntervalMs = 0 } = this.#options
    return days > 0 ? untilNow(this.chain, days, blockIntervalMs / 1000) : undefined
  }

  #rpcOf(chain: SimChain): Rpc {
    const simulation = new Simulation(chain, this.#options)
    // After the watcher of the simulation, so that the mempool is up to date with the new tip.
    this.#unwatch = chain.watch(() => {
      this.tipWaits.changed()
    })
    return new Rpc(simulation)
  }
}

function openOrMake(dataDir: string | undefined, options: Omit<ChainOptions, 'store'>): SimChain {
  return dataDir === undefined ? new SimChain(options) : openChain(dataDir, options)
}

/** Creates and starts a simulated node. */
export async function startSimnode(options: SimnodeOptions = {}): Promise<Simnode> {
  const node = new Simnode(options)
  await node.start()
  return node
}
