import { Http } from './http.js'

/** The part of `getblock` with verbosity 3 that is used here. */
export interface NodeBlock {
  readonly hash: string
  readonly height: number
  readonly time: number
  readonly tx: readonly NodeTx[]
}

export interface NodeTx {
  readonly txid: string
  /** The wtxid. */
  readonly hash: string
  readonly size: number
  readonly weight: number
  readonly hex: string
  readonly vin: readonly {
    /** Not set for the coinbase. */
    readonly txid?: string
    readonly vout?: number
    readonly prevout?: { readonly height: number; readonly value: number; readonly scriptPubKey: NodeScript }
  }[]
  readonly vout: readonly { readonly value: number; readonly n: number; readonly scriptPubKey: NodeScript }[]
}

export interface NodeScript {
  readonly hex: string
  readonly address?: string
}

/** Calls a node in the plainest way: one request for a hash, one for its block, and the JSON parsed. */
export class PlainNode {
  readonly #http: Http

  constructor(
    url: string,
    private readonly inFlight: number,
  ) {
    this.#http = new Http(url, inFlight)
  }

  async block(height: number): Promise<NodeBlock> {
    const hash = await this.#call<string>('getblockhash', [height])
    return this.#call<NodeBlock>('getblock', [hash, 3])
  }

  /**
   * Fetches and parses the blocks up to a height, with several requests in flight: the work that every indexer of this node has.
   * @returns seconds. @throws Error if a transaction lacks what an indexer needs.
   */
  async fetchAndParse(height: number): Promise<number> {
    const from = performance.now()
    let next = 0
    const worker = async (): Promise<void> => {
      while (next <= height) assertComplete(await this.block(next++))
    }
    await Promise.all(Array.from({ length: this.inFlight }, worker))
    return (performance.now() - from) / 1000
  }

  close(): void {
    this.#http.close()
  }

  async #call<T>(method: string, params: readonly unknown[]): Promise<T> {
    const text = await this.#http.post('/', JSON.stringify({ jsonrpc: '1.0', id: 1, method, params }))
    const { result, error } = JSON.parse(text) as { result: T; error: unknown }
    if (error !== null && error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }
}

function assertComplete({ height, tx }: NodeBlock): void {
  for (const { txid, hex, vin } of tx)
    if (hex === '' || vin.some((input) => input.txid !== undefined && input.prevout === undefined))
      throw new Error(`transaction ${txid} of block ${String(height)} is incomplete`)
}
