import { Type } from '@sinclair/typebox'
import { html, type Html } from '../../../../design/html.js'
import { BadArgument } from '../../../core/reads/read.js'
import type { WalletTransaction, WalletUtxo } from '../../../core/reads/shapes.js'
import { changesOf, isReadable, itemsOf, unconfirmedChanges } from '../../../core/reads/wallet/history.js'
import { unspentOf } from '../../../core/reads/wallet/lists.js'
import { costOf, scan, WALLET_ARGUMENTS, type WalletArguments } from '../../../core/reads/wallet/scan.js'
import { summaryOf, usedScripts } from '../../../core/reads/wallet/wallet.js'
import { KEY_TYPES } from '../../../core/wallets/key-types.js'
import {
  addressLink,
  badge,
  blockLink,
  empty,
  heading,
  notice,
  section,
  stat,
  stats,
  txLink,
} from '../components/elements.js'
import { table } from '../components/table.js'
import { declarePage, type PageContext } from '../page.js'

/** The newest transactions and unspent outputs that the page has. */
const ITEMS = 50

/** The page of the wallet of an extended public key or a descriptor; without one, the form that sends it. */
export const wallet = declarePage({
  name: 'wallet',
  path: '/wallet',
  isPrivate: true,
  args: { ...WALLET_ARGUMENTS, descriptor: Type.Optional(WALLET_ARGUMENTS.descriptor) },
  cost: (args) => (args.descriptor === undefined ? 1 : costOf(args)),
  async view(page, { descriptor, ...args }) {
    const { t } = page
    const top = html`${heading(t.wallet.title, t.wallet.about)} ${form(page)}`
    if (descriptor === undefined) return { title: t.wallet.title, body: top }
    try {
      const body = html`${top} ${await figures(page, { ...args, descriptor })}`
      return { title: t.wallet.title, body, channels: ['mempool'] }
    } catch (error) {
      if (!(error instanceof BadArgument)) throw error
      return { title: t.wallet.title, body: html`${top} ${notice(error.message)}` }
    }
  },
})

const form = ({ t, to }: PageContext): Html => html`
  ${notice(t.wallet.privacy)}
  <form class="wallet" method="post" action="${to('/wallet')}" autocomplete="off">
    <label
      >${t.wallet.key}
      <textarea
        name="descriptor"
        rows="3"
        required
        maxlength="8000"
        spellcheck="false"
        autocapitalize="off"
      ></textarea>
    </label>
    <label
      >${t.wallet.type}
      <select name="type">
        <option value="">${t.wallet.anyType}</option>
        ${KEY_TYPES.map((type) => html`<option value="${type}">${type}</option>`)}
      </select>
    </label>
    <label>${t.wallet.gap} <input name="gap_limit" type="number" min="1" max="200" value="20" /></label>
    <button>${t.wallet.show}</button>
  </form>
`

/** Returns the form that requests the page again: by its button, and by the script that keeps the page up to date. */
const refreshForm = ({ t, to }: PageContext, { descriptor, type, gap_limit }: WalletArguments): Html => html`
  <form class="live" method="post" action="${to('/wallet')}" autocomplete="off">
    <input type="hidden" name="descriptor" value="${descriptor}" />
    <input type="hidden" name="type" value="${type ?? ''}" />
    <input type="hidden" name="gap_limit" value="${gap_limit}" />
    <button>${t.wallet.refresh}</button>
  </form>
`

