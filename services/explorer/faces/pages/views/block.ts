import { serializeHeader } from '../../../../../pipelines/chain/block.js'
import { html, type Html } from '../../../../design/html.js'
import { icon } from '../../../../design/icons.js'
import { heightOrHash, limit, page } from '../../../core/reads/arguments.js'
import { block as blockRead, blockTransactions } from '../../../core/reads/chain/blocks.js'
import { blockStatistics } from '../../../core/reads/chain/block-statistics.js'
import { expectedBlock } from '../../../core/reads/mempool/expected-blocks.js'
import { blockSummary } from '../../../core/reads/mempool/block-contents.js'
import { NotFound } from '../../../core/reads/read.js'
import type { Block, BlockStatistics } from '../../../core/reads/shapes.js'
import { blockMap } from '../components/charts/block-map.js'
import { blockFigures, fullness } from '../components/blocks.js'
import {
  addressLink,
  badge,
  copyable,
  facts,
  forms,
  hashLink,
  minerLink,
  notice,
  paged,
  section,
  share,
  stat,
  stats,
  watchButton,
} from '../components/elements.js'
import { expectedSection } from '../components/expected.js'
import { CARD, transactionCard } from '../components/transactions.js'
import { filled } from '../format.js'
import { declarePage, type PageContext, pastArgument } from '../page.js'

export const block = declarePage({
  name: 'block',
  path: '/block/:heightOrHash',
  args: { heightOrHash, page, limit: limit(25, 100), at: pastArgument },
  async view(context, { heightOrHash: which, page, limit }) {
    const { t, f, to, read, chain, validity } = context
    // Confirmations, and the link to the next block.
    validity.dependsOn('head')
    const [answer, figures, txs, contents, comparison] = await Promise.all([
      read(blockRead, { heightOrHash: which }),
      read(blockStatistics, { heightOrHash: which }),
      read(blockTransactions, { heightOrHash: which, page, limit }, CARD),
      page > 1 ? undefined : read(blockSummary, { heightOrHash: which }),
      read(expectedBlock, { heightOrHash: which, limit: MOST_DIFFERENCES }).catch(whereKnown),
    ])
    const path = `/block/${which}${limit === 25 ? '' : `?limit=${String(limit)}`}`
    const map =
      contents &&
      blockMap(context, contents.items.slice(1), {
        added: new Set(comparison?.added_txs.map(({ txid }) => txid)),
        all: `${to(path)}#transactions`,
      })
    const title = t.block.title(f.number(answer.height))
    const { present } = chain
    const confirmations = chain.height - answer.height + 1
    const body = html`<header class="top">
        <div class="walk">
          ${neighbour(context, answer, -1)}
          <h1>${title} ${answer.canonical ? undefined : badge('stale', t.block.staleBadge)}</h1>
          ${neighbour(context, answer, 1)}
        </div>
        ${copyable(context, answer.hash)} ${watchButton(context, answer.hash, title)}
      </header>
      ${answer.canonical ? undefined : replaced(context, answer.height)}
      ${stats([
        stat(t.words.time, f.time(answer.timestamp)),
        answer.canonical ? stat(t.block.confirmations, f.number(confirmations)) : undefined,
        stat(t.words.transactions, f.number(answer.tx_count)),
        stat(
          t.words.size,
          f.size(answer.size),
          html`${f.percent(fullness(context, answer.weight).toFixed(2))}${share(fullness(context, answer.weight))}`,
        ),
        stat(t.block.subsidy, f.amount(answer.subsidy)),
        stat(t.block.totalFees, f.amount(answer.total_fees)),
      ])}
      ${facts([
        [
          t.block.minedBy,
          html`${minerLink(context, answer.miner_label)}
          ${answer.miner_address === null ? undefined : html`(${addressLink(context, answer.miner_address)})`}`,
        ],
        [t.block.difficulty, f.difficulty(answer.difficulty)],
        [t.words.weight, `${f.number(answer.weight)} WU`],
        ...statistics(context, figures),
        [
          t.tx.forms,
          forms(context, `/block/${answer.hash}`, [
            ['JSON', ''],
            [t.words.transactions, '/txs'],
            [t.map.title, '/summary'],
            [t.block.statistics, '/stats'],
            ...(comparison === undefined ? [] : [[t.expected.title, '/expected'] as const]),
          ]),
        ],
      ])}
      <details class="more">
        <summary>${t.block.header}</summary>
        ${facts([
          [t.block.previousHash, hashLink(context, answer.prev_hash)],
          [t.block.merkleRoot, html`<code>${answer.merkle_root}</code>`],
          [t.block.medianTime, f.time(answer.median_time)],
          [t.block.version, html`<code>0x${answer.version.toString(16)}</code>`],
          [t.block.bits, html`<code>${answer.bits}</code>`],
          [t.block.nonce, f.number(answer.nonce)],
          [t.block.strippedSize, f.size(answer.stripped_size)],
          [t.block.chainwork, html`<code>${answer.chainwork}</code>`],
          [t.script.hex, html`<code>${headerOf(answer).toString('hex')}</code>`],
        ])}
      </details>
      ${
        answer.canonical && present === undefined
          ? html`<p>
              <a href="${to(`/supply?at=${String(answer.height)}`)}" rel="nofollow">${t.past.ofBlock}</a>
            </p>`
          : undefined
      }
      ${map && section(t.map.title, map)}
      ${comparison === undefined ? undefined : expectedSection(context, comparison)}
      <div id="transactions"></div>
      ${section(
        t.block.transactions(f.number(txs.total)),
        paged(
          context,
          txs,
          path,
          txs.items.map((tx) => transactionCard(context, tx)),
        ),
      )}`
    return {
      title,
      about: blockFigures(context, answer),
      body,
      json: `/block/${which}`,
      picture: `/block/${which}`,
    }
  },
})

