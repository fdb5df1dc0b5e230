import { html, type Html } from '../../../../design/html.js'
import type { ExpectedBlockDetails } from '../../../core/reads/shapes.js'
import type { PageContext } from '../page.js'
import { facts, section, share, stat, stats, txLink } from './elements.js'
import { table } from './table.js'

/** The maximum number of missing and of added transactions that a page lists. */
const SHOWN = 25

type Difference = ExpectedBlockDetails['missing_txs'][number] | ExpectedBlockDetails['added_txs'][number]

/** Returns a block beside the one that was expected from the mempool before it. */
export function expectedSection(page: PageContext, answer: ExpectedBlockDetails): Html {
  const { t, f } = page
  const { expected, mined, matched, match_percent: match, missing, added } = answer
  const sums = ({ tx_count, total_fees }: typeof expected): Html =>
    html`${f.number(tx_count)} <small>${f.amount(total_fees)}</small>`
  const body = html`${stats([
    stat(t.expected.expected, f.number(expected.tx_count), f.amount(expected.total_fees)),
    stat(t.expected.mined, f.number(mined.tx_count), f.amount(mined.total_fees)),
    match === null
      ? undefined
      : stat(t.expected.match, html`${f.percent(match)}${share(Number(match))}`, t.expected.matchAbout),
  ])}
  ${facts([
    [t.expected.matched, sums(matched)],
    [t.expected.missing, sums(missing)],
    [t.expected.added, sums(added)],
    [t.expected.observed, t.expected.secondsBefore(f.number(answer.observed_seconds_before))],
  ])}
  ${differences(page, t.expected.missing, answer.missing_txs.slice(0, SHOWN))}
  ${differences(page, t.expected.added, answer.added_txs.slice(0, SHOWN))}`
  return section(t.expected.title, body)
}

function differences(page: PageContext, title: string, txs: readonly Difference[]): Html | undefined {
  const { t, f } = page
  if (txs.length === 0) return undefined
  const columns = [
    { title: t.words.transaction },
    { title: t.expected.reason },
    { title: `${t.words.feeRate}, ${f.rateUnit}`, isNumber: true },
    { title: f.inCoins(t.words.fee), isNumber: true },
  ]
  const rows = txs.map(({ txid, reason, effective_fee_rate: rate, fee }) => ({
    cells: [txLink(page, txid), t.expected.reasons[reason], f.number(rate), f.bare(fee)],
  }))
  return html`<details class="more">
    <summary>${title}</summary>
    ${table(title, columns, rows)}
  </details>`
}
