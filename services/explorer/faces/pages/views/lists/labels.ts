import { html } from '../../../../../design/html.js'
import { labels as labelsRead } from '../../../../core/reads/addresses/labels.js'
import { addressLink, badge, empty, heading } from '../../components/elements.js'
import { table } from '../../components/table.js'
import { declarePage } from '../../page.js'

export const labels = declarePage({
  name: 'labels',
  path: '/labels',
  args: { category: labelsRead.args.category },
  async view(page, args) {
    const { t, to, read } = page
    const { items } = await read(labelsRead, { ...args, limit: 500 })
    const columns = [
      { title: t.words.label },
      { title: t.words.category },
      { title: t.words.address },
      { title: t.labels.link },
    ]
    const rows = items.map(({ address, label, category, url, verified }) => ({
      cells: [
        html`${label} ${verified ? badge('good', t.words.verified) : undefined}`,
        html`<a href="${to('/labels')}?category=${encodeURIComponent(category)}">${category}</a>`,
        addressLink(page, address),
        url === null
          ? ''
          : html`<a href="${url}" rel="noopener noreferrer nofollow">${new URL(url).host}</a>`,
      ],
    }))
    const body = html`${heading(t.labels.title, t.labels.about)}
    ${rows.length === 0 ? empty(t.labels.none) : table(t.labels.title, columns, rows)}`
    return { ...t.labels, body, json: '/labels' }
  },
})
