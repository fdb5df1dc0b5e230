import { percentOf } from '../../../../../pipelines/chain/decimal.js'
import { html } from '../../../../design/html.js'
import type { Static } from '@sinclair/typebox'
import { blocks } from '../../../core/reads/chain/blocks.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { mempoolSummary, mempoolTransactions } from '../../../core/reads/mempool/mempool.js'
import { briefWhaleAlerts, WHALE_VALUE } from '../../../core/reads/mempool/whales.js'
import { miningRetarget, networkHashrate } from '../../../core/reads/statistics/mining.js'
import { dilithium, summary, supply } from '../../../core/reads/statistics/statistics.js'
import type { ProjectedBlock, Retarget } from '../../../core/reads/shapes.js'
import { blockCard, feeHistogram, projectedCard } from '../components/blocks.js'
import { empty, heading, searchForm, section, stat, stats } from '../components/elements.js'
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
    const [state, { items }, pool, newest, coins, adoption, large, hashes, next, retarget] =
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
      ])
    const projected = (next.items.length === 0 ? [EMPTY_BLOCK] : [...next.items]).reverse()
    const percent = percentOf(BigInt(coins.circulatingSupply), BigInt(coins.maxSupply), 2)
    const body = html`${heading(t.front.title, aboutOf(t, network))} ${searchForm(page)}
      <section class="part">
        <h2>${t.front.latestBlocks}<a class="all" href="${to('/blocks')}">${t.words.all}</a></h2>
        <ol class="cubes">
          ${projected.map((block, index) => projectedCard(page, block, projected.length - 1 - index))}
          ${items.map((block) => blockCard(page, block))}
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
        stat(t.front.supply, f.brief(coins.circulatingSupply), t.front.ofMaximum(f.percent(percent))),
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

function difficultyNote(page: PageContext, next: Static<typeof Retarget> | undefined): string | undefined {
  if (next === undefined) return undefined
  const when = whenChanged(page, next)
  return next.expected_change === null ? when : `${signedPercent(page, next.expected_change)} ${when}`
}
