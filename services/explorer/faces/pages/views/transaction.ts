import { html, type Html, type Part } from '../../../../design/html.js'
import { asmOf } from '../../../../../pipelines/chain/forms/asm.js'
import { innerScripts } from '../../../../../pipelines/chain/forms/inner-scripts.js'
import { feeRate } from '../../../../../pipelines/chain/feerate.js'
import { outpointOf } from '../../../../../pipelines/chain/prevout.js'
import { isUnspendable, opReturnPayload, readScript } from '../../../../../pipelines/chain/script.js'
import { hash, page } from '../../../core/reads/arguments.js'
import { transaction as transactionRead } from '../../../core/reads/chain/transactions.js'
import { replacedBelow } from '../../../core/reads/mempool/replacements.js'
import type { TxDetail } from '../../../core/reads/read.js'
import { packageOf, transactionPackage } from '../../../core/reads/mempool/transaction-package.js'
import { textOf } from '../../../core/reads/chain/op-returns.js'
import type { Input, Output, Transaction, TransactionPackage } from '../../../core/reads/shapes.js'
import {
  badge,
  blockLink,
  copyable,
  facts,
  paged,
  payload,
  quantum,
  section,
  stat,
  stats,
  txLink,
} from '../components/elements.js'
import { flow, type Ribbon } from '../components/flow.js'
import { replacedTable } from '../components/replacements.js'
import { table } from '../components/table.js'
import { recipientLink, spentLink } from '../components/scripts.js'
import { feeRateOf } from '../components/transactions.js'
import { declarePage, type PageContext } from '../page.js'

/** The sizes of a Dilithium2 signature, without and with its sighash byte. */
const SIGNATURES: readonly number[] = [2420, 2421]

