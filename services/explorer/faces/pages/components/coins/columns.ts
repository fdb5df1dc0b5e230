import { html, type Html, type Part } from '../../../../../design/html.js'
import { outpointOf } from '../../../../../../pipelines/chain/prevout.js'
import { isUnspendable, opReturnPayload } from '../../../../../../pipelines/chain/script.js'
import { textOf } from '../../../../core/reads/chain/op-returns.js'
import type { TxDetail } from '../../../../core/reads/read.js'
import type { Input, Output, Transaction } from '../../../../core/reads/shapes.js'
import type { PageContext } from '../../page.js'
import { addressLink, copyButton, copyable, payload, quantum, shortened } from '../elements.js'
import { sequenceText } from './locks.js'
import { inputDetails, itemsOf, outputDetails } from './script-details.js'
import { labelOf, recipientLink, spentLink } from '../scripts.js'

const OP_RETURN = 0x6a
/** The number of inputs and of outputs on a page. */
export const ITEMS = 100
/** The number of bytes of a script or an item of a witness that the page needs: a few signatures. */
const MAX_SCRIPT = 16 * 1024

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
        ${tx.inputs.map((input) => inputItem(context, input, tx))}
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

const total = ({ t, f }: PageContext, value: string): Html =>
  html`<p class="total"><span>${t.tx.total}</span>${f.amount(value)}</p>`

/** Returns the URL of an input (`i`) or output (`o`) of a transaction, on the page of it that has it. */
export function coinUrl({ to }: PageContext, side: 'i' | 'o', txid: string, index: number): string {
  const page = index < ITEMS ? '' : `?page=${String(Math.floor(index / ITEMS) + 1)}`
  return `${to(`/tx/${txid}`)}${page}#${side}-${String(index)}`
}

function coinLink(context: PageContext, side: 'i' | 'o', txid: string, index: number): Html {
  const name = `${txid}:${String(index)}`
  return html`<a class="hash" href="${coinUrl(context, side, txid, index)}" title="${name}"
    >${shortened(name, 6 + String(index).length + 1)}</a
  >`
}

function inputItem(context: PageContext, input: Input, tx: Transaction): Html {
  const { t, f } = context
  if (input.prev_txid === null || input.prev_vout === null) {
    const text = coinbaseText(input)
    return html`<li id="i-${input.vin}">
      <div>${t.tx.newCoins}</div>
      ${text === '' ? undefined : html`<p class="payload"><small>${t.tx.coinbaseText}</small> ${text}</p>`}
    </li>`
  }
  const size = signatureSize(context, input)
  const outpoint = `${input.prev_txid}:${String(input.prev_vout)}`
  const more: Parameters<typeof inputDetails>[2]['more'] = [
    [t.tx.spends, copyable(context, outpoint)],
    [t.tx.sequence, sequenceText(context, Number(input.sequence), tx.version)],
  ]
  return html`<li id="i-${input.vin}">
    <div>
      <span class="from">${input.vin}</span
      >${spentLink(context, input, MAX_SCRIPT)}${addressOf(context, input.address, input.script_pub_key)}${input.value === null ? undefined : f.amount(input.value)}
    </div>
    <p class="about">
      <small>${t.tx.spends} ${coinLink(context, 'o', input.prev_txid, input.prev_vout)}</small
      >${size === 0 ? undefined : quantum(context, t.tx.signature(`${f.number(size)} ${t.words.bytes}`))}
    </p>
    ${inputDetails(context, input, { maxBytes: MAX_SCRIPT, more })}
  </li>`
}

/** Returns what follows the link of an owner: the address if the link has its label, and the button that copies it. */
function addressOf(
  context: PageContext,
  address: string | null | undefined,
  script: string | null,
): Html | undefined {
  if (address === null || address === undefined) return undefined
  const isLabelled = labelOf(context, script) !== undefined
  return html`${isLabelled ? addressLink(context, address) : undefined}${copyButton(context, address)}`
}

function outputItem(context: PageContext, output: Output, tx: Transaction): Html {
  const { f } = context
  const bytes = Buffer.from(output.script_pub_key ?? '', 'hex')
  return html`<li id="o-${output.vout}">
    <div>
      <span class="from">${output.vout}</span
      >${recipientLink(context, output, MAX_SCRIPT)}${addressOf(context, output.addresses[0]?.address, output.script_pub_key)}${f.amount(output.value)}
    </div>
    ${storedData(bytes)} ${spentBy(context, output, { tx, isUnspendable: isUnspendable(bytes) })}
    ${outputDetails(context, output.script_type, output.script_pub_key)}
  </li>`
}

interface Spender {
  readonly txid: string
  readonly vin: number
  readonly isUnconfirmed: boolean
}

/** Returns the input that spends an output; undefined for one that is unspent. */
export function spenderOf(
  { mempool }: PageContext,
  { txid, vout, spent_txid, spent_vin }: Output,
): Spender | undefined {
  const outpoint = outpointOf(txid, vout)
  const unconfirmed = mempool.spenderOf(outpoint)
  const spender = spent_txid ?? unconfirmed?.txid
  if (spender === undefined) return undefined
  return {
    txid: spender,
    vin: spent_vin ?? unconfirmed?.outpoints.indexOf(outpoint) ?? 0,
    isUnconfirmed: spender === unconfirmed?.txid,
  }
}

/** Returns whether an output is spent, and by which input; undefined for one that cannot be spent now. */
function spentBy(
  context: PageContext,
  output: Output,
  { tx, isUnspendable }: { readonly tx: Transaction; readonly isUnspendable: boolean },
): Html | undefined {
  const { t } = context
  const spender = spenderOf(context, output)
  if (spender === undefined)
    return tx.block_height === null || isUnspendable
      ? undefined
      : html`<p class="about"><small class="unspent">${t.tx.unspent}</small></p>`
  return html`<p class="about">
    <small
      >${t.tx.spentBy}
      ${coinLink(context, 'i', spender.txid, spender.vin)}${spender.isUnconfirmed ? ` (${t.words.unconfirmed})` : undefined}</small
    >
  </p>`
}

/** Returns the data of an OP_RETURN output; undefined for others. */
function storedData(script: Buffer): Part {
  if (script[0] !== OP_RETURN) return undefined
  const isBeginning = script.length >= MAX_SCRIPT
  const content = isBeginning
    ? { data: beginningOfPayload(script), isScript: false }
    : opReturnPayload(script)
  if (content === undefined) return undefined
  const text = textOf(content, isBeginning)
  return html`<p class="payload">${payload(text, content.data.toString('hex'), { isBeginning })}</p>`
}

/** Returns the beginning of what an OP_RETURN script pushes, of which only the beginning was read: usually one long push. */
function beginningOfPayload(script: Buffer): Buffer {
  const [, push = 0] = script
  const size = { 0x4c: 1, 0x4d: 2, 0x4e: 4 }[push] ?? 0
  return script.subarray(2 + size)
}

/** Returns the size of the Dilithium signatures of an input in bytes; 0 if it has none. */
export function signatureSize(context: PageContext, input: Input): number {
  const { scriptSig, witness } = itemsOf(context, input)
  return [...scriptSig, ...witness]
    .filter(({ kind }) => kind === 'dilithium_signature')
    .reduce((sum, { data }) => sum + data.length, 0)
}

/** Returns the readable part of a coinbase script. */
function coinbaseText({ script_sig }: Input): string {
  const bytes = Buffer.from(script_sig ?? '', 'hex').toString('latin1')
  return (bytes.match(/[\x20-\x7e]{4,}/g) ?? []).join(' ')
}
