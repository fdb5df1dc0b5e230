import type { Assets } from './assets.js'
import type { Page } from './page.js'
import { chartCsv } from './series.js'
import { address } from './views/address.js'
import { api, type OpenApi } from './views/api.js'
import { block } from './views/block.js'
import { blocks } from './views/lists/blocks.js'
import { front } from './views/front.js'
import { labels } from './views/lists/labels.js'
import { large } from './views/lists/large.js'
import { mempool } from './views/mempool.js'
import { mining } from './views/mining.js'
import { opReturns } from './views/lists/op-returns.js'
import { replaced } from './views/replaced.js'
import { replacements } from './views/lists/replacements.js'
import { quantum } from './views/quantum.js'
import { reorgs } from './views/lists/reorgs.js'
import { search } from './views/search.js'
import { status, type StatusSource } from './views/status.js'
import { supply } from './views/supply.js'
import { transaction } from './views/transaction.js'
import { wallet } from './views/wallet.js'

/** The sources of pages beside the chain. */
export interface PageSources {
  readonly assets: Assets
  readonly status: StatusSource
  /** Returns the description of the API. */
  readonly openApi: () => OpenApi
}

/** Returns all pages. A new one is declared in a file of `views/` and added here. */
export function pagesOf({ assets, status: source, openApi }: PageSources): {
  readonly documents: readonly Page[]
  readonly texts: readonly Page[]
  /** Pages whose arguments come from a form that is sent by POST; by GET they show the form. */
  readonly posted: readonly Page[]
} {
  const declared = [
    front,
    block,
    blocks,
    transaction,
    replaced,
    address,
    mempool,
    replacements,
    mining,
    supply,
    quantum,
    reorgs,
    labels,
    opReturns,
    large,
    api(openApi),
    search,
    status(source),
  ]
  return { documents: declared.map((page) => page(assets)), texts: [chartCsv], posted: [wallet(assets)] }
}
