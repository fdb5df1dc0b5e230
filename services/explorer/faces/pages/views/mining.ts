import type { Static } from '@sinclair/typebox'
import { html, type Html } from '../../../../design/html.js'
import { DAY_SECONDS, isoTime } from '../../../../../pipelines/chain/time.js'
import type { Retarget } from '../../../core/reads/shapes.js'
import {
  miningPools,
  miningRetarget,
  MOST_COUNTED,
  networkHashrate,
} from '../../../core/reads/statistics/mining.js'
import { summary } from '../../../core/reads/statistics/statistics.js'
import type { RecentBlocks } from '../../../core/state/recent-blocks.js'
import { chart } from '../components/charts/chart.js'
import { spans } from '../components/charts/spans.js'
import { addressLink, heading, section, share, stat, stats } from '../components/elements.js'
import { halving } from '../components/halving.js'
import { signedPercent, whenChanged, withoutBlocks } from '../components/retarget.js'
import { table } from '../components/table.js'
import { declarePage, type PageContext } from '../page.js'
import { difficulties, fees, fullnesses, hashrates, type Range, rangeOf, RANGES } from '../series.js'

function retarget(page: PageContext, next: Static<typeof Retarget>): Html | undefined {
  const { t, f } = page
  const { expected_change: change, expected_time: time, interval } = next
  // The difficulty itself says that it changes with every block, or never.
  if (interval === 1 || time === null) return undefined
  const when = whenChanged(page, next)
  return change === null
    ? stat(t.mining.nextChange, f.date(time), when)
    : stat(t.mining.nextChange, signedPercent(page, change), html`${when}, ${f.time(time)}`)
}

/** Returns the blocks of a time span up to the newest one, as many as the read of mining pools counts. */
function newestBlocks({ chain: { recent } }: PageContext, range: Range): RecentBlocks {
  const since = (recent.at(-1)?.time ?? 0) - RANGES[range] * DAY_SECONDS
  const first = recent.findIndex(({ time }) => time >= since)
  return recent.slice(Math.max(first, recent.length - MOST_COUNTED))
}

/** Returns the times of the first and the last of some blocks. */
function periodOf({ f }: PageContext, blocks: RecentBlocks): Html | undefined {
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return html`<p class="soft">${f.time(isoTime(first.time))} – ${f.time(isoTime(last.time))}</p>`
}

export const mining = declarePage({
  name: 'mining',
  path: '/mining',
  args: { range: rangeOf('month') },
  async view(page, { range }) {
    const { t, f, to, read } = page
    const mined = newestBlocks(page, range)
    const [state, next, hashes, { pools, blockCount }, ...charts] = await Promise.all([
      read(summary, {}),
      read(miningRetarget, {}).catch(withoutBlocks),
      read(networkHashrate, {}),
      read(miningPools, { window: Math.max(1, mined.length) }),
      fees(page, range),
      fullnesses(page, range),
      hashrates(page, range),
      difficulties(page, range),
    ])
    const columns = [
      { title: t.mining.pool },
      { title: t.words.blocks, isNumber: true },
      { title: t.words.share, isNumber: true },
      { title: t.words.address },
    ]
    const rows = pools.map(({ name, slug, blockCount, percentage, address }) => ({
      id: `miner-${slug}`,
      cells: [
        html`<a href="${to(`/mining/pool/${slug}`)}">${name}</a>`,
        f.number(blockCount),
        html`${f.percent(percentage)}${share(Number(percentage))}`,
        address === null ? '' : addressLink(page, address),
      ],
    }))
    const retargetStat = next && retarget(page, next)
    const title = t.mining.pools(f.number(blockCount))
    const body = html`${heading(t.mining.title, t.mining.about)}
    ${stats([
      stat(
        t.mining.hashrate,
        `${f.short(hashes.hashrate)}H/s`,
        t.mining.ofBlocks(f.number(hashes.blockCount)),
      ),
      stat(
        t.mining.difficulty,
        f.difficulty(state.difficulty),
        next && retargetStat === undefined ? whenChanged(page, next) : undefined,
      ),
      retargetStat,
      typeof next?.previous_change !== 'string'
        ? undefined
        : stat(t.mining.previousChange, signedPercent(page, next.previous_change), f.date(next.start_time)),
      halving(page),
    ])}
    ${spans(page, '/mining', range, 'month')}
    ${section(title, html`${periodOf(page, mined)} ${table(title, columns, rows)}`)}
    ${charts.map((each) => section(each.title, chart(page, each)))}`
    return { ...t.mining, body, json: '/mining/pools' }
  },
})
