import { html, type Html, type Part } from '../../../../design/html.js'
import { electrumHashOf, opReturnPayload, scriptHash } from '../../../../../pipelines/chain/script.js'
import { textOf } from '../../../core/reads/chain/op-returns.js'
import type { AddressSummary, Input, Output, WhaleParty } from '../../../core/reads/shapes.js'
import type { Messages } from '../messages/en/index.js'
import type { PageContext } from '../page.js'
import { addressLink } from './elements.js'

/** The fields of an answer that say what a script is. */
type ShownScript = Pick<Output, 'script_type'> & Partial<Pick<AddressSummary, 'script_pub_key' | 'multisig'>>

/** The number of characters of a text in OP_RETURN, and of digits of a key, that a list shows. */
const SHOWN_TEXT = 40
const SHOWN_KEY = 6

/** The short names of types of scripts, which are the same in all languages. */
const NAMES: Readonly<Record<string, string>> = {
  pubkey: 'P2PK',
  pubkeyhash: 'P2PKH',
  scripthash: 'P2SH',
  nulldata: 'OP_RETURN',
  witness_v0_keyhash: 'P2WPKH',
  witness_v0_scripthash: 'P2WSH',
  witness_v1_taproot: 'P2TR',
  witness_v2_p2mr: 'P2MR',
  anchor: 'P2A',
}

/** Returns the short name of a type of script: P2WPKH. @param type as the node names it. */
export function typeName(t: Messages, type: string | null): string {
  if (type?.startsWith('dilithium_') === true)
    return `${t.words.dilithium} ${typeName(t, type.slice('dilithium_'.length))}`
  const names: Readonly<Record<string, string>> = t.script.names
  return NAMES[type ?? ''] ?? names[type ?? ''] ?? type ?? ''
}

/** Returns what a script without an address is: the key that it pays, the signatures that it needs, or the node's name of its type. */
export function scriptName(
  { t }: Pick<PageContext, 't'>,
  { script_type: type, script_pub_key: script, multisig }: ShownScript,
): string {
  const kind = type.startsWith('dilithium_') ? `${t.words.dilithium} ` : ''
  if (type.endsWith('pubkey')) {
    // After the push of the key, whose size takes two bytes more if it is a Dilithium one.
    const at = kind === '' ? 2 : 6
    const key = typeof script === 'string' ? ` ${script.slice(at, at + SHOWN_KEY)}…` : ''
    return `${kind}P2PK${key}`
  }
  if (multisig !== undefined)
    return kind + t.script.multisig(String(multisig.required), String(multisig.keys))
  return type === 'nulldata' ? 'OP_RETURN' : type
}

/**
 * Returns the address of an output, or of the output that an input spends, as a link; or what its script is, as a link to the script.
 * @param maxBytes the size up to which scripts were read: of longer ones the hash is not known. Not set: all are complete.
 */
export function ownerLink(
  page: PageContext,
  coin: ShownScript & { readonly address: string | null },
  maxBytes = Number.POSITIVE_INFINITY,
): Html {
  const { script_type: type, script_pub_key: script, address } = coin
  if (address !== null)
    return type === 'anchor'
      ? html`<span class="owner">anchor ${addressLink(page, address)}</span>`
      : addressLink(page, address, labelOf(page, script))
  const name = scriptName(page, coin)
  if (typeof script !== 'string' || script.length >= 2 * maxBytes)
    return html`<span class="owner">${name}</span>`
  return scriptLink(page, name, electrumHashOf(Buffer.from(script, 'hex')))
}

/** Returns the label of a script; undefined if it has none, or was left out. */
export const labelOf = (
  { definitions }: Pick<PageContext, 'definitions'>,
  script: string | null | undefined,
): string | undefined =>
  typeof script === 'string'
    ? definitions.labels.ofScript(scriptHash(Buffer.from(script, 'hex')))?.label
    : undefined

/** Returns the short name of a type of script, with the node's name of it. */
export const typeNames = ({ t }: Pick<PageContext, 't'>, type: string): Html => {
  const name = typeName(t, type)
  return html`${name}${name === type ? undefined : html` <small><code>${type}</code></small>`}`
}

const scriptLink = ({ to }: PageContext, name: Part, hash: string): Html =>
  html`<a class="owner" href="${to(`/address/${hash}`)}" title="${hash}">${name}</a>`

/** Returns who owns the output that an input spends. */
export const spentLink = (page: PageContext, input: Input, maxBytes: number): Html =>
  ownerLink(page, { ...input, script_type: input.script_type ?? '' }, maxBytes)

/** Returns whom an output pays. */
export const recipientLink = (page: PageContext, output: Output, maxBytes: number): Html =>
  ownerLink(page, { ...output, address: output.addresses[0]?.address ?? null }, maxBytes)

/** Returns the beginning of the text that an output stores; undefined if it stores none. */
export function storedText({ script_type, script_pub_key: script }: Output): Html | undefined {
  if (script_type !== 'nulldata' || script === null) return undefined
  const content = opReturnPayload(Buffer.from(script, 'hex'))
  const text = content === undefined ? null : textOf(content)
  if (text === null || text === '') return undefined
  const isShort = text.length <= SHOWN_TEXT
  return html` <q class="soft">${isShort ? text : `${text.slice(0, SHOWN_TEXT)}…`}</q>`
}

/** Returns a sender or recipient of a large transaction. */
export function partyLink(page: PageContext, { address, label, script }: WhaleParty): Html | undefined {
  if (address !== null) return addressLink(page, address, label)
  return script && scriptLink(page, label ?? scriptName(page, script), script.scripthash)
}
