import { html, type Html } from '../../../../design/html.js'
import type { LostInput } from '../../../core/reads/chain/reorgs.js'
import type { Replacement, ReplacementMember } from '../../../core/reads/shapes.js'
import type { PageContext } from '../page.js'
import { txLink } from './elements.js'
import { table } from './table.js'

/** Returns transactions that were replaced as a table. */
export function replacedTable(
  context: PageContext,
  caption: string,
  items: readonly ReplacementMember[],
): Html {
  const { t, f } = context
  const columns = [
    { title: t.words.transaction },
    { title: t.tx.left },
    { title: t.tx.replacedBy },
    { title: `${t.words.feeRate}, ${f.rateUnit}`, isNumber: true },
  ]
  const rows = items.map((item) => ({
    cells: [
      replacedLink(context, item),
      item.left === null ? undefined : f.time(item.left),
      item.replaced_by === null ? undefined : txLink(context, item.replaced_by),
      rateOf(context, item),
    ],
  }))
  return table(caption, columns, rows)
}

/** Returns replacements as a table. */
export function replacementsTable(
  context: PageContext,
  caption: string,
  items: readonly Replacement[],
): Html {
  const { t, f } = context
  const columns = [
    { title: t.tx.replaced },
    { title: t.tx.replacedBy },
    { title: t.tx.left },
    { title: `${t.words.feeRate}, ${f.rateUnit}`, isNumber: true },
  ]
  const rows = items.map(({ replaced, replacement }) => ({
    cells: [
      replacedLink(context, replaced),
      html`${txLink(context, replacement.txid)} <small>${t.tx.status[replacement.status]}</small>`,
      replaced.left === null ? undefined : f.time(replaced.left),
      html`${rateOf(context, replaced)} → ${rateOf(context, replacement)}`,
    ],
  }))
  return table(caption, columns, rows)
}

function replacedLink(context: PageContext, { txid, full_rbf }: ReplacementMember): Html {
  const { t } = context
  return html`${txLink(context, txid)}${full_rbf === true ? html` <small>${t.tx.fullRbf}</small>` : undefined}`
}

const rateOf = ({ f }: PageContext, { fee_rate }: ReplacementMember): string =>
  fee_rate === null ? '?' : f.number(fee_rate)

/** Returns the outputs that a transaction can no longer spend, each with the transaction that spends it. */
export const lostInputs = (page: PageContext, lost: readonly LostInput[]): Html =>
  html`${lost.map(
    ({ txid, vout, spender }) =>
      html`<div>
        ${txLink(page, txid)}:${vout}
        ${
          spender === undefined
            ? page.t.reorgs.goneOutput
            : html`${page.t.reorgs.spentBy} ${txLink(page, spender)}`
        }
      </div>`,
  )}`
