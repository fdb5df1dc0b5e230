import { html, type Html } from '../../../../design/html.js'
import type { AddressExposure } from '../../../core/reads/shapes.js'
import type { PageContext } from '../page.js'
import { addressLink, blockLink, facts, shortened, txLink } from './elements.js'
import { typeNames } from './scripts.js'

/** Returns whether a quantum computer could take the coins of an address, why, and what its owner can do; nothing if that is not known. */
export function exposureVerdict(page: PageContext, exposure: AddressExposure): Html | undefined {
  const { t, f } = page
  const { protection, revelation, keys } = exposure
  if (protection === 'unknown') return undefined
  const { inner_script_type: inner = null, vin = null } = revelation ?? {}
  const isAtRisk = exposure.at_risk !== '0'
  const kind = protection !== 'exposed' ? 'good' : isAtRisk ? 'bad' : ''
  return html`<section class="verdict ${kind}" id="exposure">
    <h2>${t.exposure.title}: ${t.quantum.protections[protection].toLowerCase()}</h2>
    <p>${reason(page, exposure)} ${advice(page, exposure)}</p>
    ${facts([
      [t.exposure.atRisk, isAtRisk ? f.amount(exposure.at_risk) : undefined],
      [t.exposure.shownBy, revelation === null ? undefined : shownBy(page, revelation)],
      [t.exposure.shownScript, inner === null ? undefined : typeNames(page, inner)],
      // Keys in the script itself are shown with it.
      [t.address.keys, vin === null || keys.length === 0 ? undefined : keys.map(keyLink(page))],
    ])}
  </section>`
}

function reason(
  { t }: PageContext,
  { protection, reason, revelation, script_type }: AddressExposure,
): string {
  const { reasons } = t.exposure
  const isOfScript = script_type.endsWith('scripthash')
  if (protection === 'protected') return reason === 'script' ? reasons.dilithium : reasons.dilithiumSpends
  if (protection === 'hidden') return isOfScript ? reasons.scriptHash : reasons.hash
  if (reason === 'spend' && revelation?.inner_script_type !== null) return reasons.scriptSpent
  return reasons[reason === 'hash' ? 'spend' : reason]
}

function advice(
  { t, network }: PageContext,
  { protection, reason, at_risk, balance }: AddressExposure,
): string {
  const { advice } = t.exposure
  if (protection === 'protected') return ''
  if (protection === 'hidden') return balance === '0' ? advice.once : advice.hidden
  if (reason === 'unconfirmed') return advice.unconfirmed
  if (at_risk === '0') return advice.empty
  return network?.dilithium === undefined ? advice.move : advice.moveToDilithium
}

function shownBy(page: PageContext, revelation: NonNullable<AddressExposure['revelation']>): Html {
  const { t, f } = page
  const { txid, block_height, timestamp, vin, vout, address } = revelation
  const place = vin === null ? t.exposure.output(f.number(vout ?? 0)) : t.exposure.input(f.number(vin))
  return html`${txLink(page, txid)} <small>${place}</small>
    ${address === null ? undefined : html`<div><small>${t.words.address}</small> ${addressLink(page, address)}</div>`}
    <div>
      ${
        block_height === null || timestamp === null
          ? t.words.unconfirmed
          : html`${t.words.block} ${blockLink(page, block_height)}, ${f.time(timestamp)}`
      }
    </div>`
}

const keyLink =
  ({ to }: PageContext) =>
  ({ key }: AddressExposure['keys'][number]): Html =>
    html`<div>
      <a class="hash" href="${to(`/address/${key}`)}" title="${key}">${shortened(key)}</a>
    </div>`