/** The maximum number of missing and of added transactions that the map marks. */
const MOST_DIFFERENCES = 1_000

/** Returns undefined for a block of which it is not known what was expected. @throws any other error. */
function whereKnown(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error
}

/** Returns the facts that the statistics of a block add; those of a block without transactions say nothing. */
function statistics({ t, f }: PageContext, figures: BlockStatistics): [string, string | Html | undefined][] {
  const { tx_count, fee_rate_percentiles, taproot_key_spends, taproot_script_spends } = figures
  const increase = `${figures.utxo_increase > 0 ? '+' : ''}${f.number(figures.utxo_increase)}`
  const claimed = figures.subsidy_claimed === figures.subsidy ? undefined : f.amount(figures.subsidy_claimed)
  if (tx_count < 2)
    return [
      [t.block.claimed, claimed],
      [t.block.utxoIncrease, increase],
    ]
  const rates = t.block.feeRatesAbout(
    f.number(figures.min_fee_rate),
    f.number(figures.max_fee_rate),
    f.rate(f.number(fee_rate_percentiles.p50)),
  )
  return [
    [t.block.feeRates, rates],
    [t.block.fees, html`${f.amount(figures.median_fee)}, ${f.amount(figures.max_fee)}`],
    [
      t.block.segwit,
      t.quantum.of(f.number(figures.segwit_tx_count), t.block.transactions(f.number(tx_count - 1))),
    ],
    [
      t.block.taproot,
      taproot_key_spends + taproot_script_spends === 0
        ? undefined
        : t.block.taprootOf(f.number(taproot_key_spends), f.number(taproot_script_spends)),
    ],
    [t.block.claimed, claimed],
    [t.block.utxoIncrease, increase],
  ]
}

const headerOf = ({ version, prev_hash, merkle_root, timestamp, bits, nonce }: Block): Buffer =>
  serializeHeader({
    version,
    prevHash: prev_hash,
    merkleRoot: merkle_root,
    time: Date.parse(timestamp) / 1000,
    bits: Number.parseInt(bits, 16),
    nonce: Number(nonce),
  })

/** Returns an arrow to the block below or above, which is disabled at the ends of the chain. */
function neighbour(
  { t, to, chain }: PageContext,
  { height, canonical, prev_hash }: Block,
  step: -1 | 1,
): Html {
  const [name, sign] = step < 0 ? [t.block.before, icon('before')] : [t.block.after, icon('after')]
  const target = height + step
  if (target < 0 || target > chain.height || (!canonical && step > 0))
    return html`<span class="step">${sign}</span>`
  // The block below a replaced one may have been replaced too.
  const path = canonical ? String(target) : prev_hash
  return html`<a
    class="step"
    rel="${step < 0 ? 'prev' : 'next'}"
    href="${to(`/block/${path}`)}"
    aria-label="${name}"
    >${sign}</a
  >`
}

function replaced(context: PageContext, height: number): Html {
  const { t, f, chain } = context
  if (height > chain.height) return notice(t.block.staleGone)
  return notice(filled(t.block.stale(f.number(height)), hashLink(context, chain.blocks.hashAt(height))))
}
