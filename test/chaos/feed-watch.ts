import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { CHANNELS } from '../../services/explorer/core/feed/channels.js'
import type { Channel } from '../../services/explorer/core/feed/streams.js'
import { until } from '../harness/until.js'
import type { SourceNode, SourceState } from './source-node.js'

interface Message {
  readonly type?: string
  readonly channel?: Channel
  readonly seq?: number
  readonly error?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as a client has it
  readonly data?: any
}

interface Reading {
  readonly status: number
  /** The state that the answer describes. */
  readonly at: string
  readonly body: Readonly<Record<string, unknown>>
}

const RETRY_MS = 20

/**
 * Checks the numbers of one client's channels across its connections: each event once and in order, with no gap.
 * `resync` is accepted only on channels that the explorer numbers itself, and only after its restart.
 */
export class Numbering {
  readonly faults: string[] = []
  readonly #last: Map<Channel, number>
  /** Channels that may send `resync` once. */
  #mayResync = new Set<Channel>()

  /** @param last the known numbers of channels from which no event was received yet. */
  constructor(last: Iterable<readonly [Channel, number]> = []) {
    this.#last = new Map(last)
  }

  since(channel: Channel): number | undefined {
    return this.#last.get(channel)
  }

  /** The explorer numbers whale alerts and stats; it starts over after each of its starts. */
  explorerStarts(): void {
    this.#mayResync = new Set(['stats', 'whale-alerts'])
  }

  event(channel: Channel, seq: number): void {
    const last = this.#last.get(channel)
    if (last !== undefined && seq !== last + 1)
      this.faults.push(`the feed sends ${channel} ${String(seq)} after ${String(last)}`)
    this.#last.set(channel, seq)
  }

  resync(channel: Channel): void {
    if (!this.#mayResync.delete(channel))
      this.faults.push(`the feed sends resync on ${channel} after ${String(this.#last.get(channel))}`)
    this.#last.delete(channel)
  }
}

/**
 * A client of all channels that reconnects with `since` after each disconnection and requests at once every object
 * that an event names.
 */
export class FeedWatch {
  readonly numbering: Numbering
  readonly #faults: string[] = []
  readonly #chain = new Map<number, string>()
  readonly #announced: Set<string>
  readonly #asking = new Set<Promise<void>>()
  readonly #running: Promise<void>
  #socket: WebSocket | undefined
  #stopped = false
  #pid: number | undefined
  /** The number of events received. */
  received = 0
  /** The number of answers that were compared with events. */
  requested = 0

  /**
   * @param explorerPid of the process that serves now.
   * @param start of a chain without reorganisations, from which the client listens: earlier events are not sent
   * again, and later ones are, even if the explorer dies before the first of them is received.
   */
  constructor(
    private readonly explorerUrl: string,
    private readonly explorerPid: () => number | undefined,
    private readonly node: SourceNode,
    private readonly start: SourceState,
  ) {
    this.#announced = new Set(start.pool)
    this.numbering = new Numbering([
      ['blocks', start.height + 1],
      ['reorgs', 0],
      ['mempool', 0],
    ])
    this.#running = this.#run()
  }

