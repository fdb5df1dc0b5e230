import { Type } from '@sinclair/typebox'
import { html, type Html } from '../../../../design/html.js'
import { NodeUnavailable } from '../../../../../pipelines/node/errors.js'
import { MAX_TX_BYTES } from '../../../core/commands/send-transaction.js'
import type { Commands } from '../../../core/core.js'
import { TxRejected } from '../../../core/node/broadcaster.js'
import type { Verdict } from '../../../core/node/node-commands.js'
import {
  type DecodedTransaction,
  decodedTransaction,
} from '../../../core/reads/mempool/decoded-transaction.js'
import { mempoolBlocks } from '../../../core/reads/fees/fees.js'
import { columnsOf, rangeOf } from '../components/coins/columns.js'
import { locktimeText, replacementText } from '../components/coins/locks.js'
import { copyable, facts, heading, notice, section, stat, stats, txLink } from '../components/elements.js'
import { feeRateOf } from '../components/transactions.js'
import type { Messages } from '../messages/en/index.js'
import { declarePage, type PageContext } from '../page.js'

/** The bytes of a transaction for each request that the rate limit counts. */
const BYTES_PER_REQUEST = 20_000
/** The share of the spent coins, and the multiple of the fee rate for the next block, from which on a fee is probably a mistake. */
const LARGE_SHARE = 0.25
const LARGE_MULTIPLE = 10
/** The beginning of a partially signed transaction (BIP 174), in hexadecimal and in Base64. */
const PSBT = /^(?:70736274ff|cHNidP)/

/** The reasons of nodes by how they begin, with the names of their explanations. */
const REASONS: readonly (readonly [reason: RegExp, name: keyof Messages['send']['reasons']])[] = [
  [/^(?:missing-inputs|bad-txns-inputs-missingorspent)/, 'missing'],
  [/^(?:txn-already-in-mempool|txn-same-nonwitness-data-in-mempool)/, 'inMempool'],
  [
    /^(?:txn-already-known|transaction already in block chain|transaction outputs already in utxo set)/i,
    'confirmed',
  ],
  [/^(?:min relay fee not met|mempool min fee not met)/, 'lowFee'],
  [
    /^(?:insufficient fee|txn-mempool-conflict|bip125-replacement-disallowed|too many potential replacements)/,
    'replacement',
  ],
  [/^(?:max-fee-exceeded|fee exceeds maximum)/i, 'highFee'],
  [/^(?:non-final|non-BIP68-final)/, 'locked'],
  [/^bad-txns-premature-spend-of-coinbase/, 'immature'],
  [/^bad-txns-in-belowout/, 'negative'],
  [/^dust/, 'dust'],
  [/^(?:mandatory|non-mandatory|mempool|block)-script-verify-flag/, 'signature'],
  [/^(?:too-long-mempool-chain|package-mempool-limits|too-large-cluster)/, 'chain'],
  [
    /^(?:version|scriptpubkey|scriptsig|bad-txns-nonstandard|bare-multisig|multi-op-return|datacarrier|tx-size|bad-witness)/,
    'nonstandard',
  ],
]

/** Returns the page that decodes a transaction, tests it at the node, and sends it. @param commands undefined: not allowed. */
export const send = (commands: Commands | undefined): ReturnType<typeof declarePage> =>
  declarePage({
    name: 'send',
    path: '/send',
    isPrivate: true,
    args: {
      hex: Type.Optional(Type.String({ maxLength: 2 * MAX_TX_BYTES })),
      act: Type.Optional(Type.Literal('send')),
    },
    cost: ({ hex = '' }) => 1 + Math.floor(hex.length / 2 / BYTES_PER_REQUEST),
    async view(page, { hex, act }) {
      const { t } = page
      const digits = hex?.replace(/\s+/g, '')
      const top = html`${heading(t.send.title, t.send.about)}
      ${commands === undefined ? notice(t.send.disabled) : undefined} ${form(page, digits)}`
      const result =
        digits === undefined ? undefined : await resultOf(page, digits, { commands, isSent: act === 'send' })
      return { title: t.send.title, body: html`${top} ${result}` }
    },
  })

const form = ({ t, to }: PageContext, hex = ''): Html => html`
  <form class="wallet" method="post" action="${to('/send')}" autocomplete="off">
    <label
      >${t.send.hex}
      <textarea
        name="hex"
        rows="5"
        required
        maxlength="${2 * MAX_TX_BYTES}"
        spellcheck="false"
        autocapitalize="off"
      >
${hex}</textarea>
    </label>
    <button>${t.send.check}</button>
  </form>
`

interface Attempt {
  readonly commands: Commands | undefined
  readonly isSent: boolean
}

async function resultOf(page: PageContext, hex: string, { commands, isSent }: Attempt): Promise<Html> {
  const { t } = page
  if (PSBT.test(hex)) return notice(t.send.psbt)
  if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) return notice(t.send.notHex)
  const decoded = await decode(page, hex)
  if (decoded === undefined) return notice(t.send.notTransaction)
  if (commands === undefined) return html`${await decodedPart(page, decoded)}`
  const verdict = isSent ? await sent(page, hex, commands) : await tested(page, hex, commands)
  return html`${verdict} ${await decodedPart(page, decoded)}`
}

