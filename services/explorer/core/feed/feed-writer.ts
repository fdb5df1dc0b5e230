import type { Head } from '../../../../pipelines/tables/head.js'
import { HEIGHTS, KEYS, queryByKeys } from '../../../../pipelines/tables/keys.js'
import { HEADS_OF_STATE } from '../../../../pipelines/tables/writers.js'
import { blocks, reorgs, stats } from './channels.js'
import type { Feed } from './feed.js'
import type { Channel } from './streams.js'
import { statsSummary } from '../reads/statistics/summary.js'
import type { State } from '../state/state.js'
import { blockKey } from '../tables/point-keys.js'
import type { Tables } from '../tables/tables.js'
import type { BlockContents } from '../tables/transactions.js'
import { MAX_LOOKED_UP } from '../tables/new-blocks.js'
import type { WhaleAlert } from '../reads/shapes.js'
import type { WhaleWatch } from './whale-watch.js'

export interface FeedEvent {
  readonly channel: Channel
  readonly seq: number
  readonly data: object
}

/** The events and whale alerts that heads cause. */
interface HeadEvents {
  readonly events: readonly FeedEvent[]
  readonly whales: readonly WhaleAlert[]
}

const BLOCKS_AT_ONCE = 400

interface Connected {
  readonly seq: number
  readonly height: number
  readonly hash: string
}

/** Converts heads into events, and publishes them after the explorer has adopted the head. */
export class FeedWriter {
  readonly #feed: Feed
  readonly #state: State
  readonly #tables: Tables
  readonly #whales: WhaleWatch
  #statsAt = 0
  #mempoolVersion = 0
  #timer: NodeJS.Timeout | undefined

  constructor(feed: Feed, state: State, tables: Tables, whales: WhaleWatch) {
    this.#feed = feed
    this.#state = state
    this.#tables = tables
    this.#whales = whales
  }

  /**
   * Numbers the channels from the last heads in the tables, so that clients continue after a restart of the explorer. Publishes
   * the events up to `head`, which is adopted next; later heads in the tables are published when they are adopted.
   */
  async begin(head: Head | undefined): Promise<void> {
    if (head === undefined) return
    const block = head.blocksBefore + head.connected.length
    const reorg = head.reorgsBefore + (head.disconnected.length > 0 ? 1 : 0)
    const events = [
      ...(await this.#blockEvents(await this.#lastConnected(block - blocks.history, head))),
      ...(await this.#lastReorgs(reorg - reorgs.history, head)),
    ]
    this.#feed.begin('blocks', Math.max(0, (events.find(isBlock)?.seq ?? block + 1) - 1))
    this.#feed.begin('reorgs', Math.max(0, (events.find(isReorg)?.seq ?? reorg + 1) - 1))
    for (const { channel, data, seq } of events) this.#feed.publish(channel, data, seq)
  }

  /** Returns the events of consecutive heads, in order. @param tables the tables that contain their blocks. */
  async eventsOf(heads: readonly Head[], tables: Tables, contents: BlockContents): Promise<HeadEvents> {
    const connected = heads.flatMap(connectedOf)
    const [joined, whales] = await Promise.all([
      this.#blockEvents(connected, tables),
      this.#whales.alertsOf(connected.slice(-blocks.history), tables, contents),
    ])
    const newReorgs = heads.filter((head) => head.disconnected.length > 0).map(reorgOf)
    return { events: [...newReorgs, ...joined], whales }
  }

  /** Publishes the events of heads. Call after these were adopted. */
  publish({ events, whales }: HeadEvents): void {
    for (const { channel, data, seq } of events) this.#feed.publish(channel, data, seq)
    this.#whales.publish(whales)
    this.#publishStats()
  }

  /** Publishes stats if the mempool has changed, not more often than the interval allows. Call when it may have changed. */
  mempoolChanged(): void {
    if (this.#state.mempool.version === this.#mempoolVersion || this.#timer !== undefined) return
    const wait = Math.max(0, this.#statsAt + stats.numbering.everyMs - Date.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#publishStats()
    }, wait)
    this.#timer.unref()
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #publishStats(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#statsAt = Date.now()
    this.#mempoolVersion = this.#state.mempool.version
    this.#feed.announce(
      'stats',
      '',
      statsSummary(this.#state.chain, this.#state.mempool.snapshot(), this.#state.indexer()),
    )
  }

  async #blockEvents(connected: readonly Connected[], tables = this.#tables): Promise<FeedEvent[]> {
    const counts = await countsOf(connected, tables)
    return connected.map(({ seq, height, hash }) => {
      return { channel: 'blocks', seq, data: { height, hash, tx_count: counts.get(hash) ?? 0 } }
    })
  }

  /** Returns the blocks that a head and the heads before it connected, with numbers above `after`, in order. */
  async #lastConnected(after: number, { position }: Head): Promise<Connected[]> {
    const sql = `SELECT tip_height AS tip, arrayMap(each -> lower(hex(each)), connected) AS hashes,
      blocks_before AS before FROM heads
      WHERE position <= {position:Int64} AND blocks_before + length(connected) > {after:Int64} AND notEmpty(connected)
      AND ${HEADS_OF_STATE}
      ORDER BY position LIMIT 1 BY position`
    const rows = await this.#tables.query<{ tip: string; hashes: string[]; before: string }>(sql, {
      after,
      position,
    })
    return rows
      .flatMap(({ tip, hashes, before }) =>
        connectedOf({ tipHeight: Number(tip), connected: hashes, blocksBefore: Number(before) }),
      )
      .filter(({ seq }) => seq > after)
  }

  async #lastReorgs(after: number, { position }: Head): Promise<FeedEvent[]> {
    const sql = `SELECT tip_height AS tip, arrayMap(each -> lower(hex(each)), connected) AS now,
      arrayMap(each -> lower(hex(each)), disconnected) AS gone, reorgs_before AS before FROM heads
      WHERE position <= {position:Int64} AND reorgs_before >= {after:Int64} AND notEmpty(disconnected) AND ${HEADS_OF_STATE}
      ORDER BY position LIMIT 1 BY position`
    type Row = { tip: string; now: string[]; gone: string[]; before: string }
    const rows = await this.#tables.query<Row>(sql, { after, position })
    return rows.map(({ tip, now, gone, before }) =>
      reorgOf({
        tipHeight: Number(tip),
        connected: now,
        disconnected: gone,
        reorgsBefore: Number(before),
      }),
    )
  }
}

