import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { blockJson, type FakeBlock, type FakeTx } from './fake-chain.js'

export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly body?: string; readonly retryAfter?: string }
  | { readonly kind: 'reset' | 'truncate' | 'hang' }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'after'; readonly ready: Promise<unknown> }
  | { readonly kind: 'result'; readonly result: unknown }

interface Call {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

class Refusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message)
  }
}

/** A node in this process whose chain, mempool and failures are set by the test. */
export class FakeNode {
  chain: readonly FakeBlock[]
  chainName = 'regtest'
  /** Further fields of getblockchaininfo. */
  chainInfo: object = {}
  /** Changes the answer of getblock. */
  blockAnswer: (block: Record<string, unknown>) => unknown = (block) => block
  /** The number of transactions up to a block, as in getchaintxstats; undefined if the node lacks that method. */
  transactionsUpTo: ((block: FakeBlock) => number) | undefined
  /** Number of the version of Bitcoin Core. */
  version = 280100
  /** The rest of the name of the version, after that of Bitcoin Core. */
  variant = ''
  readonly mempool = new Map<string, { tx: FakeTx; fee: number; time: number }>()
  /** The fee rates of getmempoolinfo, in coins per kvB. */
  relayFees: { mempoolminfee: number; minrelaytxfee?: number; incrementalrelayfee?: number } = {
    mempoolminfee: 0.00001,
    minrelaytxfee: 0.00001,
    incrementalrelayfee: 0.00001,
  }
  /** Further fields of getmempoolinfo. */
  mempoolInfo: object = {}
  /** Every request: method and time. */
  readonly calls: { method: string; params: readonly unknown[]; at: number; auth: string | undefined }[] = []
  /** The number of calls in each request. */
  readonly sizes: { method: string; calls: number }[] = []
  /** The number of bytes that the mempool reports; the sum of its entries if undefined. */
  weight: number | undefined
  /** The highest number of concurrent block requests. */
  maxBlocksAtOnce = 0
  /** True for a node that has `waitfornewblock`. */
  hasBlockWait = false
  /** The number of its calls that wait now, and the highest number so far. */
  waits = 0
  maxWaitsAtOnce = 0
  /** Called for each request; its result replaces or delays the answer. */
  fault: (method: string, params: readonly unknown[]) => Fault | undefined = () => undefined
  readonly #server: Server
  readonly #known = new Map<string, FakeBlock>()
  #blocksNow = 0

  private constructor(chain: readonly FakeBlock[], server: Server) {
    this.chain = chain
    this.#server = server
  }

