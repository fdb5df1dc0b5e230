import { html, type Html } from '../../../../design/html.js'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import { hash, page } from '../../../core/reads/arguments.js'
import { transaction as transactionRead } from '../../../core/reads/chain/transactions.js'
import { replacedBelow } from '../../../core/reads/mempool/replacements.js'
import { packageOf, transactionPackage } from '../../../core/reads/mempool/transaction-package.js'
import type { Transaction, TransactionPackage } from '../../../core/reads/shapes.js'
import {
  badge,
  blockLink,
  copyable,
  facts,
  forms,
  paged,
  quantum,
  section,
  stat,
  stats,
  txLink,
  watchButton,
} from '../components/elements.js'
import { confirmation } from '../components/coins/confirmation.js'
import { columnsOf, ITEMS, rangeOf } from '../components/coins/columns.js'
import { locktimeText, replacementText } from '../components/coins/locks.js'
import { diagram } from '../components/coins/ribbons.js'
import { replacedTable } from '../components/replacements.js'
import { table } from '../components/table.js'
import { feeRateOf } from '../components/transactions.js'
import { verification } from '../components/verification.js'
import { declarePage, type PageContext, pastArgument } from '../page.js'

export const transaction = declarePage({
  name: 'transaction',
  path: '/tx/:txid',
  args: { txid: hash, page, at: pastArgument },
  async view(context, { txid, page }) {
    const { t, f, read, chain, validity } = context
    const position = positionOf(context, txid.toLowerCase())
    const tx = await read(transactionRead, { txid }, rangeOf(page))
    const isUnconfirmed = tx.block_height === null
    const related = isUnconfirmed ? await read(transactionPackage, { txid }) : undefined
    // Read directly, so that the page of a confirmed one does not depend on the mempool.
    const before = isUnconfirmed || tx.is_coinbase ? undefined : await packageOf(context, txid)
    const { items: replaced } = await replacedBelow(tx.txid, context)
    // Confirmations, or the position in the mempool.
    validity.dependsOn('head')
    if (tx.block_height === null) validity.dependsOn('mempool')
    const confirmations = tx.block_height === null ? 0 : chain.height - tx.block_height + 1
    const coins = { page, total: Math.max(tx.input_count, tx.output_count), limit: ITEMS }
    const columns = columnsOf(context, tx)
    const body = html`<header class="top">
        <h1>
          ${t.tx.title}
          ${
            tx.block_height === null
              ? badge('wait', t.tx.unconfirmed)
              : badge('good', t.tx.confirmed(f.number(confirmations)))
          }
          ${tx.is_dilithium ? quantum(context) : undefined}
        </h1>
        ${copyable(context, tx.txid)} ${watchButton(context, tx.txid)}
      </header>
      ${stats([
        tx.block_height === null
          ? stat(t.tx.firstSeen, f.time(tx.timestamp))
          : stat(t.tx.inBlock, blockLink(context, tx.block_height), f.time(tx.timestamp)),
        position(related),
        stat(t.tx.moved, f.amount(tx.output_value)),
        before && seenBefore(context, before),
        tx.is_coinbase ? undefined : stat(t.words.fee, f.amount(tx.fee), feeRates(context, tx, before)),
        stat(t.words.size, `${f.number(tx.vsize)} vB`, `${f.number(tx.size)} ${t.words.bytes}`),
      ])}
      ${safety(context, confirmations)} ${related && (await confirmation(context, tx, related))}
      ${related === undefined ? undefined : relatedTo(related, context)}
      ${replaced.length === 0 ? undefined : section(t.tx.replaces, replacedTable(context, t.tx.replaces, replaced))}
      ${page === 1 ? diagram(context, tx) : undefined} ${paged(context, coins, `/tx/${tx.txid}`, columns)}
      ${section(t.words.details, aboutTransaction(context, tx))}
      ${tx.block_height === null ? undefined : verification(context, tx.txid)}`
    const title = `${t.tx.title} ${tx.txid.slice(0, 8)}…${tx.txid.slice(-6)}`
    return {
      title,
      about: summaryOf(context, tx, confirmations),
      body,
      json: `/tx/${tx.txid}`,
      picture: `/tx/${tx.txid}`,
    }
  },
})

/** The confirmations with which a transaction is customarily taken as final, and up to which the page says so. */
const [CUSTOMARY, MANY] = [6, 144]

/** Returns how far a number of confirmations can be relied on; undefined for none, and for many. */
function safety({ t }: PageContext, confirmations: number): Html | undefined {
  if (confirmations === 0 || confirmations >= MANY) return undefined
  return html`<p class="soft">${confirmations < CUSTOMARY ? t.tx.few : t.tx.safe}</p>`
}

