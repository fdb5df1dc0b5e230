import { Type } from '@sinclair/typebox'
import { html } from '../../../../../design/html.js'
import { cursorOf } from '../../../../core/reads/cursor.js'
import { mempoolReplacements } from '../../../../core/reads/mempool/replacements.js'
import { empty, heading } from '../../components/elements.js'
import { replacementsTable } from '../../components/replacements.js'
import { declarePage } from '../../page.js'

const ITEMS = 50
const PATH = '/mempool/replacements'

export const replacements = declarePage({
  name: 'replacements',
  path: PATH,
  args: {
    full_rbf: Type.Boolean({ default: false, description: 'whether to list only those without a signal' }),
    cursor: cursorOf('continues the list after the page whose `next_cursor` this is'),
  },
  async view(context, { full_rbf, cursor }) {
    const { t, read, to } = context
    const { items, next_cursor: next } = await read(mempoolReplacements, {
      limit: ITEMS,
      full_rbf,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const href = (unsignalled: boolean, more = ''): string =>
      to(`${PATH}?full_rbf=${String(unsignalled)}${more}`)
    const body = html`${heading(t.replacements.title, t.replacements.about)}
      <p>
        <a href="${href(!full_rbf)}">${full_rbf ? t.replacements.all : t.replacements.unsignalled}</a>
      </p>
      ${items.length === 0 ? empty(t.replacements.none) : replacementsTable(context, t.replacements.title, items)}
      ${next === null ? undefined : html`<p><a href="${href(full_rbf, `&cursor=${next}`)}" rel="next">${t.replacements.older}</a></p>`}`
    return { ...t.replacements, body, json: `${PATH}?full_rbf=${String(full_rbf)}` }
  },
})
