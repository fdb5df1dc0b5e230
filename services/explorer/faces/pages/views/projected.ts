import { html } from '../../../../design/html.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { projectedBlock } from '../../../core/reads/mempool/block-contents.js'
import { blockMap } from '../components/charts/block-map.js'
import { fullness } from '../components/blocks.js'
import { empty, heading, section, share, stat, stats, txLink } from '../components/elements.js'
import { table } from '../components/table.js'
import { declarePage } from '../page.js'

/** The maximum number of transactions that the page lists. */
const LISTED = 50

/** A block that a miner could make of the mempool now. */
export const projected = declarePage({
  name: 'projected',
  path: '/mempool/block/:block',
  args: projectedBlock.args,
  async view(page, { block }) {
    const { t, f, read } = page
    const [{ items }, { items: blocks }] = await Promise.all([
      read(projectedBlock, { block }),
      read(mempoolBlocks, { limit: block }),
    ])
    const sums = blocks[block - 1]
    const title = block === 1 ? t.front.next : t.front.nextIn(f.number(block))
    const frame = {
      title,
      about: t.map.projected,
      channels: ['mempool'] as const,
      picture: `/mempool/block/${String(block)}`,
      json: `/mempool/blocks/txs?block=${String(block)}`,
    }
    if (sums === undefined)
      return { ...frame, body: html`${heading(title, t.map.projected)} ${empty(t.map.fewer)}` }
    const full = fullness(page, sums.totalWeight)
    const columns = [
      { title: t.words.transaction },
      { title: `${t.words.feeRate}, ${f.rateUnit}`, isNumber: true },
      { title: f.inCoins(t.words.fee), isNumber: true },
      { title: `${t.words.size}, vB`, isNumber: true },
    ]
    const rows = items.slice(0, LISTED).map(({ txid, effective_fee_rate: rate, fee, vsize }) => ({
      id: `p-${txid}`,
      cells: [txLink(page, txid), f.number(rate), f.bare(fee), f.number(vsize)],
    }))
    const map = blockMap(page, items, { all: '#transactions' })
    const body = html`${heading(title, t.map.projected)}
      ${stats([
        stat(t.words.transactions, f.number(sums.txCount)),
        stat(
          t.words.size,
          `${f.number(sums.totalVsize)} vB`,
          html`${f.percent(full.toFixed(2))}${share(full)}`,
        ),
        stat(t.words.fees, f.amount(sums.totalFees)),
        stat(
          t.words.feeRate,
          t.mempool.rates(f.number(sums.minFeeRate), f.number(sums.maxFeeRate)),
          f.rateUnit,
        ),
      ])}
      ${map && section(t.map.title, map)}
      <div id="transactions"></div>
      ${section(t.words.transactions, table(t.words.transactions, columns, rows))}
      ${items.length > LISTED ? html`<p class="soft">${t.words.more(f.number(items.length - LISTED))}</p>` : undefined}`
    return { ...frame, body }
  },
})
