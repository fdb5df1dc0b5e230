import { html } from '../../../../../design/html.js'
import { miningPool } from '../../../../core/reads/statistics/pools.js'
import { chart } from '../../components/charts/chart.js'
import {
  blockLink,
  empty,
  hashLink,
  heading,
  section,
  share,
  stat,
  stats,
} from '../../components/elements.js'
import { table } from '../../components/table.js'
import { declarePage } from '../../page.js'
import { poolShares } from '../../series.js'

export const pool = declarePage({
  name: 'pool',
  path: '/mining/pool/:slug',
  args: miningPool.args,
  async view(page, { slug, limit }) {
    const { t, f, read } = page
    const answer = await read(miningPool, { slug, limit })
    const { name, link, window, blockCount, percentage, items } = answer
    const shares = poolShares(page, answer)
    const about =
      link === null ? undefined : html`<a href="${link}" rel="noopener noreferrer nofollow">${link}</a>`
    const columns = [
      { title: t.words.height, isNumber: true },
      { title: t.words.hash },
      { title: t.words.time },
    ]
    const rows = items.map(({ height, hash, timestamp }) => ({
      id: `b-${hash}`,
      cells: [blockLink(page, height), hashLink(page, hash), f.time(timestamp)],
    }))
    const body = html`${heading(name, about)}
    ${stats([
      stat(t.words.blocks, f.number(blockCount), t.mining.ofBlocks(f.number(window))),
      stat(t.words.share, f.percent(percentage), share(Number(percentage))),
    ])}
    ${shares.points.length === 0 ? undefined : section(shares.title, chart(page, shares))}
    ${section(t.mining.poolBlocks, rows.length === 0 ? empty(t.mining.noBlocks) : table(t.mining.poolBlocks, columns, rows))}`
    return { title: name, body, json: `/mining/pool?slug=${encodeURIComponent(slug)}` }
  },
})
