import { percentOf } from '../../../../pipelines/chain/decimal.js'
import { html, type Html } from '../../../design/html.js'
import { blocks } from '../../reads/chain/blocks.js'
import { mempoolBlocks } from '../../reads/mempool/fees.js'
import { mempoolSummary, mempoolTransactions } from '../../reads/mempool/mempool.js'
import { whaleAlerts } from '../../reads/mempool/whales.js'
import { networkHashrate } from '../../reads/statistics/mining.js'
import { dilithium, summary, supply } from '../../reads/statistics/statistics.js'
import type { StatsSummary } from '../../reads/shapes.js'
import { blockCard, feeHistogram, projectedCard } from '../components/blocks.js'
import { empty, heading, notice, searchForm, section, stat, stats } from '../components/elements.js'
import { largeTable, mempoolTable } from '../components/transactions.js'
import { declarePage, type PageContext } from '../page.js'

const BLOCKS = 7
const PROJECTED = 3
const TRANSACTIONS = 8
const LARGE = 5

/** The first page: the newest state of everything, live. */
export const front = declarePage({
  name: 'front',
  path: '/',
  args: {},
  async view(page) {
    const { t, f, to, read } = page
    const [state, { items }, pool, newest, coins, adoption, large, hashes, next] = await Promise.all([
      read(summary, {}),
      read(blocks, { limit: BLOCKS }),
      read(mempoolSummary, {}),
      read(mempoolTransactions, { limit: TRANSACTIONS }),
      read(supply, {}),
      read(dilithium, {}),
      read(whaleAlerts, { limit: LARGE }),
      read(networkHashrate, {}),
      read(mempoolBlocks, { limit: PROJECTED }),
    ])
    const percent = percentOf(BigInt(coins.circulatingSupply), BigInt(coins.maxSupply), 2)
    const body = html`${heading(t.front.title, t.site.about)} ${notices(page, state)} ${searchForm(t)}
      <section class="part">
        <h2>${t.front.latestBlocks}<a class="all" href="${to('/blocks')}">${t.words.all}</a></h2>
        <ol class="cubes">
          ${[...next.items].reverse().map((block, index) => projectedCard(page, block, next.items.length - 1 - index))}
          ${items.map((block) => blockCard(page, block))}
        </ol>
      </section>
      ${stats([
        stat(t.front.mempool, f.number(pool.txCount), `${f.number(pool.totalVsize)} vB`),
        stat(
          t.front.hashrate,
          `${f.short(hashes.hashrate)}H/s`,
          t.mining.ofBlocks(f.number(hashes.blockCount)),
        ),
        stat(t.front.difficulty, f.short(state.difficulty)),
        stat(t.front.supply, f.plainAmount(coins.circulatingSupply), t.front.ofMaximum(f.percent(percent))),
        stat(
          t.front.quantum,
          f.percent(adoption.dilithiumTxPercent),
          t.quantum.of(f.number(adoption.dilithiumTransactions), f.number(adoption.totalTransactions)),
        ),
      ])}
      <div class="columns">
        ${section(t.front.feeRates, feeHistogram(page, pool.feeHistogram), { href: to('/mempool'), text: t.nav.mempool })}
        ${section(
          t.front.latestTransactions,
          newest.items.length === 0
            ? empty(t.front.empty)
            : mempoolTable(page, t.front.latestTransactions, newest.items),
          { href: to('/mempool'), text: t.words.all },
        )}
      </div>
      ${section(
        t.front.large,
        large.items.length === 0 ? empty(t.large.none) : largeTable(page, t.front.large, large.items),
        { href: to('/large'), text: t.words.all },
      )}`
    return { title: t.front.title, body, channels: ['mempool', 'stats'], json: '/stats/summary' }
  },
})

/** Returns what is wrong with the index or the node, if anything. */
function notices({ t, f }: PageContext, state: StatsSummary): Html | undefined {
  const { indexerStatus, nodeHeight, tipHeight, tipMatch, lastReconciledAt } = state
  if (indexerStatus === 'stalled')
    return notice(t.front.stalled(lastReconciledAt.slice(0, 19).replace('T', ' ')))
  if (indexerStatus === 'syncing') return notice(t.front.syncing(f.number(tipHeight), f.number(nodeHeight)))
  return tipMatch ? undefined : notice(t.front.mismatch)
}