async function figures(page: PageContext, args: WalletArguments): Promise<Html> {
  const { t, f } = page
  const scanned = await scan(page, args)
  const used = usedScripts(scanned)
  const summary = await summaryOf(page, scanned, args.gap_limit)
  const { unconfirmed } = summary
  const lists = isReadable(used) ? await listsOf(page, used) : empty(t.wallet.tooMany)
  const next = summary.branches.map(({ type, branch, next_unused: unused }) => ({
    cells: [
      html`<code>${type}</code>`,
      branch === 0
        ? t.wallet.receive
        : branch === 1
          ? t.wallet.change
          : `${t.wallet.branch} ${String(branch)}`,
      unused === null ? '' : String(unused.index),
      unused === null
        ? ''
        : unused.address === null
          ? unused.script_pub_key
          : addressLink(page, unused.address),
    ],
  }))
  const columns = [
    { title: t.address.scriptType },
    { title: t.wallet.branch },
    { title: t.wallet.index, isNumber: true },
    { title: t.words.address },
  ]
  return html`${refreshForm(page, args)} ${summary.is_complete ? undefined : notice(t.wallet.incomplete)}
  ${stats([
    stat(
      t.address.balance,
      f.amount(summary.balance),
      unconfirmed.tx_count === 0
        ? undefined
        : html`${f.amount(unconfirmed.balance_change, true)} ${t.words.unconfirmed}`,
    ),
    stat(t.address.received, f.amount(summary.total_received)),
    stat(t.address.sent, f.amount(summary.total_sent)),
    stat(t.address.transactions, summary.tx_count === null ? '' : f.number(summary.tx_count)),
    stat(t.wallet.used, f.number(summary.used_count)),
    stat(t.address.unspent, f.number(summary.unspent_count)),
  ])}
  ${section(t.wallet.next, table(t.wallet.next, columns, next))} ${lists}`
}

async function listsOf(page: PageContext, used: ReturnType<typeof usedScripts>): Promise<Html> {
  const { t } = page
  const unconfirmed = unconfirmedChanges(used)
  const confirmed = await changesOf(page, used)
  const newest = unconfirmed.slice(0, ITEMS)
  const items = await itemsOf(page, newest, confirmed.slice(0, ITEMS - newest.length))
  const outputs = await unspentOf(page, used)
  return html`${section(t.address.history, history(page, items, unconfirmed.length + confirmed.length))}
  ${section(t.address.utxos, unspent(page, outputs.slice(0, ITEMS), outputs.length))}`
}

/** Returns a list, or its beginning and a note. */
const listed = ({ t, f }: PageContext, list: Html, shown: number, total: number): Html =>
  shown === total ? list : html`${list} ${empty(t.wallet.first(f.number(shown), f.number(total)))}`

const placeOf = (page: PageContext, height: number | null): Html =>
  height === null ? badge('wait', page.t.words.unconfirmed) : blockLink(page, height)

function history(page: PageContext, items: readonly WalletTransaction[], total: number): Html {
  const { t, f } = page
  if (items.length === 0) return empty(t.address.noHistory)
  const columns = [
    { title: t.words.transaction },
    { title: t.words.block },
    { title: t.words.time },
    { title: f.inCoins(t.address.change), isNumber: true },
  ]
  const rows = items.map(({ txid, block_height: height, timestamp, value_change: change }) => ({
    id: `t-${txid}`,
    cells: [
      txLink(page, txid),
      placeOf(page, height),
      f.time(timestamp),
      html`<span class="${change.startsWith('-') ? 'minus' : 'plus'}">${f.bare(change, true)}</span>`,
    ],
  }))
  return listed(page, table(t.address.history, columns, rows), items.length, total)
}

function unspent(page: PageContext, items: readonly WalletUtxo[], total: number): Html {
  const { t, f } = page
  if (items.length === 0) return empty(t.address.noUtxos)
  const columns = [
    { title: t.words.transaction },
    { title: t.words.block },
    { title: t.words.address },
    { title: f.inCoins(t.words.value), isNumber: true },
  ]
  const rows = items.map(({ txid, vout, block_height: height, address, value }) => ({
    id: `u-${txid}-${String(vout)}`,
    cells: [
      html`${txLink(page, txid)}:${vout}`,
      placeOf(page, height),
      address === null ? '' : addressLink(page, address),
      f.bare(value),
    ],
  }))
  return listed(page, table(t.address.utxos, columns, rows), items.length, total)
}
