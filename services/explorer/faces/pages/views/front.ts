import { titleOf } from '../../../../../pipelines/chain/networks.js'
import { dateOf } from '../../../../../pipelines/chain/time.js'
import { html, type Html } from '../../../../design/html.js'
import type { Static } from '@sinclair/typebox'
import { blocks } from '../../../core/reads/chain/blocks.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { mempoolSummary, mempoolTransactions } from '../../../core/reads/mempool/mempool.js'
import { briefWhaleAlerts, WHALE_VALUE } from '../../../core/reads/mempool/whales.js'
import { miningRetarget, networkHashrate } from '../../../core/reads/statistics/mining.js'
import { dilithium, summary, supply } from '../../../core/reads/statistics/statistics.js'
import type { ProjectedBlock, Retarget, Supply } from '../../../core/reads/shapes.js'
import { blockCard, feeHistogram, nextCard, projectedCard } from '../components/blocks.js'
import { empty, heading, searchForm, section, stat, stats } from '../components/elements.js'
import { feeRates } from '../components/estimates.js'
import { filled } from '../format.js'
import { signedPercent, whenChanged, withoutBlocks } from '../components/retarget.js'
import { largeTable, mempoolTable } from '../components/transactions.js'
import { aboutOf } from '../layout.js'
import { declarePage, type PageContext } from '../page.js'

const BLOCKS = 7
const PROJECTED = 3
const TRANSACTIONS = 8
const LARGE = 5

/** The block that a miner could make of an empty mempool: its card is there, so that none moves when the first transaction arrives. */
const EMPTY_BLOCK: Static<typeof ProjectedBlock> = {
  txCount: 0,
  totalVsize: 0,
  totalWeight: 0,
  totalFees: '0',
  minFeeRate: '0',
  maxFeeRate: '0',
  medianFeeRate: '0',
}

/** The first page: the newest state of everything, live. */
export const front = declarePage({
  name: 'front',
  path: '/',
  args: {},
  async view(page) {
    const { t, f, to, read, network } = page
    const [state, { items }, pool, newest, coins, adoption, large, hashes, next, retarget, rates] =
      await Promise.all([
        read(summary, {}),
        read(blocks, { limit: BLOCKS }),
        read(mempoolSummary, {}),
        read(mempoolTransactions, { limit: TRANSACTIONS }),
        read(supply, {}),
        read(dilithium, {}),
        read(briefWhaleAlerts, { limit: LARGE }),
        read(networkHashrate, {}),
        read(mempoolBlocks, { limit: PROJECTED }),
        read(miningRetarget, {}).catch(withoutBlocks),
        feeRates(page),
      ])
    const [first = EMPTY_BLOCK, ...later] = next.items
    const chainTitle = network === undefined ? t.front.title : t.front.titleOf(titleOf(network))
    const body = html`<div class="intro">
        <div>${heading(chainTitle, chainLine(page, coins))} ${searchForm(page)}</div>
        ${rates}
      </div>
      <section class="part">
        <h2>${t.front.latestBlocks}<a class="all" href="${to('/blocks')}">${t.words.all}</a></h2>
        <ol class="cubes">
          ${later.map((block, index) => projectedCard(page, block, index + 1)).reverse()}
          ${nextCard(page, first, items[0]?.timestamp)} ${items.map((block) => blockCard(page, block))}
        </ol>
      </section>
      ${stats([
        stat(t.front.mempool, f.number(pool.txCount), `${f.number(pool.totalVsize)} vB`),
        stat(
          t.front.hashrate,
          `${f.short(hashes.hashrate)}H/s`,
          t.mining.ofBlocks(f.number(hashes.blockCount)),
        ),
        stat(t.front.difficulty, f.difficulty(state.difficulty), difficultyNote(page, retarget)),
        network?.dilithium === undefined
          ? undefined
          : stat(
              t.front.quantum,
              f.percent(adoption.dilithiumTxPercent),
              t.quantum.of(f.number(adoption.dilithiumTransactions), f.number(adoption.totalTransactions)),
            ),
      ])}
      <div class="columns">
        ${section(t.front.feeRates, feeHistogram(page, pool.feeHistogram), { href: to('/mempool'), text: t.nav.mempool })}
        ${section(
          t.front.latestTransactions,
          newest.items.length === 0
            ? empty(t.front.empty)
            : mempoolTable(page, t.front.latestTransactions, newest.items),
          { href: to('/mempool'), text: t.words.all },
        )}
      </div>
      ${section(
        t.front.large,
        large.items.length === 0
          ? empty(t.large.none(f.plainAmount(String(WHALE_VALUE))))
          : largeTable(page, t.front.large, large.items),
        { href: to('/large'), text: t.words.all },
      )}`
    const { title } = t.front
    return { title, body, channels: ['mempool', 'stats'], feed: '/blocks', json: '/stats/summary' }
  },
})

/** Returns what the chain is: its height, since when it exists, and its coins; before the first block, what the pages are about. */
function chainLine(page: PageContext, { circulatingSupply }: Static<typeof Supply>): Html {
  const { t, f, network, chain } = page
  const since = firstDay(page)
  if (since === undefined) return html`${aboutOf(t, network)}`
  return html`${t.front.height(f.number(chain.height))} · ${filled(t.front.since, f.date(since))} ·
  ${filled(t.front.issued, f.brief(circulatingSupply))}`
}

/** Returns the day of the oldest block. Block 0 of a test network is as old as its software: the day of block 1 counts. */
function firstDay({ chain: { days }, network }: PageContext): string | undefined {
  const [oldest, next] = [days.at(-1), days.at(-2)]
  const day = network?.isTest === true && oldest?.blocks === 1 ? (next ?? oldest) : oldest
  return day && dateOf(day.day)
}

function difficultyNote(page: PageContext, next: Static<typeof Retarget> | undefined): string | undefined {
  if (next === undefined) return undefined
  const when = whenChanged(page, next)
  return next.expected_change === null ? when : `${signedPercent(page, next.expected_change)} ${when}`
}
