import { type Static, Type } from '@sinclair/typebox'
import { addressOf, decodeAddress, isDilithiumScript } from '../../../../../pipelines/chain/address.js'
import { otherKeyScripts } from '../../../../../pipelines/chain/keys/public-key.js'
import { COINBASE_MATURITY, type Network } from '../../../../../pipelines/chain/networks.js'
import { electrumHashOf, keyOf, multisigOf, scriptType } from '../../../../../pipelines/chain/script.js'
import { html, type Html } from '../../../../design/html.js'
import { address as addressArgument, page } from '../../../core/reads/arguments.js'
import { addressSummary, addressTransactions, addressUtxos } from '../../../core/reads/addresses/addresses.js'
import { addressExposure } from '../../../core/reads/addresses/exposure.js'
import { addressSummaries, unusedSummary } from '../../../core/reads/addresses/summary.js'
import { NotFound } from '../../../core/reads/read.js'
import { multisigField, requestedScript } from '../../../core/reads/script.js'
import type { AddressExposure, AddressSummary } from '../../../core/reads/shapes.js'
import { chart } from '../components/charts/chart.js'
import { spans } from '../components/charts/spans.js'
import {
  badge,
  blockLink,
  copyable,
  facts,
  notice,
  paged,
  payload,
  quantum,
  section,
  shortened,
  stat,
  stats,
  txLink,
  watchButton,
} from '../components/elements.js'
import { exposureVerdict } from '../components/exposure.js'
import { travelSection } from '../past.js'
import { ownerLink, scriptName, typeNames } from '../components/scripts.js'
import { qrCode } from '../components/qr.js'
import { table } from '../components/table.js'
import { balances, type Range, rangeOf } from '../series.js'
import { declarePage, type PageContext, pastArgument } from '../page.js'

const ITEMS = 25
const show = Type.Union([Type.Literal('history'), Type.Literal('utxos')], { default: 'history' })
type Tab = Static<typeof show>

/** The page of an address, of a script without one, or of a public key with the addresses that it has. */
export const address = declarePage({
  name: 'address',
  path: '/address/:address',
  args: { address: addressArgument, page, show, range: rangeOf('year'), at: pastArgument },
  async view(context, { address: requested, page, show, range }) {
    const { t, f, definitions, chain } = context
    const named = await requestedScript(context, requested)
    const { script, network, address } = named
    const key = script && keyOf(script, network)
    const addresses = key === undefined ? [] : await addressesOf(context, key, network)
    const found = await context
      .read(addressSummary, { address: requested })
      .catch((error: unknown): undefined => {
        // The key itself was paid to by none of its scripts, or by one of its addresses alone.
        const isUsed = addresses.some(({ balance }) => balance !== undefined)
        if (!(error instanceof NotFound) || (!isUsed && address === null)) throw error
      })
    const isUnused = found === undefined && address !== null
    const summary = isUnused ? unusedSummary(context, named) : found
    const label = definitions.labels.ofScript(named.scriptHash)
    const kind = script === undefined || address !== null ? t.address.title : nameOf(context, script, network)
    const isProtected = script !== undefined && isDilithiumScript(script, network)
    const other =
      summary?.isDilithium === true && address !== null ? otherSpelling(address, network) : undefined
    const shown = address ?? key?.toString('hex') ?? summary?.scripthash ?? requested
    const [exposure, ofSummary] = await Promise.all([
      script && context.read(addressExposure, { address: requested }),
      summary &&
        Promise.all([
          balanceChart(context, { requested, show, range }),
          coins(context, requested, { page, show, isUnused }),
        ]),
    ])
    const ofKey = addresses.length > 0 ? addresses : siblings(exposure, network)
    const body = html`<header class="top with-code">
        <div>
          <h1>
            ${label?.label ?? kind} ${summary?.isDilithium === true ? quantum(context) : undefined}
            ${label?.verified === true ? badge('good', t.words.verified) : undefined}
          </h1>
          ${copyable(context, shown)} ${watchButton(context, shown, label?.label)}
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
              script &&
                html`${typeNames(context, scriptType(script, network))}
                ${isProtected ? html`<div><small>${t.address.protected}</small></div>` : undefined}`,
            ],
            [t.quantum.exposure, exposure && exposureLink(context, exposure)],
            [t.address.keys, script && keysOf(context, script, network)],
          ])}
        </div>
        ${address === null ? undefined : qrCode(address, t.address.qr)}
      </header>
      ${isUnused ? notice(chain.present === undefined ? t.address.unused : t.past.unused) : undefined}
      ${summary && figures(context, summary)} ${exposure && exposureVerdict(context, exposure)}
      ${ofSummary?.[0]}
      ${ofKey.length === 0 ? undefined : section(t.address.ofKey, addressTable(context, ofKey))}
      ${ofSummary?.[1]} ${script === undefined ? undefined : scriptDetails(context, script)}
      ${isUnused || chain.present !== undefined ? undefined : travelSection(context, `/address/${requested}`)}`
    const title =
      label?.label ?? `${kind} ${shown.length <= 20 ? shown : `${shown.slice(0, 10)}…${shown.slice(-6)}`}`
    // The API reports that an address is unused as absence.
    const source = isUnused ? { isAbsent: true } : { json: `/address/${requested}` }
    const about = summary && t.sharing.address(f.plainAmount(summary.balance), f.number(summary.tx_count))
    return {
      title,
      about,
      body,
      channels: ['mempool'],
      feed: `/address/${requested}`,
      picture: `/address/${requested}`,
      ...source,
    }
  },
})

