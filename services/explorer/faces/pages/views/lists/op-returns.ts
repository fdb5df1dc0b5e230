import { Type } from '@sinclair/typebox'
import { html, type Html } from '../../../../../design/html.js'
import { page } from '../../../../core/reads/arguments.js'
import { opReturnBeginnings, opReturnsWith } from '../../../../core/reads/chain/op-returns.js'
import { blockLink, empty, heading, paged, payload, txLink } from '../../components/elements.js'
import { table } from '../../components/table.js'
import type { OpReturn } from '../../../../core/reads/shapes.js'
import { declarePage, type PageContext } from '../../page.js'

const ITEMS = 50
/** The number of requests as which a search counts. */
const COST = 10

export const opReturns = declarePage({
  name: 'op-returns',
  path: '/op-returns',
  args: { page, q: Type.String({ maxLength: 100, default: '' }) },
  cost: ({ q }) => (q.trim() === '' ? 1 : COST),
  async view(context, { page, q }) {
    const { t, f, read } = context
    const text = q.trim()
    const top = html`${heading(t.opReturns.title, t.opReturns.about)} ${form(context, text)}`
    if (text !== '') {
      const { items, searched, total } = await read(opReturnsWith, { text, limit: ITEMS })
      const body = html`${top}
        ${items.length === 0 ? empty(t.opReturns.noneWith(text)) : listOf(context, items)}
        <p class="soft">${t.opReturns.searched(f.number(searched), f.number(total))}</p>`
      return { ...t.opReturns, body }
    }
    const offset = (page - 1) * ITEMS
    const { items, total } = await read(opReturnBeginnings, { limit: ITEMS, offset })
    const list = { page, total, limit: ITEMS }
    const body = html`${top} ${paged(context, list, '/op-returns', listOf(context, items), t.opReturns.none)}`
    return { ...t.opReturns, body, json: `/op-returns?offset=${String(offset)}` }
  },
})

/** Returns the form of the search in the data. */
const form = ({ t, to }: PageContext, text: string): Html =>
  html`<form class="hero" action="${to('/op-returns')}">
    <input
      name="q"
      type="search"
      value="${text}"
      aria-label="${t.opReturns.contains}"
      placeholder="${t.opReturns.contains}"
      maxlength="100"
    /><button>${t.opReturns.search}</button>
  </form>`

function listOf(context: PageContext, items: readonly OpReturn[]): Html {
  const { t, f } = context
  const columns = [
    { title: t.opReturns.data },
    { title: t.words.size, isNumber: true },
    { title: t.words.transaction },
    { title: t.words.block },
    { title: t.words.time },
  ]
  const rows = items.map(({ txid, vout, block_height, timestamp, data_hex, data_text, size }) => ({
    id: `o-${txid}-${String(vout)}`,
    cells: [
      html`<span class="payload"
        >${payload(data_text, data_hex ?? '', {
          title: t.opReturns.notText,
          isBeginning: size > (data_hex ?? '').length / 2,
        })}</span
      >`,
      f.size(size),
      txLink(context, txid),
      block_height === null ? t.words.unconfirmed : blockLink(context, block_height),
      f.time(timestamp),
    ],
  }))
  return table(t.opReturns.title, columns, rows)
}
