import { html, type Html } from '../../../../../design/html.js'
import { page } from '../../../../core/reads/arguments.js'
import { reorgs as reorgsRead } from '../../../../core/reads/chain/reorgs.js'
import { blockLink, hashLink, heading, paged } from '../../components/elements.js'
import { table } from '../../components/table.js'
import { declarePage } from '../../page.js'

const ITEMS = 20

interface Branch {
  readonly height: number
  readonly hash: string
}

export const reorgs = declarePage({
  name: 'reorgs',
  path: '/reorgs',
  args: { page },
  async view(context, { page }) {
    const { t, f, read } = context
    const answer = await read(reorgsRead, { page, limit: ITEMS })
    const blocksOf = (branch: readonly Branch[]): Html =>
      html`${branch.map(({ hash }) => html`<div>${hashLink(context, hash)}</div>`)}`
    const rows = answer.items.map(({ seq, fork_height, depth, disconnected, connected }) => ({
      id: `r-${String(seq)}`,
      cells: [blockLink(context, fork_height), f.number(depth), blocksOf(disconnected), blocksOf(connected)],
    }))
    const columns = [
      { title: t.reorgs.fork },
      { title: t.reorgs.depth, isNumber: true },
      { title: t.reorgs.disconnected },
      { title: t.reorgs.connected },
    ]
    const content = html`<p>${t.reorgs.counted(f.number(answer.total))}</p>
      ${table(t.reorgs.title, columns, rows)}`
    const body = html`${heading(t.reorgs.title, t.reorgs.about)}
    ${paged(context, answer, '/reorgs', content, t.reorgs.none)}`
    return { ...t.reorgs, body, json: '/reorgs' }
  },
})