const nameOf = (context: PageContext, script: Buffer, network: Network): string =>
  scriptName(context, {
    script_pub_key: script.toString('hex'),
    script_type: scriptType(script, network),
    ...multisigField(script, network),
  })

function figures(context: PageContext, summary: AddressSummary): Html {
  const { t, f } = context
  const { unconfirmed } = summary
  return stats([
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
  ])
}

async function balanceChart(
  context: PageContext,
  { requested, show, range }: { readonly requested: string; readonly show: Tab; readonly range: Range },
): Promise<Html | undefined> {
  const series = await balances(context, range, requested)
  // A year without two days has them in no other span.
  if (series.points.length < 2 && range === 'year') return undefined
  const path = `/address/${requested}${show === 'utxos' ? '?show=utxos' : ''}`
  return section(series.title, html`${spans(context, path, range, 'year')}${chart(context, series)}`)
}

/** Returns the transactions or the unspent outputs of a script, with the links to both. */
async function coins(
  context: PageContext,
  requested: string,
  { page, show, isUnused }: { readonly page: number; readonly show: Tab; readonly isUnused: boolean },
): Promise<Html> {
  const { t, to, at, chain } = context
  const list = await (show === 'history' ? history : unspent)(context, requested, page)
  const path = `/address/${requested}`
  const current = (tab: Tab): Html | undefined => (show === tab ? html` aria-current="page"` : undefined)
  return html`<nav class="tabs-bar">
      <a href="${to(path)}" ${current('history')}>${t.address.history}</a>
      <a href="${to(`${path}?show=utxos`)}" ${current('utxos')}>${t.address.utxos}</a>
      ${
        isUnused || chain.present !== undefined
          ? undefined
          : html`<a
              class="csv"
              href="${at(`/api/v1/address/${requested}/txs.csv`)}"
              title="${t.address.csv}"
              download
              >${t.words.csv}</a
            >`
      }
    </nav>
    ${list}`
}

/** A script of a public key, as the page of the key lists it. */
interface KeyAddress {
  readonly script: Buffer
  readonly network: Network
  /** Base units; undefined if the chain has never seen the script. */
  readonly balance: string | undefined
  readonly transactions: number
}

/** Returns the scripts besides its own that a public key can spend alone. */
async function addressesOf(context: PageContext, key: Buffer, network: Network): Promise<KeyAddress[]> {
  const scripts = otherKeyScripts(key, network)
  if (scripts.length === 0) return []
  const { items } = await context.read(addressSummaries, {
    addresses: scripts.map((script) => script.toString('hex')),
  })
  return scripts.map((script, index) => {
    const summary = items[index]?.summary
    return { script, network, balance: summary?.balance, transactions: summary?.tx_count ?? 0 }
  })
}

