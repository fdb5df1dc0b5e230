import { isoTime } from '../../../../pipelines/chain/time.js'
import { html, type Html } from '../../../design/html.js'
import type { ChainState } from '../../core/state/state.js'
import { filled, type Format } from './format.js'
import type { Messages } from './messages/en/index.js'

/** The sources of what leads to other states of the chain. */
interface Travelling {
  readonly t: Messages
  readonly f: Format
  readonly chain: ChainState
  readonly toPresent: (path: string) => string
}

/** Returns the form that leads to a page as of a block, or as of the end of a day. @param path of the page as of now. */
export const travel = ({ t, toPresent }: Travelling, path: string): Html =>
  html`<form class="travel" action="${toPresent(path)}">
    <label>
      ${t.past.block}
      <input
        name="at"
        pattern="[0-9]{1,10}|[0-9]{4}-[0-9]{2}-[0-9]{2}"
        placeholder="${t.past.example}"
        autocomplete="off"
        required
      />
    </label>
    <button type="submit">${t.past.go}</button>
  </form>`

/** Returns the form of `travel` for the end of a page, closed. */
export const travelSection = (page: Travelling, path: string): Html =>
  html`<details class="more">
    <summary>${page.t.past.earlier}</summary>
    ${travel(page, path)}
  </details>`

/** Returns what marks a page of a past state, with links to the states before and after it, and to the present. */
export function pastBanner(page: Travelling, path: string): Html {
  const { t, f, toPresent, chain } = page
  const { height, present } = chain
  const link = (text: string, at: number): Html | undefined =>
    at < 0 || at > (present?.height ?? -1)
      ? undefined
      : html`<a href="${toPresent(`${path}?at=${String(at)}`)}" rel="nofollow">${text}</a>`
  const block = html`<a href="${toPresent(`/block/${String(height)}`)}">${f.number(height)}</a>`
  const time = f.time(isoTime(chain.blocks.timeAt(height)))
  return html`<aside class="notice past" aria-label="${t.past.title(f.number(height))}">
    <p>
      <strong>${filled(t.past.asOf, block)}</strong> ${time}. ${t.past.without}
      <a href="${toPresent(path)}">${t.past.present}</a>
    </p>
    <nav aria-label="${t.past.blocks}">
      ${link(t.past.before, height - 1)} ${link(t.past.after, height + 1)} ${travel(page, path)}
    </nav>
  </aside>`
}
