import { type Static, Type } from '@sinclair/typebox'
import { addressOf, decodeAddress, isDilithiumScript } from '../../../../../pipelines/chain/address.js'
import { COINBASE_MATURITY, type Network } from '../../../../../pipelines/chain/networks.js'
import { html, type Html } from '../../../../design/html.js'
import { address as addressArgument, page } from '../../../core/reads/arguments.js'
import { addressSummary, addressTransactions, addressUtxos } from '../../../core/reads/addresses/addresses.js'
import { scriptOf } from '../../../core/reads/script.js'
import { type AddressSummary } from '../../../core/reads/shapes.js'
import { chart } from '../components/chart.js'
import {
  badge,
  blockLink,
  copyable,
  facts,
  paged,
  quantum,
  section,
  stat,
  stats,
  txLink,
} from '../components/elements.js'
import { qrCode } from '../components/qr.js'
import { table } from '../components/table.js'
import { balances } from '../series.js'
import { declarePage, type PageContext } from '../page.js'

const ITEMS = 25
const show = Type.Union([Type.Literal('history'), Type.Literal('utxos')], { default: 'history' })

export const address = declarePage({
  name: 'address',
  path: '/address/:address',
  args: { address: addressArgument, page, show },
  async view(context, { address, page, show }) {
    const { t, f, to, read, network, definitions } = context
    const summary = await read(addressSummary, { address })
    const [list, series] = await Promise.all([
      show === 'history' ? history(context, address, page) : unspent(context, address, page),
      balances(context, address),
    ])
    const requested = scriptOf(context, address)
    const label = definitions.labels.ofScript(requested?.scriptHash ?? '')
    const other = network === undefined || !summary.isDilithium ? undefined : otherSpelling(address, network)
    const isProtected = requested !== undefined && isDilithiumScript(requested.script, requested.network)
    const { unconfirmed } = summary
    const body = html`<header class="top with-code">
        <div>
          <h1>
            ${label?.label ?? t.address.title} ${summary.isDilithium ? quantum(context) : undefined}
            ${label?.verified === true ? badge('good', t.words.verified) : undefined}
          </h1>
          ${copyable(context, address)}
          ${facts([
            [t.address.label, label === undefined ? undefined : labelOf(label)],
            [
              t.address.other,
              other === undefined
                ? undefined
                : html`${copyable(context, other)} <small>${t.address.otherHint}</small>`,
            ],
            [
              t.address.scriptType,
              html`${summary.script_type}
              ${isProtected ? html`<small>${t.address.protected}</small>` : undefined}`,
            ],
          ])}
        </div>
        ${qrCode(address, t.address.qr)}
      </header>
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
        stat(t.address.transactions, f.number(summary.tx_count), firstSeenNote(context, summary)),
        stat(t.address.unspent, f.number(summary.unspent_count)),
      ])}
      ${series === undefined ? undefined : section(t.address.balanceOverTime, chart(context, series))}
      <nav class="tabs-bar">
        <a href="${to(`/address/${address}`)}" ${show === 'history' ? html` aria-current="page"` : undefined}
          >${t.address.history}</a
        >
        <a
          href="${to(`/address/${address}`)}?show=utxos"
          ${show === 'utxos' ? html` aria-current="page"` : undefined}
          >${t.address.utxos}</a
        >
      </nav>
      ${list}`
    const title = label?.label ?? `${t.address.title} ${address.slice(0, 10)}…${address.slice(-6)}`
    return { title, body, channels: ['mempool'], json: `/address/${address}` }
  },
})

const labelOf = ({ label, category, url }: { label: string; category: string; url: string | null }): Html =>
  url === null
    ? html`${label} <small>${category}</small>`
    : html`<a href="${url}" rel="noopener noreferrer nofollow">${label}</a> <small>${category}</small>`

const firstSeenNote = (
  { t, f }: PageContext,
  { first_seen }: Static<typeof AddressSummary>,
): Html | undefined => (first_seen === null ? undefined : html`${t.address.firstSeen} ${f.date(first_seen)}`)

/** Returns the address of the page's script in the spelling that was not requested; undefined if there is only one spelling. */
function otherSpelling(address: string, network: Network): string | undefined {
  const { dilithium, hrp } = network
  const lower = address.toLowerCase()
  const usedHrp = [hrp, dilithium?.hrp].find(
    (prefix) => prefix !== undefined && lower.startsWith(`${prefix}1`),
  )
  const decoded = decodeAddress(address, network)
  if (decoded === undefined || dilithium === undefined || usedHrp === undefined) return undefined
  return usedHrp === hrp
    ? addressOf(decoded.script, { ...network, hrp: dilithium.hrp })
    : addressOf(decoded.script, network)
}

async function history(context: PageContext, address: string, page: number): Promise<Html> {
  const { t, f, read } = context
  const answer = await read(addressTransactions, { address, page, limit: ITEMS })
  const columns = [
    { title: t.words.transaction },
    { title: t.words.block },
    { title: t.words.time, isMinor: true },
    { title: t.address.change, isNumber: true },
  ]
  const rows = answer.items.map((item) => ({
    id: `t-${item.txid}`,
    cells: [
      txLink(context, item.txid),
      item.block_height === null ? badge('wait', t.words.unconfirmed) : blockLink(context, item.block_height),
      f.time(item.timestamp),
      html`<span class="${item.value_change.startsWith('-') ? 'minus' : 'plus'}"
        >${f.amount(item.value_change, true)}</span
      >`,
    ],
  }))
  return paged(
    context,
    answer,
    `/address/${address}`,
    table(t.address.history, columns, rows),
    t.address.noHistory,
  )
}

async function unspent(context: PageContext, address: string, page: number): Promise<Html> {
  const { t, f, read } = context
  const answer = await read(addressUtxos, {
    address,
    limit: ITEMS,
    offset: (page - 1) * ITEMS,
    mempool: true,
  })
  const columns = [
    { title: t.words.transaction },
    { title: t.words.block },
    { title: t.words.value, isNumber: true },
  ]
  const rows = answer.items.map((item) => ({
    id: `u-${item.txid}-${String(item.vout)}`,
    cells: [
      html`${txLink(context, item.txid)}:${item.vout}
      ${item.is_coinbase && item.block_height !== null ? badge('plain', t.address.coinbase(f.number(item.block_height + COINBASE_MATURITY))) : undefined}`,
      item.block_height === null ? badge('wait', t.words.unconfirmed) : blockLink(context, item.block_height),
      f.amount(item.value),
    ],
  }))
  const { total, limit } = answer
  const path = `/address/${address}?show=utxos`
  return paged(
    context,
    { page, total, limit },
    path,
    table(t.address.utxos, columns, rows),
    t.address.noUtxos,
  )
}
