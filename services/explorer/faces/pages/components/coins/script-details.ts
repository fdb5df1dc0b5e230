import { html, type Html, type Part } from '../../../../../design/html.js'
import { asmOf } from '../../../../../../pipelines/chain/forms/asm.js'
import { innerScripts } from '../../../../../../pipelines/chain/forms/inner-scripts.js'
import {
  type SpendItem,
  type SpendItems,
  spendItems,
} from '../../../../../../pipelines/chain/forms/spend-items.js'
import { multisigOf } from '../../../../../../pipelines/chain/script.js'
import type { Input } from '../../../../core/reads/shapes.js'
import type { Format } from '../../format.js'
import type { Messages } from '../../messages/en/index.js'
import type { PageContext } from '../../page.js'
import { facts } from '../elements.js'
import { typeName } from '../scripts.js'

/** The size, in bytes, up to which the page has all of a script or an item as hexadecimal: of the largest redeem script. */
const MAX_WRITTEN = 520
/** The bytes of a longer one that the page has. */
const SHOWN_BYTES = 64
/** Pushes of more bytes than that, with their digits. */
const LONG_PUSHES = new RegExp(
  `(\\b[0-9a-f]{${String(2 * SHOWN_BYTES)}})[0-9a-f]{${String(2 * (MAX_WRITTEN - SHOWN_BYTES))},}`,
  'g',
)
/** The characters up to which the page has a script as opcodes. */
const MAX_ASM = 4_000
/** The number of items that the page has of a witness. */
const MAX_ITEMS = 20
/** The sizes of signatures that end without a byte for the sighash. */
const WITHOUT_SIGHASH: readonly number[] = [64, 2420]

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Returns the items of an input by meaning; none for a coinbase, or if its scripts were left out. */
export function itemsOf(
  { network }: PageContext,
  { script_sig, script_pub_key, witness }: Input,
): SpendItems {
  if (network === undefined || script_pub_key === null) return { scriptSig: [], witness: [] }
  const input = { scriptSig: bytesOf(script_sig ?? ''), witness: (witness ?? []).map(bytesOf) }
  return spendItems(input, bytesOf(script_pub_key), network)
}

/** Returns the words for an item: what it is, its size and what else it says. @param maxBytes the size up to which items were read. */
export function itemText(
  t: Messages,
  f: Format,
  { kind, data, sighash, depth }: SpendItem,
  maxBytes: number,
): string {
  const isSigned = sighash !== undefined && !WITHOUT_SIGHASH.includes(data.length)
  const size = data.length - (isSigned ? 1 : 0)
  const known = `${f.number(size)} B`
  return [
    t.script.items[kind],
    kind === 'empty' ? undefined : data.length >= maxBytes ? t.script.atLeast(known) : known,
    sighash && t.script.sighash(sighash),
    depth === undefined ? undefined : t.script.depth(f.number(depth)),
  ]
    .filter((part) => part !== undefined)
    .join(', ')
}

/** Returns the names of a script and how it is spent: "P2TR, spent by its key". */
export function spendName(
  context: Pick<PageContext, 't' | 'f' | 'network'>,
  type: string | null,
  { witness, scriptSig }: SpendItems,
): string {
  const { t } = context
  const name = typeName(t, type)
  const redeem = scriptSig.at(-1)
  const inner = redeem?.kind === 'redeem_script' ? innerName(redeem.data) : undefined
  const outer = inner === undefined ? name : `${name}-${inner}`
  const signers = [redeem, witness.at(-1)].map((item) => signersOf(context, item)).find(Boolean)
  if (signers !== undefined) return `${outer}, ${signers}`
  if (type !== 'witness_v1_taproot' || witness.length === 0) return outer
  return `${outer}, ${witness.some(({ kind }) => kind === 'leaf_script') ? t.script.byScript : t.script.byKey}`
}

/** Returns how many keys of a hidden multisig script must sign; undefined for other items. */
function signersOf(
  { t, f, network }: Pick<PageContext, 't' | 'f' | 'network'>,
  item?: SpendItem,
): string | undefined {
  if (network === undefined || (item?.kind !== 'redeem_script' && item?.kind !== 'witness_script'))
    return undefined
  const multisig = multisigOf(item.data, network)
  return multisig && t.script.multisig(f.number(multisig.required), f.number(multisig.keys.length))
}

