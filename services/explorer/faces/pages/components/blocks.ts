import { html, type Html } from '../../../../design/html.js'
import type { Static } from '@sinclair/typebox'
import { filled } from '../format.js'
import type { PageContext } from '../page.js'
import type { Block, FeeBucket, ProjectedBlock } from '../../../core/reads/shapes.js'

/** Returns how full a block is, as a percentage of the maximum weight. */
export const fullness = ({ network }: PageContext, weight: number): number =>
  network === undefined ? 0 : (100 * weight) / network.maxBlockWeight

/** Returns the main figures of a block as a text, for feeds and previews of links. */
export const blockFigures = ({ t, f }: PageContext, block: Block): string =>
  t.sharing.block(
    f.number(block.tx_count),
    f.plainAmount(block.total_fees),
    block.miner_label ?? block.miner_address ?? t.words.unknown,
  )

/** Returns a block as a card, filled as far as the block is full. */
export function blockCard(page: PageContext, block: Block): Html {
  const { t, f, to } = page
  return html`<li class="cube" data-key="b-${block.hash}">
    <a href="${to(`/block/${String(block.height)}`)}">
      ${fill(fullness(page, block.weight))}
      <strong>${f.number(block.height)}</strong>
      <span>${f.age(block.timestamp)}</span>
      <span>${t.words.txs(f.number(block.tx_count))}</span>
      <span>${f.size(block.size)}</span>
      <span class="miner">${block.miner_label ?? t.words.unknown}</span>
    </a>
  </li>`
}

type Projected = Static<typeof ProjectedBlock>

/** Returns a block that a miner could make of the mempool now. @param index 0 for the next block. */
export function projectedCard(page: PageContext, block: Projected, index: number): Html {
  const { f } = page
  return filling(page, block, {
    index,
    more: html`<span>${f.size(block.totalVsize)}</span>
      <span class="miner">${f.brief(block.totalFees)}</span>`,
  })
}

/** Returns the next block, with how full it is already and the age of the last one. @param newest the time of the last one. */
export function nextCard(page: PageContext, block: Projected, newest: string | undefined): Html {
  const { t, f } = page
  return filling(page, block, {
    index: 0,
    more: html`<span class="full"
        >${t.front.full(f.percent(fullness(page, block.totalWeight).toFixed(1)))}</span
      >
      ${newest === undefined ? undefined : html`<span class="miner">${filled(t.front.lastBlock, f.age(newest))}</span>`}`,
  })
}

function filling(
  page: PageContext,
  block: Projected,
  { index, more }: { readonly index: number; readonly more: Html },
): Html {
  const { t, f, to } = page
  return html`<li class="cube projected">
    <a href="${to(`/mempool/block/${String(index + 1)}`)}">
      ${fill(fullness(page, block.totalWeight))}
      <strong>${index === 0 ? t.front.next : t.front.nextIn(f.number(index + 1))}</strong>
      <span>${f.rate(t.mempool.rates(f.number(block.minFeeRate), f.number(block.maxFeeRate)))}</span>
      <span>${t.words.txs(f.number(block.txCount))}</span>
      ${more}
    </a>
  </li>`
}

const fill = (percent: number): Html =>
  html`<svg class="fill" viewBox="0 0 1 100" preserveAspectRatio="none" aria-hidden="true">
    <rect y="${(100 - Math.min(100, percent)).toFixed(2)}" width="1" height="100" />
  </svg>`

/** Returns the mempool by fee rate as bars with their figures. */
export function feeHistogram({ t, f }: PageContext, buckets: readonly Static<typeof FeeBucket>[]): Html {
  const most = Math.max(1, ...buckets.map(({ totalVsize }) => totalVsize))
  const rows = [...buckets].reverse().map(
    ({ bucket, count, totalVsize }) =>
      html`<tr>
        <th scope="row">${bucket.replace('-', '–')}</th>
        <td>
          <svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="fill" width="${((100 * totalVsize) / most).toFixed(2)}" height="4" />
          </svg>
        </td>
        <td class="num">${f.number(count)}</td>
        <td class="num">${f.number(totalVsize)} vB</td>
      </tr>`,
  )
  return html`<table class="bars">
    <caption class="hidden">
      ${t.front.feeRates}
    </caption>
    <thead>
      <tr>
        <th scope="col">${t.words.feeRate}, ${f.rateUnit}</th>
        <td></td>
        <th scope="col" class="num">${t.words.transactions}</th>
        <th scope="col" class="num">${t.words.size}</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`
}
