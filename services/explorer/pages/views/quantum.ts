import { html } from '../../../design/html.js'
import { dilithium } from '../../reads/statistics/statistics.js'
import { chart } from '../components/chart.js'
import { heading, section, share, stat, stats } from '../components/elements.js'
import { declarePage } from '../page.js'
import { adoption } from '../series.js'

export const quantum = declarePage({
  name: 'quantum',
  path: '/quantum',
  args: {},
  async view(page) {
    const { t, f, read } = page
    const [now, overTime] = await Promise.all([read(dilithium, {}), adoption(page)])
    const figure = (name: string, percent: string, part: number, all: number) =>
      stat(
        name,
        f.percent(percent),
        html`${t.quantum.of(f.number(part), f.number(all))}${share(Number(percent))}`,
      )
    const body = html`${heading(t.quantum.title, t.quantum.about)}
    ${stats([
      figure(
        t.quantum.transactions,
        now.dilithiumTxPercent,
        now.dilithiumTransactions,
        now.totalTransactions,
      ),
      figure(t.quantum.addresses, now.dilithiumAddrPercent, now.dilithiumAddresses, now.totalAddresses),
    ])}
    ${section(t.quantum.overTime, chart(page, overTime))}`
    return { ...t.quantum, body, json: '/stats/dilithium' }
  },
})
