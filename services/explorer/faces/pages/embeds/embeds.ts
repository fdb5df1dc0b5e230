import { html, type Html } from '../../../../design/html.js'
import { titleOf } from '../../../../../pipelines/chain/networks.js'
import { addressSummary } from '../../../core/reads/addresses/addresses.js'
import { unusedSummary } from '../../../core/reads/addresses/summary.js'
import { address, hash, heightOrHash } from '../../../core/reads/arguments.js'
import { block as blockRead, tip } from '../../../core/reads/chain/blocks.js'
import { transaction as transactionRead } from '../../../core/reads/chain/transactions.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { mempoolSummary } from '../../../core/reads/mempool/mempool.js'
import { type Arguments, NotFound } from '../../../core/reads/read.js'
import { requestedScript } from '../../../core/reads/script.js'
import type { Block } from '../../../core/reads/shapes.js'
import { fullness } from '../components/blocks.js'
import { rangeOf } from '../components/coins/columns.js'
import { badge, share, shortened, stat, stats } from '../components/elements.js'
import { feeRates } from '../components/estimates.js'
import { feeRateOf } from '../components/transactions.js'
import type { Shown } from '../layout.js'
import { type Args, declareIn, type Page, type PageContext, type Surroundings } from '../page.js'
import { bareLayout, EMBEDS, theme } from './frame.js'

type Themed = Args<{ readonly theme: typeof theme }>

interface Embedded extends Pick<Shown, 'channels'> {
  readonly title: string
  /** The part after the title. */
  readonly about?: Html
  /** The path of the complete page. */
  readonly path: string
  readonly body: Html
}

/** Declares a small page for frames of other sites. */
const declareEmbed = <A extends Arguments>(
  path: string,
  args: A,
  view: (page: PageContext, args: Args<A>) => Promise<Embedded>,
): ((of: Surroundings) => Page) =>
  declareIn(
    (content, frame, given) =>
      bareLayout(content, frame, { theme: (given as Themed).theme, isEmbedded: true }),
    {
      name: `embed ${path}`,
      path: EMBEDS + path,
      args: { ...args, theme },
      async view(page, given) {
        const { t, to, network } = page
        const shown = await view(page, given as unknown as Args<A>)
        const body = html`<article class="embed">
          <h1><a href="${to(shown.path)}">${shown.title}</a> ${shown.about}</h1>
          ${shown.body}
          <p class="soft">
            <a href="${to('/')}">${t.site.name}</a>
            ${network === undefined ? undefined : html`· ${titleOf(network)}`}
          </p>
        </article>`
        return {
          title: shown.title,
          body,
          ...(shown.channels === undefined ? {} : { channels: shown.channels }),
        }
      },
    },
  )

const shownBlock = (page: PageContext, answer: Block): Embedded => {
  const { t, f } = page
  const full = fullness(page, answer.weight)
  return {
    title: t.block.title(f.number(answer.height)),
    ...(answer.canonical ? {} : { about: badge('stale', t.block.staleBadge) }),
    path: `/block/${answer.hash}`,
    body: stats([
      stat(t.words.age, f.age(answer.timestamp)),
      stat(t.words.transactions, f.number(answer.tx_count)),
      stat(t.words.size, f.size(answer.size), html`${f.percent(full.toFixed(1))}${share(full)}`),
      stat(t.words.fees, f.brief(answer.total_fees)),
      stat(t.words.miner, answer.miner_label ?? t.words.unknown),
    ]),
  }
}

const latestBlock = declareEmbed('/block/latest', {}, async (page) =>
  shownBlock(page, await page.read(tip, {})),
)

const ofBlock = declareEmbed('/block/:heightOrHash', { heightOrHash }, async (page, given) => {
  page.validity.dependsOn('head')
  return shownBlock(page, await page.read(blockRead, given))
})

const ofTransaction = declareEmbed('/tx/:txid', { txid: hash }, async (page, { txid }) => {
  const { t, f, read, chain, validity } = page
  const tx = await read(transactionRead, { txid }, rangeOf(1))
  validity.dependsOn('head')
  const { block_height: height } = tx
  return {
    title: t.tx.title,
    about:
      height === null
        ? badge('wait', t.tx.unconfirmed)
        : badge('good', t.tx.confirmed(f.number(chain.height - height + 1))),
    path: `/tx/${tx.txid}`,
    channels: ['mempool'],
    body: html`<p><code class="hash">${shortened(tx.txid)}</code></p>
      ${stats([
        stat(t.tx.moved, f.brief(tx.output_value)),
        tx.is_coinbase ? undefined : stat(t.words.fee, f.brief(tx.fee), feeRateOf(page, tx)),
        height === null
          ? stat(t.tx.firstSeen, f.since(tx.timestamp))
          : stat(t.tx.inBlock, f.number(height), f.since(tx.timestamp)),
      ])}`,
  }
})

const ofAddress = declareEmbed('/address/:address', { address }, async (page, { address: requested }) => {
  const { t, f, read, definitions } = page
  const named = await requestedScript(page, requested)
  const summary = await read(addressSummary, { address: requested }).catch((error: unknown) => {
    if (!(error instanceof NotFound) || named.address === null) throw error
    return unusedSummary(page, named)
  })
  const { unconfirmed } = summary
  return {
    title: definitions.labels.ofScript(named.scriptHash)?.label ?? t.address.title,
    path: `/address/${requested}`,
    channels: ['mempool'],
    body: html`<p><code class="hash">${shortened(named.address ?? requested)}</code></p>
      ${stats([
        stat(
          t.address.balance,
          f.brief(summary.balance),
          unconfirmed.tx_count === 0
            ? undefined
            : html`${f.amount(unconfirmed.balance_change, true)} ${t.words.unconfirmed}`,
        ),
        stat(t.address.received, f.brief(summary.total_received)),
        stat(t.address.transactions, f.number(summary.tx_count)),
      ])}`,
  }
})

const ofMempool = declareEmbed('/mempool', {}, async (page) => {
  const { t, f, read } = page
  const [
    pool,
    {
      items: [next],
    },
    rates,
  ] = await Promise.all([read(mempoolSummary, {}), read(mempoolBlocks, { limit: 1 }), feeRates(page)])
  return {
    title: t.nav.mempool,
    path: '/mempool',
    channels: ['mempool'],
    body: html`${rates}
    ${stats([
      stat(t.words.transactions, f.number(pool.txCount)),
      stat(t.words.size, `${f.number(pool.totalVsize)} vB`),
      next &&
        stat(
          t.front.next,
          t.front.full(f.percent(fullness(page, next.totalWeight).toFixed(1))),
          t.words.txs(f.number(next.txCount)),
        ),
    ])}`,
  }
})

/** The pages for frames of other sites. A path without parameters comes before those with them. */
export const EMBEDDED = [latestBlock, ofBlock, ofTransaction, ofAddress, ofMempool] as const
