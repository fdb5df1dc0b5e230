import { titleOf } from '../../../../../pipelines/chain/networks.js'
import { addressSummary } from '../../../core/reads/addresses/addresses.js'
import { unusedSummary } from '../../../core/reads/addresses/summary.js'
import { address, hash, heightOrHash } from '../../../core/reads/arguments.js'
import { block as blockRead, blocks } from '../../../core/reads/chain/blocks.js'
import { transaction as transactionRead } from '../../../core/reads/chain/transactions.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { blockSummary, projectedBlock } from '../../../core/reads/mempool/block-contents.js'
import { mempoolSummary } from '../../../core/reads/mempool/mempool.js'
import { type Arguments, NotFound } from '../../../core/reads/read.js'
import { requestedScript } from '../../../core/reads/script.js'
import { networkHashrate } from '../../../core/reads/statistics/mining.js'
import { supply } from '../../../core/reads/statistics/statistics.js'
import { fullness } from '../components/blocks.js'
import { rangeOf } from '../components/coins/columns.js'
import { feeRateOf } from '../components/transactions.js'
import { MESSAGES } from '../language.js'
import { picturePathOf } from '../layout.js'
import { formatOf } from '../locales.js'
import { type Args, declareText, type Page, type PageContext, type Surroundings } from '../page.js'
import { balances } from '../series.js'
import { type Card, cardSvg, isDrawable } from './card.js'
import { balanceDrawing, flowDrawing, fullnessDrawing, mapDrawing } from './drawings.js'
import type { Drawer } from './drawer.js'

/** The number of requests of a page as which a picture counts. */
const COST = 10
/** The newest blocks of the picture of the first page. */
const BLOCKS = 9

interface PictureDeclaration<A extends Arguments> {
  /** The path of the page that the picture is of. */
  readonly path: string
  readonly args: A
  readonly card: (page: PageContext, args: Args<A>) => Promise<Card>
}

/** Declares the picture of a page, at its path with `.png` at its end. Its words are English if the font lacks their script. */
const declarePicture =
  <A extends Arguments>({ path, args, card }: PictureDeclaration<A>) =>
  (drawer: Drawer): ((of: Surroundings) => Page) =>
  () =>
    declareText({
      name: `picture of ${path}`,
      path: picturePathOf(path),
      args,
      cost: () => COST,
      async text(context, given) {
        const { network, t } = context
        const page = isDrawable(t.languageName)
          ? context
          : { ...context, t: MESSAGES.en, f: formatOf('en-GB', network) }
        const shown = await card(page, given)
        return drawer.draw(cardSvg(shown, page.t.site.name, network === undefined ? '' : titleOf(network)))
      },
    })

const ofBlock = declarePicture({
  path: '/block/:heightOrHash',
  args: { heightOrHash },
  async card({ t, f, read }, { heightOrHash: which }) {
    const [answer, { items }] = await Promise.all([
      read(blockRead, { heightOrHash: which }),
      read(blockSummary, { heightOrHash: which }),
    ])
    const title = t.block.title(f.number(answer.height))
    return {
      title: answer.canonical ? title : `${title} (${t.block.staleBadge})`,
      about: answer.hash,
      figures: [
        [t.words.transactions, f.number(answer.tx_count)],
        [t.block.totalFees, f.plainAmount(answer.total_fees)],
        [t.words.size, f.size(answer.size)],
        [t.block.minedBy, answer.miner_label ?? t.words.unknown],
      ],
      drawing: mapDrawing(items.slice(1)),
    }
  },
})

