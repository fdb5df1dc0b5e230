import { html } from '../../../../../design/html.js'
import { limit } from '../../../../core/reads/arguments.js'
import { briefWhaleAlerts } from '../../../../core/reads/mempool/whales.js'
import { empty, heading } from '../../components/elements.js'
import { largeTable } from '../../components/transactions.js'
import { declarePage } from '../../page.js'

export const large = declarePage({
  name: 'large',
  path: '/large',
  args: { limit: limit(50, 100) },
  async view(page, { limit }) {
    const { t, read } = page
    const { items } = await read(briefWhaleAlerts, { limit })
    const body = html`${heading(t.large.title, t.large.about)}
    ${items.length === 0 ? empty(t.large.none) : largeTable(page, t.large.title, items)}`
    return { ...t.large, body, channels: ['whale-alerts'], json: '/whale-alerts' }
  },
})