export const transaction = declarePage({
  name: 'transaction',
  path: '/tx/:txid',
  args: { txid: hash, page },
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
        ${copyable(context, tx.txid)}
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
      ${related === undefined ? undefined : relatedTo(related, context)}
      ${replaced.length === 0 ? undefined : section(t.tx.replaces, replacedTable(context, t.tx.replaces, replaced))}
      ${page === 1 ? diagram(context, tx) : undefined} ${paged(context, coins, `/tx/${tx.txid}`, columns)}
      <details class="more">
        <summary>${t.words.details}</summary>
        ${facts([
          [t.words.weight, `${f.number(tx.weight)} WU`],
          [t.tx.version, f.number(tx.version)],
          [t.tx.locktime, f.number(tx.locktime)],
        ])}
      </details>`
    const title = `${t.tx.title} ${tx.txid.slice(0, 8)}…${tx.txid.slice(-6)}`
    return { title, body, json: `/tx/${tx.txid}` }
  },
})

const OP_RETURN = 0x6a
/** The number of inputs and of outputs on a page. */
export const ITEMS = 100
/** The number of connected transactions on a page. */
const MAX_RELATED = 50
/** The number of bytes of a script or an item of a witness that the page needs: a few signatures. */
const MAX_SCRIPT = 16 * 1024
/** The size of a script, in bytes, up to which the page has it as opcodes: each takes up to 25 characters. */
const MAX_WRITTEN = 256

/** Returns the parts of a transaction that a page shows. */
export function rangeOf(page: number): TxDetail {
  const range = { from: (page - 1) * ITEMS, count: ITEMS }
  return { inputs: range, outputs: range, witness: true, maxBytes: MAX_SCRIPT }
}

/** Returns the inputs and the outputs of a transaction, side by side. */
export function columnsOf(context: PageContext, tx: Transaction): Html {
  const { t, f } = context
  return html`<div class="columns sides">
    <section class="part">
      <h2>${t.tx.inputsOf(f.number(tx.input_count))}</h2>
      <ol class="coins">
        ${tx.inputs.map((input) => inputItem(context, input))}
      </ol>
      ${tx.is_coinbase ? undefined : total(context, tx.input_value)}
    </section>
    <section class="part">
      <h2>${t.tx.outputsOf(f.number(tx.output_count))}</h2>
      <ol class="coins">
        ${tx.outputs.map((output) => outputItem(context, output, tx))}
      </ol>
      ${total(context, tx.output_value)}
    </section>
  </div>`
}

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
  return (related) => {
    const { block } = related?.projected ?? {}
    const expected = block === 1 ? t.tx.nextBlock : block && t.tx.laterBlock(f.number(block))
    return stat(t.tx.position, f.number(before + 1), expected ? `${position}; ${expected}` : position)
  }
}

/** Returns when a confirmed transaction was first seen, and how long it waited; undefined if that is not known. */
function seenBefore(
  { t, f }: PageContext,
  { first_seen: seen, waited_seconds: waited }: TransactionPackage,
): Html | undefined {
  if (seen === null) return undefined
  return stat(t.tx.firstSeen, f.time(seen), waited === null ? undefined : t.tx.waited(f.number(waited)))
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

function diagram(context: PageContext, tx: Transaction): Html | undefined {
  if (tx.output_value === '0') return undefined
  const signed = new Set(tx.inputs.filter((input) => signatureSize(input) > 0).map(({ vin }) => vin))
  const inputs: Ribbon[] = tx.is_coinbase
    ? [{ kind: 'new', value: 1 }]
    : tx.inputs.map(({ vin, value }) => ({ kind: signed.has(vin) ? 'signed' : 'in', value: Number(value) }))
  const outputs: Ribbon[] = tx.outputs.map(({ value }) => ({ kind: 'out', value: Number(value) }))
  return flow(
    context,
    tx.is_coinbase ? inputs : [...inputs, ...others(inputs, tx.input_count, tx.input_value)],
    [
      ...outputs,
      ...others(outputs, tx.output_count, tx.output_value),
      ...(tx.fee === '0' ? [] : [{ kind: 'fee', value: Number(tx.fee) }]),
    ],
  )
}

/** Returns the ribbon of all that are on further pages. @param total the value of all. */
function others(ribbons: readonly Ribbon[], count: number, total: string): Ribbon[] {
  if (ribbons.length >= count) return []
  return [{ kind: 'rest', value: Number(total) - ribbons.reduce((sum, { value }) => sum + value, 0) }]
}

const total = ({ t, f }: PageContext, value: string): Html =>
  html`<p class="total"><span>${t.tx.total}</span>${f.amount(value)}</p>`

function inputItem(context: PageContext, input: Input): Html {
  const { t, f, to } = context
  if (input.prev_txid === null || input.prev_vout === null) {
    const text = coinbaseText(input)
    return html`<li>
      <div>${t.tx.newCoins}</div>
      ${text === '' ? undefined : html`<p class="payload"><small>${t.tx.coinbaseText}</small> ${text}</p>`}
    </li>`
  }
  const size = signatureSize(input)
  return html`<li>
    <div>
      <a class="from" href="${to(`/tx/${input.prev_txid}`)}" title="${input.prev_txid}:${input.prev_vout}"
        >${input.vin}</a
      >${spentLink(context, input, MAX_SCRIPT)}${input.value === null ? undefined : f.amount(input.value)}
    </div>
    ${size === 0 ? undefined : html`<p>${quantum(context, t.tx.signature(`${f.number(size)} ${t.words.bytes}`))}</p>`}
    ${revealed(context, input)}
  </li>`
}

function outputItem(context: PageContext, output: Output, tx: Transaction): Html {
  const { t, f, mempool } = context
  const bytes = Buffer.from(output.script_pub_key ?? '', 'hex')
  const script = bytes[0] === OP_RETURN ? bytes : undefined
  const isBeginning = script !== undefined && script.length >= MAX_SCRIPT
  const content =
    script && (isBeginning ? { data: beginningOfPayload(script), isScript: false } : opReturnPayload(script))
  const text = content === undefined ? null : textOf(content, isBeginning)
  const data: Part =
    content === undefined
      ? undefined
      : html`<p class="payload">${payload(text, content.data.toString('hex'), { isBeginning })}</p>`
  const unconfirmed = mempool.spenderOf(outpointOf(output.txid, output.vout))?.txid
  const spender = output.spent_txid ?? unconfirmed
  const spent =
    spender === undefined
      ? tx.block_height === null || isUnspendable(bytes)
        ? undefined
        : html`<small class="unspent">${t.tx.unspent}</small>`
      : html`<small
          >${t.tx.spent}
          ${txLink(context, spender)}${spender === unconfirmed ? ` (${t.words.unconfirmed})` : undefined}</small
        >`
  return html`<li>
    <div>
      <span class="from">${output.vout}</span
      >${recipientLink(context, output, MAX_SCRIPT)}${f.amount(output.value)}
    </div>
    ${data}
    <p class="about"><small>${output.script_type}</small>${spent}</p>
    ${opcodes([[t.script.output, wholeScript(bytes)]], context)}
  </li>`
}

/** Returns a script that a page writes as opcodes; undefined for others, and without one. */
const wholeScript = (script: Buffer): Buffer | undefined =>
  script.length === 0 || script.length > MAX_WRITTEN ? undefined : script

/** Returns the scripts of an input, and those that it reveals. */
function revealed(context: PageContext, { script_sig, script_pub_key, witness }: Input): Html | undefined {
  const { t, network } = context
  const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')
  const input = { scriptSig: bytesOf(script_sig ?? ''), witness: (witness ?? []).map(bytesOf) }
  if (network === undefined || script_pub_key === null) return undefined
  const { redeemScript, witnessScript } = innerScripts(input, bytesOf(script_pub_key), network)
  const scripts = [input.scriptSig, redeemScript, witnessScript].map(
    (script) => script && wholeScript(script),
  )
  return opcodes(
    [t.script.input, t.script.redeem, t.script.witness].map((name, at) => [name, scripts[at]]),
    context,
  )
}

/** Returns scripts as opcodes, closed at first; undefined without any. */
function opcodes(
  scripts: readonly (readonly [name: string, script: Buffer | undefined])[],
  { t, network }: PageContext,
): Html | undefined {
  const items = scripts.flatMap(([name, script]) =>
    script === undefined || network === undefined
      ? []
      : [html`<p class="payload"><small>${name}</small> <code>${asmOf(script, network)}</code></p>`],
  )
  return items.length === 0
    ? undefined
    : html`<details class="script">
        <summary>${t.script.title}</summary>
        ${items}
      </details>`
}

/** Returns the beginning of what an OP_RETURN script pushes, of which only the beginning was read: usually one long push. */
function beginningOfPayload(script: Buffer): Buffer {
  const [, push = 0] = script
  const size = { 0x4c: 1, 0x4d: 2, 0x4e: 4 }[push] ?? 0
  return script.subarray(2 + size)
}

/** Returns the size of the Dilithium signatures of an input in bytes; 0 if it has none. */
function signatureSize({ script_sig, witness }: Input): number {
  const pushed =
    typeof script_sig === 'string' && script_sig.length > 4_800
      ? readScript(Buffer.from(script_sig, 'hex'))
      : []
  const sizes = [
    ...(witness ?? []).map((item) => item.length / 2),
    ...(pushed ?? []).map(({ data }) => data?.length ?? 0),
  ]
  return sizes.filter((size) => SIGNATURES.includes(size)).reduce((sum, size) => sum + size, 0)
}

/** Returns the readable part of a coinbase script. */
function coinbaseText({ script_sig }: Input): string {
  const bytes = Buffer.from(script_sig ?? '', 'hex').toString('latin1')
  return (bytes.match(/[\x20-\x7e]{4,}/g) ?? []).join(' ')
}
