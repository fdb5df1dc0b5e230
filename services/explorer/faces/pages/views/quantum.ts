import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { html, type Html } from '../../../../design/html.js'
import { exposure } from '../../../core/reads/statistics/exposure.js'
import { dilithium } from '../../../core/reads/statistics/statistics.js'
import { chart } from '../components/charts/chart.js'
import { badge, heading, section, share, stat, stats } from '../components/elements.js'
import { spans } from '../components/charts/spans.js'
import { travelSection } from '../past.js'
import { typeNames } from '../components/scripts.js'
import { table } from '../components/table.js'
import { declarePage, type PageContext, pastArgument } from '../page.js'
import { adoption, exposed, type Range, rangeOf, typeValues } from '../series.js'

export const quantum = declarePage({
  name: 'quantum',
  path: '/quantum',
  args: { range: rangeOf('month'), at: pastArgument },
  async view(page, { range }) {
    const { t, network, chain } = page
    const earlier = chain.present === undefined ? travelSection(page, '/quantum') : undefined
    const { exposure: title, exposureAbout, exposureAboutPlain } = t.quantum
    const exposureParts = await exposureOf(page, range)
    if (network?.dilithium === undefined) {
      const body = html`${heading(title, exposureAboutPlain)} ${exposureParts} ${earlier}`
      return { title, about: exposureAboutPlain, body, json: '/stats/exposure' }
    }
    const body = html`${await adoptionOf(page, range)} ${section(title, html`<p>${exposureAbout}</p>`)}
    ${exposureParts} ${earlier}`
    return { ...t.quantum, body, json: '/stats/exposure' }
  },
})

async function adoptionOf(page: PageContext, range: Range): Promise<Html> {
  const { t, f, read } = page
  const [now, overTime] = await Promise.all([read(dilithium, {}), adoption(page, range)])
  const figure = (name: string, percent: string, part: number, all: number) =>
    stat(
      name,
      f.percent(percent),
      html`${t.quantum.of(f.number(part), f.number(all))}${share(Number(percent))}`,
    )
  return html`${heading(t.quantum.title, t.quantum.about)}
  ${stats([
    figure(t.quantum.transactions, now.dilithiumTxPercent, now.dilithiumTransactions, now.totalTransactions),
    figure(t.quantum.addresses, now.dilithiumAddrPercent, now.dilithiumAddresses, now.totalAddresses),
  ])}
  ${section(t.quantum.overTime, html`${spans(page, '/quantum', range, 'month')}${chart(page, overTime)}`)}`
}

const BADGES = { protected: 'good', hidden: 'plain', exposed: 'stale', unknown: 'wait' } as const

async function exposureOf(page: PageContext, range: Range): Promise<Html> {
  const { t, f, read, network } = page
  const q = t.quantum
  const [now, overTime, byType] = await Promise.all([
    read(exposure, {}),
    exposed(page, range),
    typeValues(page, range),
  ])
  const columns = [
    { title: q.scriptType },
    { title: t.words.value, isNumber: true },
    { title: t.words.share, isNumber: true },
    { title: q.protections.exposed, isNumber: true },
    { title: q.outputs, isNumber: true },
    { title: q.funded, isNumber: true },
  ]
  const rows = now.types.map((type) => ({
    id: `s-${String(type.script_type)}`,
    cells: [
      html`${typeNames(page, String(type.script_type))}
      ${badge(BADGES[type.protection], q.protections[type.protection])}`,
      f.amount(type.value),
      html`${f.percent(type.percentage)}${share(Number(type.percentage))}`,
      f.amount(type.exposed),
      f.number(type.outputs),
      type.addresses === null ? '' : f.number(type.addresses),
    ],
  }))
  const figure = (kind: keyof typeof BADGES): Html => {
    const percent = percentOf(BigInt(now[kind]), BigInt(now.value), 2)
    return stat(
      q.protections[kind],
      f.percent(percent),
      html`${f.amount(now[kind])}${share(Number(percent))}`,
    )
  }
  return html`${stats([
    figure('exposed'),
    figure('hidden'),
    network?.dilithium === undefined ? undefined : figure('protected'),
    figure('unknown'),
  ])}
  ${section(q.values, table(q.values, columns, rows))}
  ${section(q.exposureOverTime, html`${network?.dilithium === undefined ? spans(page, '/quantum', range, 'month') : undefined}${chart(page, overTime)}`)}
  ${section(byType.title, chart(page, byType))}`
}
