import { html } from '../../../../design/html.js'
import { limit } from '../../../core/reads/arguments.js'
import { feeEstimates } from '../../../core/reads/fees/forecasts.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { mempoolSummary, mempoolTransactions } from '../../../core/reads/mempool/mempool.js'
import { feeHistogram, projectedCard } from '../components/blocks.js'
import { empty, heading, section, stat, stats } from '../components/elements.js'
import { estimatesTable } from '../components/estimates.js'
import { mempoolTable } from '../components/transactions.js'
import { chart } from '../components/charts/chart.js'
import { spans } from '../components/charts/spans.js'
import { declarePage } from '../page.js'
import { mempoolSizes, rangeOf } from '../series.js'

export const mempool = declarePage({
  name: 'mempool',
  path: '/mempool',
  args: { limit: limit(50, 100), range: rangeOf('day') },
  async view(page, { limit, range }) {
    const { t, f, read, to, network } = page
    const [pool, newest, next, fees, sizes] = await Promise.all([
      read(mempoolSummary, {}),
      read(mempoolTransactions, { limit }),
      read(mempoolBlocks, {}),
      network && read(feeEstimates, {}),
      mempoolSizes(page, range),
    ])
    const projected = html`<ol class="cubes">
      ${next.items.map((block, index) => projectedCard(page, block, index))}
    </ol>`
    const body = html`${heading(t.mempool.title, t.mempool.about)}
    ${stats([
      stat(t.mempool.size, f.number(pool.txCount), t.words.transactions),
      stat(t.mempool.vsize, `${f.number(pool.totalVsize)} vB`),
      stat(t.mempool.fees, f.amount(pool.totalFees)),
    ])}
    ${next.items.length === 0 ? undefined : section(t.mempool.projected, projected)}
    ${fees && section(t.mempool.estimates, estimatesTable(page, fees), { href: to('/mining'), text: t.mining.feesByBlock })}
    ${sizes.points.length === 0 ? undefined : section(sizes.title, html`${spans(page, '/mempool', range, 'day')}${chart(page, sizes)}`)}
    ${section(t.mempool.byRate, feeHistogram(page, pool.feeHistogram))}
    ${section(
      t.mempool.newest,
      newest.items.length === 0 ? empty(t.front.empty) : mempoolTable(page, t.mempool.newest, newest.items),
      { href: to('/mempool/replacements'), text: t.replacements.title },
    )}`
    return { ...t.mempool, body, channels: ['mempool'], json: '/mempool/summary' }
  },
})
