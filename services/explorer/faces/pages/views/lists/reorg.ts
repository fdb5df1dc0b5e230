import { Type } from '@sinclair/typebox'
import { html, type Html } from '../../../../../design/html.js'
import { icon } from '../../../../../design/icons.js'
import { page } from '../../../../core/reads/arguments.js'
import { type BranchBlock, type ReplayedTx, replayOf } from '../../../../core/reads/chain/reorgs.js'
import {
  badge,
  blockLink,
  empty,
  hashLink,
  minerLink,
  paged,
  section,
  stat,
  stats,
  txLink,
} from '../../components/elements.js'
import { lostInputs } from '../../components/replacements.js'
import { table } from '../../components/table.js'
import { declarePage, type PageContext } from '../../page.js'

const ITEMS = 50
const BADGES = {
  doubleSpent: 'stale',
  orphaned: 'stale',
  dropped: 'stale',
  unconfirmed: 'wait',
  elsewhere: 'good',
  again: 'good',
} as const
const OUTCOMES = Object.keys(BADGES) as readonly (keyof typeof BADGES)[]

/** The page of one reorganisation: both branches, block by block, and what became of the transactions of the replaced one. */
export const reorg = declarePage({
  name: 'reorg',
  path: '/reorgs/:seq',
  args: { seq: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 }), page },
  async view(context, { seq, page }) {
    const { t, f, chain } = context
    const words = t.reorgs
    const { forkHeight, disconnected, connected, txs } = await replayOf(context, seq)
    const title = words.titleOf(f.number(seq))
    const outcomes = OUTCOMES.map((each) => ({
      each,
      count: txs?.filter(({ outcome }) => outcome === each).length ?? 0,
    }))
    const path = `/reorgs/${String(seq)}`
    const items = txs?.slice((page - 1) * ITEMS, page * ITEMS) ?? []
    const body = html`<header class="top">
        <div class="walk">
          ${neighbour(context, seq - 1, 'before')}
          <h1>${title}</h1>
          ${neighbour(context, seq + 1, 'after')}
        </div>
        <p class="lead">${words.replayed}</p>
      </header>
      ${stats([
        stat(words.fork, forkHeight < 0 ? '' : blockLink(context, forkHeight)),
        stat(words.depth, f.number(disconnected.length)),
        stat(words.connected, f.number(connected.length)),
        ...outcomes.map(({ each, count }) =>
          count === 0 ? undefined : stat(words.outcomes[each], f.number(count)),
        ),
      ])}
      ${section(words.steps, branches(context, disconnected, connected))}
      ${section(
        words.transactions,
        txs === undefined
          ? empty(words.tooMany)
          : paged(
              context,
              { page, total: txs.length, limit: ITEMS },
              path,
              fates(context, items),
              words.noTransactions,
            ),
      )}`
    return {
      title,
      about: words.aboutOf(f.number(disconnected.length), f.number(Math.min(forkHeight, chain.height))),
      body,
      json: '/reorgs',
    }
  },
})

/** Returns an arrow to the reorganisation before or after, which is disabled at the ends. */
function neighbour({ t, to, chain }: PageContext, seq: number, side: 'before' | 'after'): Html {
  if (seq < 1 || seq > chain.reorgs) return html`<span class="step">${icon(side)}</span>`
  return html`<a
    class="step"
    rel="${side === 'before' ? 'prev' : 'next'}"
    href="${to(`/reorgs/${String(seq)}`)}"
    aria-label="${t.reorgs[side]}"
    >${icon(side)}</a
  >`
}

/** Returns the blocks of both branches in the order in which they were disconnected and connected. */
function branches(
  context: PageContext,
  disconnected: readonly BranchBlock[],
  connected: readonly BranchBlock[],
): Html {
  const { t, f } = context
  const words = t.reorgs
  const columns = [
    { title: words.step, isNumber: true },
    { title: words.change },
    { title: t.words.block },
    { title: t.words.time },
    { title: t.block.minedBy },
    { title: t.words.transactions, isNumber: true },
    { title: words.coinbase },
  ]
  const rows = [...disconnected, ...connected].map((block, index) => {
    const isGone = index < disconnected.length
    return {
      id: `b-${String(index)}`,
      cells: [
        f.number(index + 1),
        isGone ? badge('stale', words.minus) : badge('good', words.plus),
        html`${f.number(block.height)} ${hashLink(context, block.hash)}`,
        f.time(block.timestamp),
        minerLink(context, block.miner_label),
        f.number(block.tx_count),
        html`${txLink(context, block.coinbase)}
        ${isGone && !block.canonical ? html`<small>${words.coinbaseLost}</small>` : undefined}`,
      ],
    }
  })
  return table(words.steps, columns, rows)
}

/** Returns what became of transactions of the replaced branch. */
function fates(context: PageContext, txs: readonly ReplayedTx[]): Html {
  const { t, f } = context
  const words = t.reorgs
  const columns = [
    { title: t.words.transaction },
    { title: words.wasIn, isNumber: true },
    { title: words.outcome },
    { title: words.why },
  ]
  const rows = txs.map(({ txid, from, outcome, height, lost }) => ({
    id: `t-${txid}`,
    cells: [
      txLink(context, txid),
      f.number(from),
      html`${badge(BADGES[outcome], words.outcomes[outcome])}
      ${height === undefined ? undefined : blockLink(context, height)}`,
      lostInputs(context, lost),
    ],
  }))
  return table(words.transactions, columns, rows)
}
