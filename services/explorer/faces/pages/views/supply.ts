import { html } from '../../../../design/html.js'
import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { limit, page } from '../../../core/reads/arguments.js'
import { NotFound } from '../../../core/reads/read.js'
import { richList, summary, supply as supplyRead } from '../../../core/reads/statistics/statistics.js'
import { chart } from '../components/charts/chart.js'
import { spans } from '../components/charts/spans.js'
import {
  addressLink,
  empty,
  heading,
  paged,
  quantum,
  section,
  share,
  stat,
  stats,
} from '../components/elements.js'
import { halving } from '../components/halving.js'
import { travelSection } from '../past.js'
import { table } from '../components/table.js'
import { declarePage, pastArgument } from '../page.js'
import { activity, rangeOf } from '../series.js'

export const supply = declarePage({
  name: 'supply',
  path: '/supply',
  args: { page, limit: limit(50, 500), range: rangeOf('month'), at: pastArgument },
  async view(context, { page, limit, range }) {
    const { t, f, read, chain } = context
    const [coins, state, rich, days] = await Promise.all([
      read(supplyRead, {}),
      read(summary, {}),
      read(richList, { page, limit }).catch((error: unknown): undefined => {
        if (!(error instanceof NotFound)) throw error
      }),
      activity(context, range),
    ])
    const percent = percentOf(BigInt(coins.circulatingSupply), BigInt(coins.maxSupply), 2)
    const columns = [
      { title: t.words.rank, isNumber: true },
      { title: t.words.address },
      { title: f.inCoins(t.words.balance), isNumber: true },
      { title: t.words.share, isNumber: true },
      { title: t.words.transactions, isNumber: true },
    ]
    const rows = rich?.items.map((item) => ({
      id: `a-${item.address}`,
      cells: [
        f.number(item.rank),
        html`${addressLink(context, item.address, item.label)}
        ${item.isDilithium ? quantum(context) : undefined}`,
        f.bare(item.balance),
        html`${f.percent(item.percentage)}${share(Number(item.percentage))}`,
        f.number(item.tx_count),
      ],
    }))
    const path = `/supply${limit === 50 ? '' : `?limit=${String(limit)}`}`
    const body = html`${heading(t.supply.title, t.supply.about)}
    ${stats([
      stat(
        t.supply.circulating,
        f.amount(coins.circulatingSupply),
        html`${t.front.ofMaximum(f.percent(percent))}${share(Number(percent))}`,
      ),
      stat(t.supply.maximum, f.amount(coins.maxSupply)),
      halving(context),
      stat(t.supply.utxos, f.number(coins.utxoCount)),
      stat(t.supply.addresses, f.number(state.activeAddresses)),
    ])}
    ${section(
      t.supply.richList,
      rich === undefined || rows === undefined
        ? empty(t.past.noRanking)
        : paged(context, rich, path, table(t.supply.richList, columns, rows)),
    )}
    ${section(t.supply.activity, html`${spans(context, '/supply', range, 'month')}${chart(context, days)}`)}
    ${chain.present === undefined ? travelSection(context, '/supply') : undefined}`
    return { ...t.supply, body, json: '/stats/supply' }
  },
})
