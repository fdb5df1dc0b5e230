import { html, type Html, type Part } from '../../../../../design/html.js'
import { isUnspendable } from '../../../../../../pipelines/chain/script.js'
import type { Input, Output, Transaction } from '../../../../core/reads/shapes.js'
import type { PageContext } from '../../page.js'
import { flow, type Kind, type Ribbon } from '../flow.js'
import { labelOf, scriptName } from '../scripts.js'
import { coinUrl, signatureSize, spenderOf } from './columns.js'

/** More ribbons would be too thin to distinguish: the rest is drawn as one. */
const MOST = 24
/** The characters of an address that a narrow place shows at its beginning and at its end. */
const [BEGINNING, END] = [10, 6]

/** Returns the diagram of a transaction; undefined if it would show no more than one coin that becomes another. */
export function diagram(context: PageContext, tx: Transaction): Html | undefined {
  if (tx.output_value === '0' || (tx.input_count === 1 && tx.output_count === 1)) return undefined
  const { t, f } = context
  const inputs = tx.inputs.slice(0, MOST).map((input) => inputRibbon(context, input, tx))
  const outputs = tx.outputs.slice(0, MOST).map((output) => outputRibbon(context, output))
  const [furtherInputs, furtherOutputs] = [tx.input_count - MOST, tx.output_count - MOST]
  if (furtherInputs > 0)
    inputs.push(
      rest(inputs, tx.input_value, `#i-${String(MOST)}`, t.tx.furtherInputs(f.number(furtherInputs))),
    )
  if (furtherOutputs > 0)
    outputs.push(
      rest(outputs, tx.output_value, `#o-${String(MOST)}`, t.tx.furtherOutputs(f.number(furtherOutputs))),
    )
  if (!tx.is_coinbase && tx.fee !== '0') outputs.push(ribbon(context, 'fee', tx.fee, { name: t.words.fee }))
  return flow(context, inputs, outputs)
}

interface Named {
  readonly name: string
  /** A label, an address, or the kind of its script. */
  readonly owner?: string
  /** Its signature or its spend in words. */
  readonly about?: string | undefined
  readonly href?: string
}

function ribbon({ f }: PageContext, kind: Kind, value: string, { name, owner, about, href }: Named): Ribbon {
  const parts: Part[] = [
    html`<b>${name}</b>`,
    owner === undefined ? undefined : short(owner),
    f.amount(value),
    about,
  ]
  return {
    kind,
    value: Number(value),
    title: [name, owner, f.plainAmount(value), about].filter((each) => each !== undefined).join(', '),
    label: html`${parts.filter((each) => each !== undefined).map((each) => html`<span>${each}</span>`)}`,
    ...(href === undefined ? {} : { href }),
  }
}

/** Returns the ribbon of an input, which leads to the output that it spends. */
function inputRibbon(context: PageContext, input: Input, tx: Transaction): Ribbon {
  const { t, f } = context
  const { prev_txid: txid, prev_vout: vout, value } = input
  if (txid === null || vout === null) return ribbon(context, 'new', tx.output_value, { name: t.tx.newCoins })
  const size = signatureSize(context, input)
  return ribbon(context, size > 0 ? 'signed' : 'in', value ?? '0', {
    name: t.tx.input(f.number(input.vin)),
    owner: ownerOf(context, { ...input, script_type: input.script_type ?? '' }),
    about: size === 0 ? undefined : t.tx.signature(`${f.number(size)} ${t.words.bytes}`),
    href: coinUrl(context, 'o', txid, vout),
  })
}

/** Returns the ribbon of an output, which leads to the input that spends it, or to its address. */
function outputRibbon(context: PageContext, output: Output): Ribbon {
  const { t, f, to } = context
  const spender = spenderOf(context, output)
  const address = output.addresses[0]?.address
  const isLost = isUnspendable(Buffer.from(output.script_pub_key ?? '', 'hex'))
  return ribbon(context, 'out', output.value, {
    name: t.tx.output(f.number(output.vout)),
    owner: ownerOf(context, { ...output, address: address ?? null }),
    about:
      spender === undefined ? (isLost ? undefined : t.tx.unspent) : `${t.tx.spentBy} ${short(spender.txid)}`,
    href:
      spender !== undefined
        ? coinUrl(context, 'i', spender.txid, spender.vin)
        : address === undefined
          ? `#o-${String(output.vout)}`
          : to(`/address/${address}`),
  })
}

/** Returns the ribbon of all that have none of their own, which leads to the first of them in the list. @param total of all. */
const rest = (ribbons: readonly Ribbon[], total: string, href: string, title: string): Ribbon => ({
  kind: 'rest',
  value: Number(total) - ribbons.reduce((sum, { value }) => sum + value, 0),
  href,
  title,
  label: html`<b>${title}</b>`,
})

const ownerOf = (
  context: PageContext,
  coin: Parameters<typeof scriptName>[1] & { readonly address: string | null },
): string => labelOf(context, coin.script_pub_key) ?? coin.address ?? scriptName(context, coin)

const short = (text: string): string =>
  text.length <= BEGINNING + END + 1 ? text : `${text.slice(0, BEGINNING)}…${text.slice(-END)}`
