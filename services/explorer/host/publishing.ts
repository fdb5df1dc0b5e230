import { Feed } from '../core/feed/feed.js'
import { FeedWriter } from '../core/feed/feed-writer.js'
import { ScriptFeed } from '../core/feed/script-feed.js'
import { WhaleWatch } from '../core/feed/whale-watch.js'
import { HeadFollower } from '../core/following/head-follower.js'
import { MempoolFollower } from '../core/following/mempool-follower.js'
import { WHALE_VALUE } from '../core/reads/mempool/whales.js'
import { Tables } from '../core/tables/tables.js'
import type { Data } from './data.js'
import type { Server } from './http/server.js'
import type { Metrics } from './metrics.js'
import type { ExplorerOptions } from './options.js'

/** The followers of the log, which change the state, and the feed in which they publish the changes. */
export interface Publishing {
  readonly feed: Feed
  readonly scripts: ScriptFeed
  readonly writer: FeedWriter
  readonly mempool: MempoolFollower
  readonly heads: HeadFollower
}

/** Builds feed and followers. @param server sends the events to clients of WebSocket. */
export function publishingOf(
  { state, database, tables, beside, definitions }: Data,
  { db, log, chain, logger, member, whaleMinValue: threshold = WHALE_VALUE }: ExplorerOptions,
  { server, metrics }: { readonly server: Server; readonly metrics: Metrics },
): Publishing {
  const onDefect = (): void => {
    metrics.defect('follower')
  }
  const onIndexerDefect = (): void => {
    // Every process receives the report; only the first one counts it.
    if (member?.isFirst !== false) metrics.defect('materializer')
  }
  const feed = new Feed((stream, { text }) => {
    server.publish(stream, text)
  }, member?.offer)
  const whales = new WhaleWatch({ feed, state, tables, definitions, threshold })
  const writer = new FeedWriter(feed, state, tables, whales)
  const mempool = new MempoolFollower({ state, feed, log, tables, whales, logger, onDefect })
  const heads = new HeadFollower({
    state,
    writer,
    mempool,
    log,
    db,
    tables,
    tablesOf: (other) => new Tables(database.on(other), undefined, undefined, beside),
    chain,
    logger,
    onDefect,
    onIndexerDefect,
  })
  const refreshHeads = (): void => {
    heads.refresh()
  }
  const scripts = new ScriptFeed({ state, tables, logger, onDefect, refreshHeads })
  return { feed, scripts, writer, mempool, heads }
}
