import type { FaultKind } from '../../services/simnode/faults.js'

/** What the node says of itself: what every answer is held against. */
export interface SourceState {
  readonly height: number
  readonly hash: string
  /** Base units. */
  readonly supply: string
  readonly utxoCount: number
  readonly pool: readonly string[]
}

export interface WholeSourceState extends SourceState {
  /** Base units by script (hex). */
  readonly balances: Readonly<Record<string, string>>
  /** Base units by `txid:vout`. */
  readonly coins: Readonly<Record<string, string>>
}

/** The simulated node, spoken to directly: what a test does to it, and what is true. */
export class SourceNode {
  /** States that it was in, by tip: at each of them somebody asked. */
  readonly seen = new Map<string, SourceState>()
  /** Blocks that left its chain, as far as a fault knows of them. */
  readonly replaced = new Set<string>()

  constructor(readonly url: string) {}

  async answers(): Promise<boolean> {
    return (await fetch(`${this.url}/control/state`)).ok
  }

  /** POST /control/…; the state after it is noted. */
  async order(action: string): Promise<SourceState> {
    const answer = await fetch(`${this.url}/control/${action}`, { method: 'POST' })
    if (!answer.ok) throw new Error(`the node refuses ${action}: ${await answer.text()}`)
    return this.#note((await answer.json()) as SourceState)
  }

  async state(): Promise<SourceState> {
    return this.#note((await this.#get('control/state')) as SourceState)
  }

  async wholeState(): Promise<WholeSourceState> {
    return (await this.#get('control/state?balances=1&coins=1')) as WholeSourceState
  }

  async spoil(kind: FaultKind, count: number, ms: number): Promise<void> {
    await this.order(`fault?kind=${kind}&count=${String(count)}&ms=${String(ms)}`)
  }

  async clearFaults(): Promise<void> {
    await this.order('fault?kind=slow&count=0')
  }

  /** Hashes of the chain's blocks, by height. Not while requests are spoilt. */
  async hashes(height: number): Promise<string[]> {
    const calls = Array.from({ length: height + 1 }, (_, id) => ({
      id,
      method: 'getblockhash',
      params: [id],
    }))
    const answer = await fetch(this.url, { method: 'POST', body: JSON.stringify(calls) })
    return ((await answer.json()) as { result: string }[]).map(({ result }) => result)
  }

  #note(state: SourceState): SourceState {
    this.seen.set(state.hash, state)
    return state
  }

  async #get(path: string): Promise<unknown> {
    return (await fetch(`${this.url}/${path}`)).json()
  }
}
