import type { TSchema } from '@sinclair/typebox'
import { html, type Html } from '../../../design/html.js'
import { literals, rangeOf } from '../../reads/arguments.js'
import { READS } from '../../reads/index.js'
import type { Read } from '../../reads/read.js'
import { heading } from '../components/elements.js'
import { table } from '../components/table.js'
import { DOCS } from '../layout.js'
import { declarePage, type PageContext } from '../page.js'

/** Redirects to an endpoint of the API with the arguments of a form, also those of its path. */
export const TRY = '/_explorer/try'

/** All endpoints of the API, from the declarations that also validate their requests, each with a form. */
export const api = declarePage({
  name: 'api',
  path: '/api',
  args: {},
  view(page) {
    const { t, validity } = page
    // Nothing of the chain changes the page.
    validity.dependsOn('api')
    const body = html`${heading(t.api.title, t.api.about)}
      <p><a href="${DOCS}">${t.api.more}</a></p>
      ${READS.filter((read) => read.method !== 'POST').map((read) => endpoint(page, read))}`
    return { ...t.api, body }
  },
})

function endpoint({ t }: PageContext, { name, path, about, args, answer }: Read): Html {
  const fields = fieldsOf(answer)
  return html`<details class="endpoint more" id="${name}">
    <summary><code>GET /api/v1${path}</code> <small>${about}</small></summary>
    <form action="${TRY}" class="try">
      <input type="hidden" name="read" value="${name}" />
      ${Object.entries(args).map(([argument, schema]) => field(t, { id: `${name}-${argument}`, argument, schema, isInPath: path.includes(`:${argument}`) }))}
      <button type="submit">${t.api.try}</button>
    </form>
    <output></output>
    ${
      fields.length === 0
        ? undefined
        : table(
            `${t.api.answer}: ${name}`,
            [{ title: t.api.field }, { title: t.api.meaning }],
            fields.map(([field, meaning]) => ({ cells: [html`<code>${field}</code>`, meaning] })),
          )
    }
  </details>`
}

interface Field {
  readonly id: string
  readonly argument: string
  readonly schema: TSchema
  readonly isInPath: boolean
}

function field(t: PageContext['t'], { id, argument, schema, isInPath }: Field): Html {
  const fallback = schema.default as unknown
  const isRequired = isInPath && fallback === undefined
  const hint = `${rangeOf(schema)}; ${isRequired || argument === 'q' ? t.api.required : fallback === undefined ? '' : t.api.byDefault(String(fallback))}`
  const choices = literals(schema) ?? (schema['type'] === 'boolean' ? ['false', 'true'] : undefined)
  const input =
    choices === undefined
      ? html`<input
          id="${id}"
          name="${argument}"
          autocomplete="off"
          ${isRequired ? html` required` : undefined}
        />`
      : html`<select id="${id}" name="${argument}">
          ${choices.map((choice) => html`<option${choice === String(fallback) ? html` selected` : undefined}>${choice}</option>`)}
        </select>`
  return html`<label for="${id}"><code>${argument}</code> <small>${hint.replace(/; $/, '')}</small></label
    >${input}`
}

/** Returns the fields of an answer with their meanings; those of the items of a list, not those around it. */
function fieldsOf(schema: TSchema): (readonly [string, string])[] {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, TSchema>>
  const items = (properties['items'] as { items?: TSchema } | undefined)?.items
  if (items !== undefined) return fieldsOf(items)
  return Object.entries(properties).map(([name, each]) => [name, each.description ?? ''])
}
