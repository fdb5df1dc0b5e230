import { setTimeout as sleep } from 'node:timers/promises'
import { type BareFeed, startBareFeed } from './bare-feed.js'
import { FeedClients, type Round } from './feed-clients.js'
import { controlNode } from './node-control.js'
import { startStack, withPeakSize, withProcesses } from './processes.js'
import { comparison, repeated } from './repetitions.js'
import type { Figure } from './report.js'
import { residentBytesOf } from '../test/harness/processes.js'

export interface FeedOptions {
  readonly clients: number
  /** Additional clients that never read, and in another round as many that do. */
  readonly stalled: number
  /** Transactions that enter the mempool at once in a round. */
  readonly events: number
  readonly repetitions: number
}

/** Clients that connect first and leave again: they grow the heaps, which then belong to no client. */
const WARM_UP_CLIENTS = 1_000
/** The time in which memory of connecting is collected. */
const REST_MS = 3_000
const MAX_BYTES_PER_CLIENT = 8_000

/**
 * Measures the feed with clients on `blocks` and `mempool`. In a round, transactions enter the mempool of the node at once, and
 * then a block is mined: both go through poller, log, materializer and explorer to every client. Measured are the messages per
 * second from the first one that any client receives to the last one, so only the delivery. The baseline is a process that
 * publishes the same messages to as many clients with the same uWebSockets; the two alternate. The rate is also measured beside
 * more clients, that read and that do not.
 */
export function feed({ clients, stalled, events, repetitions }: FeedOptions): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const size = { blocks: 1_000, txsPerBlock: 20, mix: 'cheap' } as const
    const { nodeUrl, port, explorer } = await startStack(start, folder, size)
    const bare = await startBareFeed()
    const opened: FeedClients[] = []
    const connect = async (to: number, count: number, areStalled = false): Promise<FeedClients> => {
      const some = await FeedClients.connect({ port: to, clients: count, areStalled })
      opened.push(some)
      return some
    }
    let lost = 0
    const measure = async (of: FeedClients, publish: () => Promise<number>): Promise<Round> => {
      const round = await of.round(publish)
      lost += round.lost
      return round
    }
    try {
      await warmUp({ nodeUrl, port, bare, connect, events })
      const [served, bytes] = await connected(explorer.pid ?? 0, () => connect(port, clients), clients)
      const [reference, bareBytes] = await connected(bare.pid, () => connect(bare.port, clients), clients)
      const published = async (messages: readonly string[]): Promise<number> => {
        bare.publish(messages)
        return messages.length
      }
      const beside = async (areStalled: boolean): Promise<Round> => {
        const others = await connect(port, stalled, areStalled)
        const round = await measure(served, () => enter(nodeUrl, events))
        await measure(served, () => mine(nodeUrl, events))
        await others.close()
        return round
      }
      const measureAll = async (): Promise<Figure[]> => {
        const entered = await measure(served, () => enter(nodeUrl, events))
        const mined = await measure(served, () => mine(nodeUrl, events))
        const bareEntered = await measure(reference, () => published(entered.messages))
        const bareMined = await measure(reference, () => published(mined.messages))
        const besideReading = await beside(false)
        const besideStalled = await beside(true)
        return [
          comparison('messages_per_second', 'messages/s', rateOf(entered), rateOf(bareEntered)),
          comparison(
            'messages_per_second_beside_stalled',
            'messages/s',
            rateOf(besideStalled),
            rateOf(entered),
          ),
          // Each message is written to more sockets even if all of them read: this figure leaves that cost out.
          comparison(
            'beside_stalled_against_reading',
            'messages/s',
            rateOf(besideStalled),
            rateOf(besideReading),
          ),
          {
            name: 'block_to_all_clients',
            value: 1000 * mined.seconds,
            unit: 'ms',
            baseline: 1000 * bareMined.seconds,
          },
        ]
      }
      const figures = await withPeakSize(explorer, () => repeated(repetitions, measureAll))
      return [
        ...figures,
        { name: 'lost_messages', value: lost, unit: 'messages', most: 0 },
        {
          name: 'bytes_per_client',
          value: bytes,
          unit: 'bytes',
          baseline: bareBytes,
          most: MAX_BYTES_PER_CLIENT,
        },
      ]
    } finally {
      await Promise.all([bare.close(), ...opened.map((each) => each.close())])
    }
  })
}

interface WarmUp {
  readonly nodeUrl: string
  readonly port: number
  readonly bare: BareFeed
  readonly connect: (port: number, count: number) => Promise<FeedClients>
  readonly events: number
}

/** Runs a round with clients that leave again, on both sides. */
async function warmUp({ nodeUrl, port, bare, connect, events }: WarmUp): Promise<void> {
  const served = await connect(port, WARM_UP_CLIENTS)
  const { messages } = await served.round(() => enter(nodeUrl, events))
  await served.round(() => mine(nodeUrl, events))
  await served.close()
  const reference = await connect(bare.port, WARM_UP_CLIENTS)
  await reference.round(async () => {
    bare.publish(messages)
    return messages.length
  })
  await reference.close()
}

/** Connects clients. @returns them, and the bytes by which the server has grown for each. */
async function connected(
  pid: number,
  connect: () => Promise<FeedClients>,
  count: number,
): Promise<[FeedClients, number]> {
  await sleep(REST_MS)
  const before = residentBytesOf(pid)
  const clients = await connect()
  await sleep(REST_MS)
  return [clients, Math.max(0, residentBytesOf(pid) - before) / count]
}

/** Lets transactions enter the node's mempool. @returns their number. */
async function enter(nodeUrl: string, count: number): Promise<number> {
  const before = new Set((await controlNode(nodeUrl, 'state', 'GET')).pool)
  const { pool } = await controlNode(nodeUrl, `pool?enter=${String(count)}`)
  return pool.filter((txid) => !before.has(txid)).length
}

/** Mines a block that empties the mempool. @returns the number of events of `blocks`. */
async function mine(nodeUrl: string, txs: number): Promise<number> {
  await controlNode(nodeUrl, `mine?blocks=1&txs=${String(txs)}`)
  return 1
}

function rateOf({ deliveries, seconds }: Round): number {
  return deliveries / seconds
}
