import { html } from '../../../../../design/html.js'
import { limit } from '../../../../core/reads/arguments.js'
import { briefWhaleAlerts, WHALE_VALUE } from '../../../../core/reads/mempool/whales.js'
import { empty, heading } from '../../components/elements.js'
import { largeTable } from '../../components/transactions.js'
import { declarePage } from '../../page.js'

export const large = declarePage({
  name: 'large',
  path: '/large',
  args: { limit: limit(50, 100) },
  async view(page, { limit }) {
    const { t, f, read } = page
    const least = f.plainAmount(String(WHALE_VALUE))
    const about = t.large.about(least)
    const { items } = await read(briefWhaleAlerts, { limit })
    const body = html`${heading(t.large.title, about)}
    ${items.length === 0 ? empty(t.large.none(least)) : largeTable(page, t.large.title, items)}`
    const { title } = t.large
    return { title, about, body, channels: ['whale-alerts'], feed: '/large', json: '/whale-alerts' }
  },
})