  static async start(chain: readonly FakeBlock[]): Promise<FakeNode> {
    const server = createServer()
    server.keepAliveTimeout = 60_000
    const node = new FakeNode(chain, server)
    server.on('request', (request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        void node.#answer(Buffer.concat(parts).toString(), request.headers.authorization, response)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return node
  }

  get url(): string {
    return `http://user:s3cret%40@127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`
  }

  enter(tx: FakeTx, fee = 0.00001, time = 1_800_000_000): void {
    this.mempool.set(tx.txid, { tx, fee, time })
  }

  count(method: string): number {
    return this.calls.filter((call) => call.method === method).length
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve()
      })
      this.#server.closeAllConnections()
    })
  }

  async #answer(text: string, auth: string | undefined, response: ServerResponse): Promise<void> {
    const parsed = JSON.parse(text) as Call | Call[]
    const calls = Array.isArray(parsed) ? parsed : [parsed]
    const [first] = calls
    if (first === undefined) return
    const { method, params } = first
    this.sizes.push({ method, calls: calls.length })
    this.calls.push({ method, params, at: performance.now(), auth })
    if (method === 'getblock') this.maxBlocksAtOnce = Math.max(this.maxBlocksAtOnce, ++this.#blocksNow)
    const fault = this.fault(method, params)
    if (fault?.kind === 'slow') await sleep(fault.ms)
    if (fault?.kind === 'after') await fault.ready
    if (method === 'getblock') this.#blocksNow--
    if (method === 'waitfornewblock' && this.hasBlockWait) await this.#newTip(Number(params[0]))
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'reset') {
      response.socket?.resetAndDestroy()
      return
    }
    if (fault?.kind === 'status') {
      response.writeHead(
        fault.status,
        fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter },
      )
      response.end(fault.body ?? '')
      return
    }
    const answers = calls.map((call) => this.#execute(call, fault?.kind === 'result' ? fault : undefined))
    const body = JSON.stringify(Array.isArray(parsed) ? answers : answers[0])
    response.end(fault?.kind === 'truncate' ? body.slice(0, body.length / 2) : body)
  }

  /** Waits like Bitcoin Core: until the time is over, even if the caller has disconnected. */
  async #newTip(ms: number): Promise<void> {
    const tip = this.chain.at(-1)?.hash
    this.maxWaitsAtOnce = Math.max(this.maxWaitsAtOnce, ++this.waits)
    let isOver = false
    const timer = setTimeout(() => (isOver = true), ms)
    while (!isOver && this.chain.at(-1)?.hash === tip) await sleep(1)
    clearTimeout(timer)
    this.waits--
  }

  #execute({ id, method, params }: Call, fault: { readonly result: unknown } | undefined): object {
    try {
      return { result: fault === undefined ? this.#call(method, params) : fault.result, error: null, id }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { result: null, error: { code: error.code, message: error.message }, id }
    }
  }

  #poolInfo(): object {
    const entries = [...this.mempool.values()]
    const bytes = entries.reduce((sum, { tx }) => sum + tx.raw.length, 0)
    const fees = entries.reduce((sum, { fee }) => sum + Math.round(fee * 1e8), 0)
    return {
      loaded: true,
      size: entries.length,
      bytes,
      usage: 3 * bytes,
      total_fee: fees / 1e8,
      maxmempool: 300_000_000,
      unbroadcastcount: 0,
      ...this.relayFees,
      ...this.mempoolInfo,
    }
  }

  #call(method: string, [first, second]: readonly unknown[]): unknown {
    for (const block of this.chain) this.#known.set(block.hash, block)
    const tip = this.chain.at(-1)
    switch (method) {
      case 'getblockchaininfo':
        return {
          chain: this.chainName,
          blocks: this.chain.length - 1,
          bestblockhash: tip?.hash,
          ...this.chainInfo,
        }
      case 'getchaintxstats': {
        const block = this.#known.get(String(second))
        if (this.transactionsUpTo === undefined) throw new Refusal(-32601, 'Method not found')
        if (block === undefined) throw new Refusal(-5, 'Block not found')
        return { txcount: this.transactionsUpTo(block) }
      }
      case 'getnetworkinfo':
        return {
          version: this.version,
          subversion: `/Satoshi:${String(this.version)}/${this.variant}`,
          connections: 0,
          connections_in: 0,
          connections_out: 0,
        }
      case 'getblockhash': {
        const block = this.chain[Number(first)]
        if (block === undefined) throw new Refusal(-8, 'Block height out of range')
        return block.hash
      }
      case 'getblock': {
        const block = this.#known.get(String(first))
        if (block === undefined) throw new Refusal(-5, 'Block not found')
        return this.blockAnswer(blockJson(block))
      }
      case 'waitfornewblock':
        if (!this.hasBlockWait) throw new Refusal(-32601, 'Method not found')
        return { hash: tip?.hash, height: this.chain.length - 1 }
      case 'getmempoolinfo':
        return this.#poolInfo()
      case 'getrawmempool':
        return [...this.mempool.keys()]
      case 'getmempoolentry': {
        const found = this.mempool.get(String(first))
        if (found === undefined) throw new Refusal(-5, 'Transaction not in mempool')
        const { tx, fee, time } = found
        return { weight: this.weight ?? 16 * tx.raw.length, time, fees: { base: fee } }
      }
      case 'getrawtransaction': {
        const found = this.mempool.get(String(first))
        if (found === undefined) throw new Refusal(-5, 'No such mempool transaction')
        return found.tx.raw.toString('hex')
      }
      default:
        throw new Refusal(-32601, 'Method not found')
    }
  }
}