/** Decodes a transaction as far as the page shows it; returns undefined for other bytes. */
async function decode(page: PageContext, hex: string): Promise<DecodedTransaction | undefined> {
  try {
    return await decodedTransaction(Buffer.from(hex, 'hex'), { ...page, detail: rangeOf(1) })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Returns the result of sending a transaction. */
async function sent(page: PageContext, hex: string, { sendTransaction }: Commands): Promise<Html> {
  const { t } = page
  try {
    const { txid } = await sendTransaction((name) => (name === 'hex' ? hex : undefined))
    return verdictOf('good', t.send.sent, html`<p>${txLink(page, txid)}</p>`)
  } catch (error) {
    if (error instanceof TxRejected) return rejected(page, t.send.notSent, error.message)
    if (error instanceof NodeUnavailable) return verdictOf('bad', t.send.noNode)
    throw error
  }
}

/** Returns what the node says of a transaction before it is sent, and the button that sends it unless the node refuses it. */
async function tested(page: PageContext, hex: string, { node }: Commands): Promise<Html> {
  const { t } = page
  let verdict: Verdict | undefined
  try {
    verdict = await node.verdict(hex)
  } catch (error) {
    if (error instanceof NodeUnavailable) return verdictOf('bad', t.send.noNode)
    throw error
  }
  if (verdict?.isAccepted === false) return rejected(page, t.send.refused, verdict.reason)
  return verdict === undefined
    ? verdictOf('unknown', t.send.untested, sendForm(page, hex))
    : verdictOf('good', t.send.accepted, sendForm(page, hex))
}

const sendForm = ({ t, to }: PageContext, hex: string): Html => html`
  <form class="send" method="post" action="${to('/send')}" autocomplete="off">
    <input type="hidden" name="hex" value="${hex}" />
    <button name="act" value="send">${t.send.send}</button>
  </form>
`

function rejected({ t }: PageContext, title: string, reason: string): Html {
  const name = REASONS.find(([begins]) => begins.test(reason))?.[1]
  return verdictOf(
    'bad',
    title,
    html`${name && html`<p>${t.send.reasons[name]}</p>`}
      <p>${t.send.nodeSays} <code>${reason}</code></p>`,
  )
}

const verdictOf = (kind: 'good' | 'bad' | 'unknown', title: string, more?: Html): Html =>
  html`<section class="verdict ${kind}" role="status">
    <h2>${title}</h2>
    ${more}
  </section>`

/** Returns the decoded transaction, and what about it is probably a mistake. */
async function decodedPart(page: PageContext, decoded: DecodedTransaction): Promise<Html> {
  const { t, f } = page
  const { tx, isResolved } = decoded
  const warnings = await warningsOf(page, decoded)
  return html`${
    warnings.length === 0
      ? undefined
      : html`<ul class="warnings">
          ${warnings.map((each) => html`<li>${each}</li>`)}
        </ul>`
  }
  ${section(
    t.tx.title,
    html`${copyable(page, tx.txid)}
    ${stats([
      stat(
        t.words.fee,
        isResolved ? f.amount(tx.fee) : t.words.unknown,
        isResolved ? feeRateOf(page, tx) : undefined,
      ),
      stat(t.tx.moved, f.amount(tx.output_value)),
      stat(t.words.size, `${f.number(tx.vsize)} vB`, `${f.number(tx.size)} ${t.words.bytes}`),
    ])}
    ${columnsOf(page, tx)}
    ${facts([
      [t.tx.version, f.number(tx.version)],
      [t.tx.locktime, locktimeText(page, tx)],
      [t.tx.replaceable, replacementText(page, tx)],
    ])}`,
  )}`
}

async function warningsOf(
  page: PageContext,
  { tx, isResolved, conflicts }: DecodedTransaction,
): Promise<(string | Html)[]> {
  const { t, f, read } = page
  const warnings: (string | Html)[] = []
  const unsigned = tx.inputs.filter(
    ({ script_sig, witness }) => script_sig === null && (witness ?? []).length === 0,
  )
  if (unsigned.length > 0) warnings.push(t.send.unsigned(f.number(unsigned.length)))
  if (!isResolved) warnings.push(t.send.unresolved)
  if (conflicts.length > 0)
    warnings.push(html`${t.send.conflicts} ${conflicts.map(({ txid }) => html`${txLink(page, txid)} `)}`)
  if (!isResolved) return warnings
  const [fee, spent] = [Number(tx.fee), Number(tx.input_value)]
  if (fee > spent * LARGE_SHARE) warnings.push(t.send.largeShare(f.percent(((fee / spent) * 100).toFixed(0))))
  const [next] = (await read(mempoolBlocks, { limit: 1 })).items
  const multiple = fee / tx.vsize / Number(next?.minFeeRate)
  if (multiple > LARGE_MULTIPLE) warnings.push(t.send.largeRate(f.number(multiple.toFixed(0))))
  return warnings
}