/** Returns the main figures of a transaction as a text, for previews of links. */
function summaryOf({ t, f }: PageContext, tx: Transaction, confirmations: number): string {
  const { output_value: value, fee, is_coinbase, block_height: height } = tx
  const moved = f.plainAmount(value)
  return [
    is_coinbase ? t.sharing.newCoins(moved) : t.sharing.transaction(moved, f.plainAmount(fee)),
    height === null ? t.sharing.waits : t.sharing.confirmed(f.number(confirmations), f.number(height)),
  ].join(' ')
}

/** Returns what else there is to know of a transaction, and its other forms. */
function aboutTransaction(context: PageContext, tx: Transaction): Html {
  const { t, f } = context
  return facts([
    [t.tx.sizes, t.tx.sizesOf(f.number(tx.size), f.number(tx.vsize), f.number(tx.weight))],
    [t.tx.version, f.number(tx.version)],
    [t.tx.locktime, locktimeText(context, tx)],
    [t.tx.replaceable, tx.is_coinbase ? undefined : replacementText(context, tx)],
    [
      t.tx.forms,
      forms(context, `/tx/${tx.txid}`, [
        ['JSON', ''],
        [t.script.hex, '/hex'],
        [t.tx.asOpcodes, '/scripts'],
        ...(tx.is_coinbase ? [] : [[t.tx.package, '/cpfp'] as const]),
        ...(tx.block_height === null ? [] : [[t.tx.merkleProof, '/merkle-proof'] as const]),
      ]),
    ],
  ])
}

/** The number of connected transactions on a page. */
const MAX_RELATED = 50

/**
 * Returns a function for the position of an unconfirmed transaction by its effective fee rate, and the projected block that has it. Reads
 * the mempool at once, before the first await.
 */
function positionOf(
  { t, f, mempool }: PageContext,
  txid: string,
): (related: TransactionPackage | undefined) => Html | undefined {
  const own = mempool.get(txid)
  if (own === undefined) return () => undefined
  const { count: before, vsize } = mempool.ahead(own)
  const position = `${t.tx.positionOf(f.number(before + 1), f.number(mempool.size))}; ${t.tx.before(f.number(vsize))}`
  return () => stat(t.tx.position, f.number(before + 1), position)
}

/** Returns when a confirmed transaction was first seen, and how long it waited; undefined if that is not known. */
function seenBefore(
  { t, f }: PageContext,
  { first_seen: seen, waited_seconds: waited }: TransactionPackage,
): Html | undefined {
  if (seen === null) return undefined
  return stat(t.tx.firstSeen, f.time(seen), waited === null ? undefined : t.tx.waited(f.duration(waited)))
}

/** Returns the fee rate of a transaction, and its effective one if it differs. */
function feeRates(
  context: PageContext,
  tx: Transaction,
  { fee_rate, effective_fee_rate: effective }: Pick<Transaction, 'fee_rate' | 'effective_fee_rate'> = tx,
): string {
  const { t, f } = context
  const own = feeRateOf(context, tx)
  return effective === undefined || effective === fee_rate
    ? own
    : `${own}; ${t.tx.withPackage(f.rate(f.number(effective)))}`
}

/** Returns the unconfirmed transactions that an unconfirmed one depends on, and the ones that depend on it; undefined without any. */
function relatedTo({ ancestors, descendants }: TransactionPackage, context: PageContext): Html | undefined {
  const { t, f } = context
  const all = [
    ...ancestors.map((tx) => ({ tx, relation: t.tx.ancestor })),
    ...descendants.map((tx) => ({ tx, relation: t.tx.descendant })),
  ]
  if (all.length === 0) return undefined
  const columns = [
    { title: t.words.transaction },
    { title: t.tx.relation },
    { title: t.words.feeRate, isNumber: true },
    { title: t.words.size, isNumber: true },
  ]
  const rows = all.slice(0, MAX_RELATED).map(({ tx: { txid, fee, vsize }, relation }) => ({
    cells: [
      txLink(context, txid),
      relation,
      f.rate(f.number(feeRate(BigInt(fee), vsize))),
      `${f.number(vsize)} vB`,
    ],
  }))
  return html`<section class="part">
    <h2>${t.tx.related}</h2>
    ${table(t.tx.related, columns, rows)}
    ${all.length > MAX_RELATED ? html`<p>${t.tx.more(f.number(all.length - MAX_RELATED))}</p>` : undefined}
  </section>`
}
