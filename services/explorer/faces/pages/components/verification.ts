import { html, type Html } from '../../../../design/html.js'
import type { PageContext } from '../page.js'
import { section } from './elements.js'

const STEPS = ['txid', 'branch', 'header', 'work', 'later'] as const

/** Returns the steps by which a browser verifies that a confirmed transaction is in its block, and the button that starts them. */
export function verification({ t, at }: PageContext, txid: string): Html {
  const { verify: words } = t
  const steps = STEPS.map(
    (step) =>
      html`<li data-step="${step}">
        <span class="what">${words.steps[step]}</span> <span class="state"></span> <code></code>
      </li>`,
  )
  return section(
    words.title,
    html`<div
      class="verify"
      data-api="${at('/api/v1')}"
      data-txid="${txid}"
      data-running="${words.running}"
      data-right="${words.right}"
      data-wrong="${words.wrong}"
      data-failed="${words.failed}"
    >
      <p>${words.about}</p>
      <p><button type="button" hidden>${words.start}</button></p>
      <ol aria-live="polite">
        ${steps}
      </ol>
      <p class="note">${words.limits}</p>
    </div>`,
  )
}
