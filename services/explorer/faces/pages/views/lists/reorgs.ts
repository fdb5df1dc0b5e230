import { html, type Html } from '../../../../../design/html.js'
import { page } from '../../../../core/reads/arguments.js'
import { block } from '../../../../core/reads/chain/blocks.js'
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
    const { t, f, to, read } = context
    const answer = await read(reorgsRead, { page, limit: ITEMS })
    // The time of a reorganisation is that of the newest block of its new branch.
    const times = await Promise.all(
      answer.items.map(async ({ connected, disconnected }) => {
        const newest = connected.at(-1) ?? disconnected[0]
        return newest && (await read(block, { heightOrHash: newest.hash })).timestamp
      }),
    )
    const blocksOf = (branch: readonly Branch[]): Html =>
      html`${[...branch]
        .sort((one, other) => one.height - other.height)
        .map(({ height, hash }) => html`<div>${f.number(height)} ${hashLink(context, hash)}</div>`)}`
    const rows = answer.items.map(({ seq, fork_height, depth, disconnected, connected }, index) => ({
      id: `r-${String(seq)}`,
      cells: [
        blockLink(context, fork_height),
        f.number(depth),
        times[index] === undefined ? undefined : f.time(times[index]),
        blocksOf(disconnected),
        blocksOf(connected),
        html`<a class="number" href="${to(`/reorgs/${String(seq)}`)}">${f.number(seq)}</a>`,
      ],
    }))
    const columns = [
      { title: t.reorgs.fork },
      { title: t.reorgs.depth, isNumber: true },
      { title: t.words.time },
      { title: t.reorgs.disconnected },
      { title: t.reorgs.connected },
      { title: t.words.details, isNumber: true },
    ]
    const content = html`<p>${t.reorgs.counted(f.number(answer.total))}</p>
      ${table(t.reorgs.title, columns, rows)}`
    const body = html`${heading(t.reorgs.title, t.reorgs.about)}
    ${paged(context, answer, '/reorgs', content, t.reorgs.none)}`
    return { ...t.reorgs, body, feed: '/reorgs', json: '/reorgs' }
  },
})
