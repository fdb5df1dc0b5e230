import { html, type Html } from '../../../../design/html.js'
import type { FeeEstimates, FeeRates } from '../../../core/reads/shapes.js'
import { CHANCES, CHANCE_NAMES } from '../../../core/reads/fees/forecast-shapes.js'
import { likelyRates } from '../../../core/reads/fees/forecasts.js'
import { DatabaseUnavailable } from '../../../../../pipelines/tables/clickhouse.js'
import type { PageContext } from '../page.js'
import { stat, stats } from './elements.js'
import { table } from './table.js'

/** The time after which fee rates that are missing are looked for again. */
const RETRY_MS = 10_000

/** Returns the fee rates that probably suffice for a confirmation in the next block, in half an hour and in an hour; undefined if they are not known. */
export async function feeRates(page: PageContext): Promise<Html | undefined> {
  const { t, f, to, network } = page
  const rates = network && (await likelyRates(page, network).catch(withoutDatabase(page)))
  if (rates === undefined) return undefined
  const { nextBlock, halfHour, hour } = rates
  const rate = (name: string, value: string | null): Html =>
    stat(name, html`${value === null ? '–' : f.number(value)} <small>${f.rateUnit}</small>`)
  return html`<section class="fees">
    <h2>${t.front.fees}<a class="all" href="${to('/mempool')}">${t.words.all}</a></h2>
    ${stats([
      rate(t.front.next, nextBlock),
      rate(f.duration(30 * 60), halfHour),
      rate(f.duration(60 * 60), hour),
    ])}
    <p><small>${t.front.feesAbout(f.percent(100 * CHANCES.likely))}</small></p>
  </section>`
}

/** Returns a function for the failure of the forecast: the rest of the page does not need the database. @throws all other errors. */
const withoutDatabase =
  ({ validity }: PageContext) =>
  (error: unknown): undefined => {
    if (!(error instanceof DatabaseUnavailable)) throw error
    validity.until(Date.now() + RETRY_MS)
  }

/** Returns the estimates of fee rates: by blocks, beside those of the node, and by time. */
export function estimatesTable({ t, f }: PageContext, estimates: FeeEstimates): Html {
  const { mempool: words } = t
  const rate = (value: string | null): string => (value === null ? '–' : f.number(value))
  const rates = ({ feeRates }: { readonly feeRates: FeeRates }): string[] =>
    CHANCE_NAMES.map((name) => rate(feeRates[name]))
  const columns = [
    { title: words.within },
    ...CHANCE_NAMES.map((name) => ({ title: words.chance(f.percent(100 * CHANCES[name])), isNumber: true })),
  ]
  const byBlocks = estimates.blocks.map((each) => ({
    cells: [words.withinBlocks(f.number(each.blocks)), ...rates(each), rate(each.nodeFeeRate)],
  }))
  const byTime = estimates.minutes.map((each) => ({
    cells: [f.duration(each.minutes * 60), ...rates(each)],
  }))
  return html`${table(words.estimates, [...columns, { title: words.ofNode, isNumber: true }], byBlocks)}
    <details>
      <summary>${words.byTime}</summary>
      ${table(words.byTime, columns, byTime)}
    </details>
    <p class="note">${words.estimatesAbout(f.number(estimates.minimumFeeRate), f.rateUnit)}</p>`
}