/** Returns the short name of the witness program in a redeem script; undefined for other scripts. */
function innerName(redeem: Buffer = Buffer.alloc(0)): string | undefined {
  if (redeem[0] !== 0) return undefined
  return redeem.length === 22 ? 'P2WPKH' : redeem.length === 34 ? 'P2WSH' : undefined
}

/** Returns what a script is, in words. @param script its bytes, which say how many keys of a multisig script must sign. */
function typeWords({ t, f, network }: PageContext, type: string | null, script: Buffer): string | undefined {
  const multisig = network && multisigOf(script, network)
  if (multisig !== undefined) {
    const [required, keys] = [f.number(multisig.required), f.number(multisig.keys.length)]
    const { dilithiumMultisigOf, multisigOf: plain } = t.script
    return type === 'dilithium_multisig' ? dilithiumMultisigOf(required, keys) : plain(required, keys)
  }
  const words: Readonly<Record<string, string>> = t.script.types
  return words[type ?? '']
}

/** Returns the details of an input, closed at first. @param more facts about the input, before those of its scripts. */
export function inputDetails(
  context: PageContext,
  input: Input,
  { maxBytes, more }: { readonly maxBytes: number; readonly more: Parameters<typeof facts>[0] },
): Html {
  const { t, network } = context
  const items = itemsOf(context, input)
  const scriptSig = bytesOf(input.script_sig ?? '')
  const spent = bytesOf(input.script_pub_key ?? '')
  const inner =
    network === undefined || input.script_pub_key === null
      ? {}
      : innerScripts({ scriptSig, witness: (input.witness ?? []).map(bytesOf) }, spent, network)
  return details(spendName(context, input.script_type, items), [
    [t.script.type, typeWords(context, input.script_type, spent)],
    ...more,
    ...script(context, t.script.output, spent),
    ...script(context, t.script.input, scriptSig),
    [t.script.pushed, itemList(context, items.scriptSig, maxBytes)],
    [t.script.witnessItems, itemList(context, items.witness, maxBytes)],
    ...script(context, t.script.redeem, inner.redeemScript, false),
    ...script(
      context,
      items.witness.some(({ kind }) => kind === 'leaf_script')
        ? t.script.items.leaf_script
        : t.script.witness,
      inner.witnessScript,
      false,
    ),
  ])
}

/** Returns the details of the script of an output, closed at first. */
export function outputDetails(context: PageContext, type: string, scriptPubKey: string | null): Html {
  const { t } = context
  const bytes = bytesOf(scriptPubKey ?? '')
  return details(typeName(t, type), [
    [t.script.type, typeWords(context, type, bytes)],
    ...script(context, t.script.output, bytes),
  ])
}

const details = (summary: string, rows: Parameters<typeof facts>[0]): Html =>
  html`<details class="script">
    <summary>${summary}</summary>
    ${facts(rows)}
  </details>`

/** Returns a script as opcodes and as hexadecimal; none without one. @param hasHex false if the list of items has the bytes. */
function script(
  { t, f, network }: PageContext,
  name: string,
  bytes: Buffer | undefined,
  hasHex = true,
): (readonly [string, Part])[] {
  if (bytes === undefined || bytes.length === 0 || network === undefined) return []
  const asm = asmOf(bytes, network).replace(LONG_PUSHES, '$1…')
  return [
    [name, asm.length > MAX_ASM ? t.script.tooLong(f.number(bytes.length)) : html`<code>${asm}</code>`],
    ...(hasHex ? ([[t.script.hexOf(name), hexOf(bytes)]] as const) : []),
  ]
}

const hexOf = (bytes: Buffer): Html =>
  html`<code
    >${bytes.length > MAX_WRITTEN ? `${bytes.toString('hex', 0, SHOWN_BYTES)}…` : bytes.toString('hex')}</code
  >`

/** Returns items as a list; undefined without any. */
function itemList({ t, f }: PageContext, items: readonly SpendItem[], maxBytes: number): Html | undefined {
  if (items.length === 0) return undefined
  const hidden = items.length - MAX_ITEMS
  return html`<ol class="items">
    ${items
      .slice(0, MAX_ITEMS)
      .map(
        (item) =>
          html`<li>
            ${itemText(t, f, item, maxBytes)}${item.data.length === 0 ? undefined : hexOf(item.data)}
          </li>`,
      )}
    ${hidden > 0 ? html`<li>${t.words.more(f.number(hidden))}</li>` : undefined}
  </ol>`
}
