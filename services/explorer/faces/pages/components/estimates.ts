import { html, type Html } from '../../../../design/html.js'
import type { FeeEstimates, FeeRates } from '../../../core/reads/shapes.js'
import { CHANCES, CHANCE_NAMES } from '../../../core/reads/fees/forecast-shapes.js'
import type { PageContext } from '../page.js'
import { table } from './table.js'

/** Returns the estimates of fee rates: by blocks, beside those of the node, and by time. */
export function estimatesTable({ t, f }: PageContext, estimates: FeeEstimates): Html {
  const { mempool: words } = t
  const rate = (value: string | null): string => (value === null ? '–' : f.number(value))
  const rates = ({ feeRates }: { readonly feeRates: FeeRates }): string[] =>
    CHANCE_NAMES.map((name) => rate(feeRates[name]))
  const columns = [
    { title: words.within },
    ...CHANCE_NAMES.map((name) => ({ title: words.chance(f.number(100 * CHANCES[name])), isNumber: true })),
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
