import type { Commands } from '../../core/core.js'
import { EMBEDDED } from './embeds/embeds.js'
import { FEEDS } from './feeds/feeds.js'
import { MAX_BODY, MAX_READ_BODY } from '../../http/body.js'
import type { Page, Surroundings } from './page.js'
import type { Drawer } from './pictures/drawer.js'
import { picturesOf } from './pictures/pictures.js'
import { chartCsv } from './series.js'
import { address } from './views/address.js'
import { api, type OpenApi } from './views/api.js'
import { block } from './views/block.js'
import { blocks } from './views/lists/blocks.js'
import { clock } from './embeds/clock.js'
import { front } from './views/front.js'
import { labels } from './views/lists/labels.js'
import { large } from './views/lists/large.js'
import { mempool } from './views/mempool.js'
import { mining } from './views/mining.js'
import { opReturns } from './views/lists/op-returns.js'
import { replaced } from './views/replaced.js'
import { replacements } from './views/lists/replacements.js'
import { projected } from './views/projected.js'
import { quantum } from './views/quantum.js'
import { pool } from './views/lists/pools.js'
import { reorg } from './views/lists/reorg.js'
import { reorgs } from './views/lists/reorgs.js'
import { send } from './views/send.js'
import { search } from './views/search.js'
import { status, type StatusSource } from './views/status.js'
import { supply } from './views/supply.js'
import { watch } from './views/lists/watch.js'
import { transaction } from './views/transaction.js'
import { wallet } from './views/wallet.js'

/** The sources of pages beside the chain. */
export interface PageSources extends Surroundings {
  readonly status: StatusSource
  /** Returns the description of the API. */
  readonly openApi: () => OpenApi
  /** Draws the pictures of links. Not set: there are none. */
  readonly drawer?: Drawer | undefined
  /** Not set: transactions are not broadcast. */
  readonly commands?: Commands | undefined
}

/** A page whose arguments come from a form that is sent by POST; by GET it shows the form. */
export interface PostedPage {
  readonly page: Page
  readonly maxBodyBytes: number
  /** Limits the forms that each client sends, besides the limit of all requests. Not set: no further limit. */
  readonly limit?: Commands['limit']
}

/** Returns all pages. A new one is declared in a file of `views/` and added here. */
export function pagesOf(sources: PageSources): {
  readonly documents: readonly Page[]
  /** Documents that other sites may show in frames. */
  readonly embeds: readonly Page[]
  readonly texts: readonly Page[]
  readonly feeds: readonly Page[]
  readonly pictures: readonly Page[]
  readonly posted: readonly PostedPage[]
} {
  const { status: source, openApi, commands, drawer } = sources
  const declared = [
    front,
    block,
    blocks,
    transaction,
    replaced,
    address,
    mempool,
    projected,
    replacements,
    mining,
    pool,
    supply,
    quantum,
    reorgs,
    reorg,
    labels,
    opReturns,
    large,
    clock,
    api(openApi, source.ports),
    search,
    status(source),
  ]
  const posted = [
    { page: wallet(sources), maxBodyBytes: MAX_READ_BODY },
    { page: watch(sources), maxBodyBytes: MAX_READ_BODY },
    { page: send(commands)(sources), maxBodyBytes: MAX_BODY, limit: commands?.limit },
  ]
  const made = (pages: readonly ((of: Surroundings) => Page)[]): Page[] => pages.map((page) => page(sources))
  const pictures = drawer === undefined ? [] : made(picturesOf(drawer))
  return {
    documents: made(declared),
    embeds: made(EMBEDDED),
    texts: [chartCsv],
    feeds: made(FEEDS),
    pictures,
    posted,
  }
}