  get faults(): readonly string[] {
    return [...this.numbering.faults, ...this.#faults]
  }

  /** Breaks the client's own connection; it reconnects. */
  cut(): void {
    this.#socket?.terminate()
  }

  async connected(): Promise<void> {
    await until('the feed is connected', () => this.#socket?.readyState === WebSocket.OPEN)
  }

  /** Returns the events that the feed has not sent, some time after the explorer showed the state. */
  async missing(state: SourceState, hashes: readonly string[], waitMs: number): Promise<string[]> {
    const look = (): string[] => {
      const blocks = hashes.flatMap((hash, height) => {
        const reported = this.#chain.get(height)
        if (reported === hash || (reported === undefined && height <= this.start.height)) return []
        return [
          `the feed's newest block at ${String(height)} is ${reported ?? 'none'}, the node's is ${hash}`,
        ]
      })
      const inMempool = state.pool.filter((txid) => !this.#announced.has(txid))
      return [
        ...blocks,
        ...inMempool.map((txid) => `the feed never published unconfirmed transaction ${txid}`),
      ]
    }
    await until('the feed has published everything', () => look().length === 0, waitMs).catch(() => undefined)
    await Promise.all(this.#asking)
    return look()
  }

  async close(): Promise<void> {
    this.#stopped = true
    this.#socket?.terminate()
    await this.#running
    await Promise.all(this.#asking)
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#connection()
      if (!this.#stopped) await sleep(RETRY_MS)
    }
  }

  /** Resolves when the watch has ended. */
  #connection(): Promise<void> {
    const socket = new WebSocket(`${this.explorerUrl.replace('http', 'ws')}/ws`)
    this.#socket = socket
    socket.on('open', () => {
      if (this.#pid !== this.explorerPid()) this.numbering.explorerStarts()
      this.#pid = this.explorerPid()
      for (const { name: channel } of CHANNELS) {
        const since = this.numbering.since(channel)
        socket.send(JSON.stringify({ type: 'subscribe', channel, ...(since === undefined ? {} : { since }) }))
      }
    })
    socket.on('message', (data: Buffer) => {
      this.#take(JSON.parse(data.toString()) as Message)
    })
    socket.on('error', () => undefined)
    return new Promise((resolve) => {
      socket.on('close', () => {
        resolve()
      })
    })
  }

  #take({ type, channel, seq, data, error }: Message): void {
    if (error !== undefined) this.#faults.push(`error of the feed: ${error}`)
    if (channel === undefined) return
    if (type === 'resync') this.numbering.resync(channel)
    if (seq === undefined) return
    this.received++
    this.numbering.event(channel, seq)
    const asking = this.#ask(channel, data, seq).finally(() => this.#asking.delete(asking))
    this.#asking.add(asking)
  }

  /** A client that receives an event can read its object at once. */
  async #ask(channel: Channel, data: Message['data'], seq: number): Promise<void> {
    switch (channel) {
      case 'blocks':
        this.#chain.set(data.height, data.hash)
        return this.#askBlock(channel, data.hash, { height: data.height, tx_count: data.tx_count })
      case 'reorgs':
        for (const hash of [...data.disconnected, ...data.connected]) await this.#askBlock(channel, hash, {})
        return
      case 'stats':
        return this.#askBlock(channel, data.tipHash, { height: data.tipHeight })
      case 'mempool':
        this.#announced.add(data.txid)
        return this.#askTx(channel, data.txid, seq)
      case 'whale-alerts':
        return this.#askTx(channel, data.txid, seq)
    }
  }

  async #askBlock(channel: Channel, hash: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
    const answer = await this.#get(`/block/${hash}`)
    if (answer === undefined) return
    const expected = { hash, ...fields }
    const wrong = Object.entries(expected).filter(([name, value]) => answer.body[name] !== value)
    if (answer.status !== 200 || wrong.length > 0)
      this.#faults.push(
        `${channel} published block ${JSON.stringify(expected)}, which then read ${String(answer.status)} ${JSON.stringify(Object.fromEntries(wrong.map(([name]) => [name, answer.body[name]])))}`,
      )
  }

  /** The transaction may have been replaced or dropped in the meantime: then the node does not have it either. */
  async #askTx(channel: Channel, txid: string, seq: number): Promise<void> {
    const answer = await this.#get(`/tx/${txid}`)
    if (answer === undefined || answer.status === 200) return
    const { pool } = await this.node.state()
    if (answer.status === 404 && !pool.includes(txid)) return
    const later = await this.#get(`/tx/${txid}`)
    this.#faults.push(
      `${channel} ${String(seq)} published transaction ${txid}, which then read ${String(answer.status)} at ${answer.at}, and ${String(later?.status)} at ${String(later?.at)} when the node's mempool was found to have it`,
    )
  }

  /** @returns undefined if the explorer or its database was unavailable: no answer is not a wrong answer. */
  async #get(path: string): Promise<Reading | undefined> {
    try {
      const response = await fetch(`${this.explorerUrl}/api/v1${path}`)
      const body = (await response.json()) as Record<string, unknown>
      if (response.status === 503) return undefined
      this.requested++
      const [height, tip] = ['x-chain-height', 'x-chain-tip'].map((name) => response.headers.get(name))
      return { status: response.status, at: `${String(height)} ${String(tip)}`, body }
    } catch {
      return undefined
    }
  }
}