/** Returns the scripts besides its own that the owner of an address alone can spend, as far as the chain shows them. */
const siblings = (exposure: AddressExposure | undefined, network: Network): KeyAddress[] =>
  (exposure?.same_key ?? []).map(({ script_pub_key, balance, tx_count }) => ({
    script: Buffer.from(script_pub_key, 'hex'),
    network,
    balance,
    transactions: tx_count,
  }))

function exposureLink({ t }: PageContext, { protection }: AddressExposure): Html {
  const name = t.quantum.protections[protection]
  return protection === 'unknown' ? html`${name}` : html`<a href="#exposure">${name}</a>`
}

function addressTable(context: PageContext, addresses: readonly KeyAddress[]): Html {
  const { t, f } = context
  const columns = [
    { title: t.words.address },
    { title: t.address.scriptType },
    { title: f.inCoins(t.words.balance), isNumber: true },
    { title: t.words.transactions, isNumber: true },
  ]
  const rows = addresses.map(({ script, network, balance, transactions }) => ({
    cells: [
      ownerLink(context, {
        address: addressOf(script, network) ?? null,
        script_type: scriptType(script, network),
        script_pub_key: script.toString('hex'),
      }),
      typeNames(context, scriptType(script, network)),
      balance === undefined ? '' : f.bare(balance),
      f.number(transactions),
    ],
  }))
  return table(t.address.ofKey, columns, rows)
}

/** Returns the keys of a multisig script as links; undefined for other scripts. */
function keysOf({ to }: PageContext, script: Buffer, network: Network): Html | undefined {
  const multisig = multisigOf(script, network)
  return (
    multisig &&
    html`${multisig.keys.map((key) => {
      const hex = key.toString('hex')
      return html`<div>
        <a class="hash" href="${to(`/address/${hex}`)}" title="${hex}">${shortened(hex)}</a>
      </div>`
    })}`
  )
}

const scriptDetails = (context: PageContext, script: Buffer): Html =>
  html`<details class="more">
    <summary>${context.t.words.script}</summary>
    ${facts([
      [context.t.address.scriptHash, copyable(context, electrumHashOf(script))],
      [context.t.address.scriptHex, payload(null, script.toString('hex'))],
    ])}
  </details>`

const labelOf = ({ label, category, url }: { label: string; category: string; url: string | null }): Html =>
  url === null
    ? html`${label} <small>${category}</small>`
    : html`<a href="${url}" rel="noopener noreferrer nofollow">${label}</a> <small>${category}</small>`

const firstSeenNote = ({ t, f }: PageContext, { first_seen }: AddressSummary): Html | undefined =>
  first_seen === null ? undefined : html`${t.address.firstSeen} ${f.date(first_seen)}`

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
    { title: t.words.time },
    { title: f.inCoins(t.address.change), isNumber: true },
  ]
  const rows = answer.items.map((item) => ({
    id: `t-${item.txid}`,
    cells: [
      txLink(context, item.txid),
      item.block_height === null ? badge('wait', t.words.unconfirmed) : blockLink(context, item.block_height),
      f.time(item.timestamp),
      html`<span class="${item.value_change.startsWith('-') ? 'minus' : 'plus'}"
        >${f.bare(item.value_change, true)}</span
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
    { title: f.inCoins(t.words.value), isNumber: true },
  ]
  const rows = answer.items.map((item) => ({
    id: `u-${item.txid}-${String(item.vout)}`,
    cells: [
      html`${txLink(context, item.txid)}:${item.vout}
      ${item.is_coinbase && item.block_height !== null ? badge('plain', t.address.coinbase(f.number(item.block_height + COINBASE_MATURITY))) : undefined}`,
      item.block_height === null ? badge('wait', t.words.unconfirmed) : blockLink(context, item.block_height),
      f.bare(item.value),
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
