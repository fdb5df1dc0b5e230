import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type LoadResult, LoadGenerator } from './load-generator.js'
import { MAX_EXPLORER_MB, settled, type Stack, startStack, withProcesses } from './processes.js'
import { growthInSecondHalf, percentile } from './repetitions.js'
import type { Figure } from './report.js'

export interface SoakOptions {
  readonly blocks: number
  readonly txsPerBlock: number
  readonly minutes: number
  /** Reads per second. */
  readonly rate: number
  readonly feedClients: number
}

const BLOCK_INTERVAL_MS = 2_000
const REORG_RATE = 0.2
const SAMPLE_MS = 2_000
/** Memory that grows more than this in the second half is not flat. */
const MAX_GROWTH = 1.15
const CHANNELS = ['blocks', 'mempool', 'reorgs'] as const
/** Blocks at the end of the history whose transactions are not read, because reorganisations may replace them. */
const NOT_FINAL = 20
const NEVER_LEAVES = Number.MAX_SAFE_INTEGER

/**
 * Measures memory over a long time of blocks, reorganisations, reads and feed clients together. No event of the feed may be lost
 * and no read may fail meanwhile.
 */
export function soak(options: SoakOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const stack = await startStack(start, folder, {
      blocks: options.blocks,
      txsPerBlock: options.txsPerBlock,
      blockIntervalMs: BLOCK_INTERVAL_MS,
      reorgRate: REORG_RATE,
    })
    const generator = new LoadGenerator({
      port: stack.port,
      paths: await pathsOf(stack, options),
      repeats: true,
    })
    const feed = new FeedClients(stack.port)
    const memory = new Memory(stack)
    try {
      await feed.open(options.feedClients)
      const reads = await generator.make({
        kind: 'open',
        rate: options.rate,
        leaverEvery: NEVER_LEAVES,
        warmUpSeconds: 0,
        seconds: options.minutes * 60,
      })
      return [...memory.figures(), ...feed.figures(), ...readFigures(reads)]
    } finally {
      memory.stop()
      feed.close()
      await generator.close()
    }
  })
}

/** Returns paths of all kinds of reads, about blocks that no reorganisation replaces. */
async function pathsOf({ url }: Stack, { blocks }: SoakOptions): Promise<string[]> {
  await settled(async () => (await fetch(`${url}/stats/richlist`)).ok, 120_000)
  const paths = ['/stats/summary', '/blocks/tip', '/blocks', '/txs/recent', '/stats/richlist', '/stats/daily']
  for (let height = Math.max(1, blocks - 5 * NOT_FINAL); height < blocks - NOT_FINAL; height++) {
    const answer = await fetch(`${url}/block/${String(height)}/txs?limit=100`)
    const { items } = (await answer.json()) as {
      items: { txid: string; outputs: { addresses: { address: string }[] }[] }[]
    }
    paths.push(`/block/${String(height)}`, `/block/${String(height)}/txs`)
    for (const { txid, outputs } of items) {
      paths.push(`/tx/${txid}`)
      for (const { address } of outputs.flatMap(({ addresses }) => addresses))
        paths.push(`/address/${address}`, `/address/${address}/txs`, `/address/${address}/utxos`)
    }
  }
  return paths.map((path) => `/api/v1${path}`)
}

/** The sizes of processes, sampled from now on. */
class Memory {
  readonly #samples
  readonly #timer

  constructor({ explorer, poller, materializer, engine }: Stack) {
    this.#samples = [explorer, poller, materializer, engine].map((process) => ({
      process,
      mb: [] as number[],
    }))
    this.#timer = setInterval(() => {
      for (const { process, mb } of this.#samples) mb.push(process.rssMb())
    }, SAMPLE_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Returns peaks and growth; the engine's caches have limits of their own. */
  figures(): Figure[] {
    return this.#samples.flatMap(({ process, mb }): Figure[] => {
      const { name, peakMb } = process
      const growth = { name: `${name}_growth_in_second_half`, value: growthInSecondHalf(mb), unit: 'ratio' }
      return [
        {
          name: `${name}_peak_rss`,
          value: peakMb,
          unit: 'MB',
          ...(name === 'explorer' ? { most: MAX_EXPLORER_MB } : {}),
        },
        name === 'engine' ? growth : { ...growth, most: MAX_GROWTH },
      ]
    })
  }
}

/** Clients of the feed that check the numbers of the events. */
class FeedClients {
  readonly #url: string
  readonly #sockets: WebSocket[] = []
  #events = 0
  #reorgs = 0
  #lost = 0

  constructor(port: number) {
    this.#url = `ws://127.0.0.1:${String(port)}/ws`
  }

  async open(count: number): Promise<void> {
    for (let client = 0; client < count; client++) {
      const socket = new WebSocket(this.#url)
      this.#sockets.push(socket)
      await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
      // A client that is disconnected loses all later events.
      socket.on('error', () => undefined).on('close', () => this.#lost++)
      const last = new Map<string, number>()
      socket.on('message', (data: Buffer) => {
        const { channel, seq } = JSON.parse(data.toString()) as { channel: string; seq?: number }
        if (seq === undefined) return
        const before = last.get(channel)
        if (before !== undefined && seq !== before + 1) this.#lost += Math.max(1, seq - before - 1)
        last.set(channel, seq)
        this.#events++
        if (channel === 'reorgs') this.#reorgs++
      })
      for (const channel of CHANNELS) socket.send(JSON.stringify({ type: 'subscribe', channel }))
    }
    await sleep(SAMPLE_MS)
  }

  /** @throws Error if there was no reorganisation. */
  figures(): Figure[] {
    if (this.#reorgs === 0) throw new Error('there was no reorganisation')
    return [
      { name: 'feed_events', value: this.#events, unit: 'events' },
      { name: 'feed_reorgs', value: this.#reorgs / this.#sockets.length, unit: 'reorganisations' },
      { name: 'feed_events_lost', value: this.#lost, unit: 'events', most: 0 },
    ]
  }

  close(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('close').terminate()
  }
}

function readFigures({ times, refusalTimes, others }: LoadResult): Figure[] {
  const failed = Object.values(others).reduce((sum, each) => sum + each, 0)
  return [
    { name: 'reads', value: times.length, unit: 'requests' },
    { name: 'read_p99', value: percentile(times, 0.99), unit: 'ms' },
    { name: 'reads_refused', value: refusalTimes.length, unit: 'requests' },
    ...Object.entries(others).map(([name, value]): Figure => ({ name, value, unit: 'requests' })),
    { name: 'reads_failed', value: failed, unit: 'requests', most: 0 },
  ]
}
