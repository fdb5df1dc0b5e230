import { html } from '../../../../design/html.js'
import { hash, page } from '../../../core/reads/arguments.js'
import { lostInputsOf } from '../../../core/reads/chain/reorgs.js'
import { replacedTransaction } from '../../../core/reads/mempool/replacements.js'
import { columnsOf, ITEMS, rangeOf } from '../components/coins/columns.js'
import { badge, copyable, facts, paged, stat, stats, txLink } from '../components/elements.js'
import { lostInputs } from '../components/replacements.js'
import { feeRateOf } from '../components/transactions.js'
import { declarePage } from '../page.js'

/** The page of a transaction that was replaced, evicted or expired, as it was in the mempool. */
export const replaced = declarePage({
  name: 'replaced',
  path: '/tx/:txid/replaced',
  args: { txid: hash, page },
  async view(context, { txid, page }) {
    const { t, f, read, validity } = context
    const tx = await read(replacedTransaction, { txid }, rangeOf(page))
    const { reason, left, replaced_by: by, full_rbf } = tx
    const inputs = tx.inputs.flatMap(({ prev_txid: prevTxid, prev_vout: prevVout }) =>
      prevTxid === null || prevVout === null ? [] : [{ prevTxid, prevVout }],
    )
    const lost = (await lostInputsOf(context, [{ txid: tx.txid, inputs }])).get(tx.txid) ?? []
    validity.dependsOn('head')
    const coins = { page, total: Math.max(tx.input_count, tx.output_count), limit: ITEMS }
    const path = `/tx/${tx.txid}/replaced`
    const title = reason === 'replaced' ? t.tx.replacedTitle : t.tx.title
    const body = html`<header class="top">
        <h1>${title} ${badge('stale', t.tx.status[reason])}</h1>
        ${copyable(context, tx.txid)}
      </header>
      ${stats([
        stat(t.tx.firstSeen, f.time(tx.timestamp)),
        stat(t.tx.left, f.time(left), full_rbf === true ? t.tx.fullRbf : undefined),
        by === null ? undefined : stat(t.tx.replacedBy, txLink(context, by)),
        stat(t.tx.moved, f.amount(tx.output_value)),
        stat(t.words.fee, f.amount(tx.fee), feeRateOf(context, tx)),
        stat(t.words.size, `${f.number(tx.vsize)} vB`, `${f.number(tx.size)} ${t.words.bytes}`),
      ])}
      ${lost.length === 0 ? undefined : facts([[t.reorgs.why, lostInputs(context, lost)]])}
      ${paged(context, coins, path, columnsOf(context, tx))}`
    return { title: `${title} ${tx.txid.slice(0, 8)}…`, body, json: path }
  },
})