/** Returns the numbers of transactions of blocks by hash. */
async function countsOf(connected: readonly Connected[], tables: Tables): Promise<Map<string, number>> {
  if (connected.length <= MAX_LOOKED_UP) {
    const keys = connected.map(({ height, hash }) => blockKey(height, hash))
    const rows = (await tables.blocks.getAll(keys)).values()
    return new Map(Array.from(rows, ({ hash, txCount }) => [hash, txCount]))
  }
  const counts = new Map<string, number>()
  for (let at = 0; at < connected.length; at += BLOCKS_AT_ONCE) {
    const some = connected.slice(at, at + BLOCKS_AT_ONCE)
    const sql = `SELECT lower(hex(hash)) AS id, tx_count AS txs FROM blocks
      WHERE height IN ${HEIGHTS} AND hash IN ${KEYS}`
    const heights = [...new Set(some.map(({ height }) => height))].join(',')
    const hashes = some.map(({ hash }) => hash)
    const rows = await queryByKeys<{ id: string; txs: number }>(tables, sql, hashes, { heights })
    for (const { id, txs } of rows) counts.set(id, txs)
  }
  return counts
}

const isBlock = (event: FeedEvent): boolean => event.channel === 'blocks'
const isReorg = (event: FeedEvent): boolean => event.channel === 'reorgs'

function connectedOf(head: Pick<Head, 'tipHeight' | 'connected' | 'blocksBefore'>): Connected[] {
  const fork = head.tipHeight - head.connected.length
  return head.connected.map((hash, index) => {
    return { seq: head.blocksBefore + index + 1, height: fork + 1 + index, hash }
  })
}

/** Returns the event of a head that contains a reorganisation. */
export function reorgOf(
  head: Pick<Head, 'tipHeight' | 'connected' | 'disconnected' | 'reorgsBefore'>,
): FeedEvent {
  const { connected, disconnected } = head
  const data = {
    fork_height: head.tipHeight - connected.length,
    depth: disconnected.length,
    disconnected,
    connected,
  }
  return { channel: 'reorgs', seq: head.reorgsBefore + 1, data }
}
