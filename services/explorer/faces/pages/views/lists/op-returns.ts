import { html } from '../../../../../design/html.js'
import { page } from '../../../../core/reads/arguments.js'
import { opReturnBeginnings } from '../../../../core/reads/chain/op-returns.js'
import { blockLink, heading, paged, payload, txLink } from '../../components/elements.js'
import { table } from '../../components/table.js'
import { declarePage } from '../../page.js'

const ITEMS = 50

export const opReturns = declarePage({
  name: 'op-returns',
  path: '/op-returns',
  args: { page },
  async view(context, { page }) {
    const { t, f, read } = context
    const offset = (page - 1) * ITEMS
    const { items, total } = await read(opReturnBeginnings, { limit: ITEMS, offset })
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
    const list = { page, total, limit: ITEMS }
    const body = html`${heading(t.opReturns.title, t.opReturns.about)}
    ${paged(context, list, '/op-returns', table(t.opReturns.title, columns, rows), t.opReturns.none)}`
    return { ...t.opReturns, body, json: `/op-returns?offset=${String(offset)}` }
  },
})
