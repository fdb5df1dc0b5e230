import { html, type Html } from '../../../../design/html.js'
import { NotBuiltYet } from '../../../core/reads/read.js'
import { dilithium } from '../../../core/reads/statistics/statistics.js'
import { valueByType } from '../../../core/reads/statistics/value-by-type.js'
import { chart } from '../components/chart.js'
import { badge, heading, section, share, stat, stats } from '../components/elements.js'
import { table } from '../components/table.js'
import { declarePage, type PageContext } from '../page.js'
import { adoption } from '../series.js'

export const quantum = declarePage({
  name: 'quantum',
  path: '/quantum',
  args: {},
  async view(page) {
    const { t, f, read } = page
    const [now, overTime, value] = await Promise.all([read(dilithium, {}), adoption(page), values(page)])
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
    ${value} ${section(t.quantum.overTime, chart(page, overTime))}`
    return { ...t.quantum, body, json: '/stats/dilithium' }
  },
})

const BADGES = { protected: 'good', hidden: 'plain', exposed: 'stale', unknown: 'wait' } as const

/** Returns the value by the type of scripts; undefined while the index has no ranking. */
async function values(page: PageContext): Promise<Html | undefined> {
  const { t, f, read } = page
  const q = t.quantum
  const answer = await read(valueByType, {}).catch((error: unknown) => {
    if (error instanceof NotBuiltYet) return undefined
    throw error
  })
  if (answer === undefined || answer.items.length === 0) return undefined
  const columns = [
    { title: q.scriptType },
    { title: t.words.value, isNumber: true },
    { title: t.words.share, isNumber: true, isMinor: true },
    { title: q.funded, isNumber: true, isMinor: true },
  ]
  const rows = answer.items.map(({ script_type, protection, value, percentage, addresses }) => ({
    id: `s-${script_type ?? 'none'}`,
    cells: [
      html`${script_type === null ? t.words.noAddress : html`<code>${script_type}</code>`}
      ${badge(BADGES[protection], q.protections[protection])}`,
      f.amount(value),
      html`${f.percent(percentage)}${share(Number(percentage))}`,
      addresses === null ? '' : f.number(addresses),
    ],
  }))
  return section(
    q.values,
    html`<p>${q.valuesAbout}</p>
      ${table(q.values, columns, rows)}`,
  )
}
