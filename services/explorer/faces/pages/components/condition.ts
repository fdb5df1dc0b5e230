import type { Network } from '../../../../../pipelines/chain/networks.js'
import { html, type Html, type Part } from '../../../../design/html.js'
import type { Condition, Trouble } from '../../../core/health/condition.js'
import type { Assets } from '../assets.js'
import { filled, type Format } from '../format.js'
import { inLanguage, MESSAGES } from '../language.js'
import { formatOf, languageOfLocale, type Locale } from '../locales.js'
import type { Messages } from '../messages/en/index.js'

/** The path of the sentence about the condition, which open pages request again. */
export const CONDITION = '/_explorer/condition'

/** The troubles that pass by themselves while data arrives: they are no alarm. */
const PASSING: readonly (Trouble | undefined)[] = [
  undefined,
  'starting',
  'syncing',
  'node_syncing',
  'mismatch',
]

interface Place {
  readonly locale: Locale
  readonly network: Network | undefined
  readonly at: Assets['at']
}

/**
 * Returns how far a page can be relied on, in one sentence: its newest block, whether the index equals the node, and the last audit.
 * A trouble comes first. All times are absolute: a page may have been made some time ago, and the client shows their ages.
 */
export function conditionLine(condition: Condition, { locale, network, at }: Place): Html {
  const language = languageOfLocale(locale)
  const t = MESSAGES[language]
  const f = formatOf(locale, network)
  const { trouble, tip } = condition
  const level = trouble === undefined ? 'good' : PASSING.includes(trouble) ? 'wait' : 'stale'
  const block = (height: number): Html =>
    html`<a href="${at(inLanguage(language, `/block/${String(height)}`))}"
      >${t.condition.block(f.number(height))}</a
    >`
  const facts: Part[] = [
    tip && html`${block(tip.height)}, ${f.since(tip.time)}`,
    compared(condition, t.condition, f),
    audited(condition, t.condition, f),
  ]
  const shown = facts.filter((each) => each !== undefined)
  return html`<p
    class="feed"
    data-level="${level}"
    data-live="${t.live.live}"
    data-lost="${t.live.lost}"
    data-url="${at(CONDITION)}?lang=${language}"
  >
    <span role="status">${troubleText(condition, t, f)}</span>
    <span class="facts">${shown.map((each, index) => (index === 0 ? each : html` · ${each}`))}</span>
  </p>`
}

/** Returns the trouble in words; undefined without one. */
export function troubleText(
  { trouble, tip, nodeHeight, nodeHeaders, audit }: Condition,
  { condition }: Pick<Messages, 'condition'>,
  f: Format,
): string | undefined {
  if (trouble === undefined) return undefined
  const known = Math.max(nodeHeight, trouble === 'node_syncing' ? nodeHeaders : -1)
  return condition.troubles[trouble]({
    indexed: f.number(Math.max(0, tip?.height ?? 0)),
    node: f.number(Math.max(0, known)),
    differences: f.number(audit.differences),
  })
}

/** Returns whether the index equals the node, if that is known now, otherwise when they were compared. */
function compared(
  { trouble, comparedAt }: Condition,
  words: Messages['condition'],
  f: Format,
): Html | string | undefined {
  if (trouble === undefined || trouble === 'differences') return words.equal
  if (['syncing', 'node_syncing', 'mismatch', 'starting'].includes(trouble)) return undefined
  return comparedAt === undefined ? words.neverCompared : filled(words.compared, f.since(comparedAt))
}

function audited({ audit }: Condition, words: Messages['condition'], f: Format): Html | string {
  if (audit.checkedAt === null) return words.notAudited
  const text = audit.differences === 0 ? words.audited : words.auditedWith(f.number(audit.differences))
  return filled(text, f.since(audit.checkedAt))
}
