import type { FaultKind } from '../../services/simnode/faults.js'

/** The node's own figures, with which every answer is compared. */
export interface SourceState {
  readonly height: number
  readonly hash: string
  /** Base units. */
  readonly supply: string
  readonly utxoCount: number
  readonly pool: readonly string[]
}

export interface WholeSourceState extends SourceState {
  /** Balances in base units by script (hex). */
  readonly balances: Readonly<Record<string, string>>
  /** Amounts in base units by `txid:vout`. */
  readonly coins: Readonly<Record<string, string>>
}

/** The simulated node, accessed directly: the test changes it and reads the true state. */
export class SourceNode {
  /** States of the node that were observed, by tip. */
  readonly seen = new Map<string, SourceState>()
  /** Blocks that were disconnected from its chain, as far as the faults know them. */
  readonly replaced = new Set<string>()

  constructor(readonly url: string) {}

  async answers(): Promise<boolean> {
    return (await fetch(`${this.url}/control/state`)).ok
  }

  /** Sends POST /control/… and records the state after it. */
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

  /** Returns the hashes of the chain's blocks, by height. Do not call it while requests are made to fail. */
  async hashes(height: number): Promise<string[]> {
    const calls = Array.from({ length: height + 1 }, (_, id) => ({
      id,
      method: 'getblockhash',
      params: [id],
    }))
    const answer = await fetch(this.url, { method: 'POST', body: JSON.stringify(calls) })
    return ((await answer.json()) as { result: string }[]).map(({ result }) => result)
  }

  /** Returns the txids of a block of any branch, the coinbase first. Do not call it while requests are made to fail. */
  async txids(hash: string): Promise<string[]> {
    const call = { id: 1, method: 'getblock', params: [hash, 1] }
    const answer = await fetch(this.url, { method: 'POST', body: JSON.stringify(call) })
    return ((await answer.json()) as { result: { tx: string[] } }).result.tx
  }

  #note(state: SourceState): SourceState {
    this.seen.set(state.hash, state)
    return state
  }

  async #get(path: string): Promise<unknown> {
    return (await fetch(`${this.url}/${path}`)).json()
  }
}