const ofTransaction = declarePicture({
  path: '/tx/:txid',
  args: { txid: hash },
  async card(page, { txid }) {
    const { t, f, read, chain, validity } = page
    const tx = await read(transactionRead, { txid }, rangeOf(1))
    validity.dependsOn('head')
    const { block_height: height } = tx
    const state =
      height === null
        ? t.sharing.waits
        : t.sharing.confirmed(f.number(chain.height - height + 1), f.number(height))
    return {
      title: `${t.tx.title} ${tx.txid.slice(0, 8)}…${tx.txid.slice(-6)}`,
      about: state,
      figures: [
        [t.tx.moved, f.plainAmount(tx.output_value)],
        ...(tx.is_coinbase
          ? []
          : ([
              [t.words.fee, f.plainAmount(tx.fee)],
              [t.words.feeRate, feeRateOf(page, tx)],
            ] as const)),
        [t.words.size, `${f.number(tx.vsize)} vB`],
      ],
      drawing: flowDrawing(tx),
    }
  },
})

const ofAddress = declarePicture({
  path: '/address/:address',
  args: { address },
  async card(page, { address: requested }) {
    const { t, f, read, definitions } = page
    const named = await requestedScript(page, requested)
    const summary = await read(addressSummary, { address: requested }).catch((error: unknown) => {
      if (!(error instanceof NotFound) || named.address === null) throw error
      return unusedSummary(page, named)
    })
    const label = definitions.labels.ofScript(named.scriptHash)?.label
    const { points } = await balances(page, 'year', requested)
    return {
      title: label !== undefined && isDrawable(label) ? label : t.address.title,
      about: named.address ?? requested,
      figures: [
        [t.address.balance, f.plainAmount(summary.balance)],
        [t.address.transactions, f.number(summary.tx_count)],
        [t.address.received, f.plainAmount(summary.total_received)],
        [t.address.sent, f.plainAmount(summary.total_sent)],
      ],
      drawing: balanceDrawing(points),
    }
  },
})

const ofProjected = declarePicture({
  path: '/mempool/block/:block',
  args: projectedBlock.args,
  async card(page, { block }) {
    const { t, f, read } = page
    const [{ items }, { items: all }] = await Promise.all([
      read(projectedBlock, { block }),
      read(mempoolBlocks, { limit: block }),
    ])
    const sums = all[block - 1]
    const title = block === 1 ? t.front.next : t.front.nextIn(f.number(block))
    if (sums === undefined) return { title, about: t.map.fewer, figures: [] }
    return {
      title,
      about: t.map.projected,
      figures: [
        [t.words.transactions, f.number(sums.txCount)],
        [t.words.fees, f.plainAmount(sums.totalFees)],
        [t.words.feeRate, f.rate(t.mempool.rates(f.number(sums.minFeeRate), f.number(sums.maxFeeRate)))],
        [t.words.size, `${f.number(sums.totalVsize)} vB`],
      ],
      drawing: mapDrawing(items),
    }
  },
})

const ofChain = declarePicture({
  path: '/',
  args: {},
  async card(page) {
    const { t, f, read, chain, network } = page
    const [{ items }, { items: next }, pool, hashes, { circulatingSupply }] = await Promise.all([
      read(blocks, { limit: BLOCKS }),
      read(mempoolBlocks, { limit: 1 }),
      read(mempoolSummary, {}),
      read(networkHashrate, {}),
      read(supply, {}),
    ])
    const weights = [...items.map(({ weight }) => weight).reverse(), next[0]?.totalWeight ?? 0]
    return {
      title: network === undefined ? t.front.title : t.front.titleOf(titleOf(network)),
      about: t.front.height(f.number(Math.max(0, chain.height))),
      figures: [
        [t.front.mempool, t.words.txs(f.number(pool.txCount))],
        [t.words.feeRate, f.rate(f.number(next[0]?.medianFeeRate ?? '0'))],
        [t.front.hashrate, `${f.short(hashes.hashrate)}H/s`],
        [t.supply.circulating, f.plainAmount(circulatingSupply)],
      ],
      drawing: fullnessDrawing(weights.map((weight) => fullness(page, weight))),
    }
  },
})

/** Returns the pictures of pages, as others show them for links. */
export const picturesOf = (drawer: Drawer): readonly ((of: Surroundings) => Page)[] =>
  [ofChain, ofBlock, ofTransaction, ofAddress, ofProjected].map((declared) => declared(drawer))
