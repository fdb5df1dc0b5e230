import { html, type Html } from '../../../../design/html.js'
import { facts, heading } from '../components/elements.js'
import { table } from '../components/table.js'
import { DOCS, feedPathOf } from '../layout.js'
import { declarePage, type PageContext } from '../page.js'

/** Redirects to an endpoint of the API with the arguments of a form, also those of its path. */
export const TRY = '/_explorer/try'

/** The pages whose entries a feed has, besides that of each address. */
const FEEDS = ['blocks', 'large', 'reorgs'] as const

/** The parts of an OpenAPI document that the page shows. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content } | Reference>>
}

type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: object }>>

interface Reference {
  readonly $ref: string
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description: string
  readonly schema: Schema
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly default?: string | number | boolean
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Returns the page of all endpoints of the API, as its OpenAPI document describes them, each with a form. */
export const api = (document: () => OpenApi, ports: ReadonlyMap<string, number>) =>
  declarePage({
    name: 'api',
    path: '/api',
    args: {},
    view(page) {
      const { t, at, to, validity } = page
      // Nothing of the chain changes the page.
      validity.dependsOn('api')
      const { paths, components } = document()
      const endpoints = Object.entries(paths).flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, operation]) =>
          endpoint(page, { path, method, operation, schemas: components.schemas }),
        ),
      )
      const feeds = html`<ul class="forms">
        ${FEEDS.map((name) => html`<li><a href="${to(feedPathOf(`/${name}`))}">${t.nav[name]}</a></li>`)}
      </ul>`
      const body = html`${heading(t.api.title, t.api.about)}
        <p><a href="${at(DOCS)}">${t.api.more}</a></p>
        ${facts([
          ['OpenAPI', html`<a href="${at('/openapi.json')}">openapi.json</a>`],
          ['GraphQL', html`<a href="${at('/graphql')}">GraphiQL</a> <small>${t.api.graphiql}</small>`],
          ['WebSocket', html`<code>${at('/ws')}</code> <a href="${at('/asyncapi.json')}">asyncapi.json</a>`],
          [t.sharing.feed, feeds],
          ...[...ports].map(([name, port]) => [name, t.api.port(String(port))] as const),
        ])}
        ${endpoints}`
      return { ...t.api, body }
    },
  })

/** Returns the path of an operation that a form can request by GET; undefined if there is none. */
export function pathOf({ paths }: OpenApi, operationId: string | null): string | undefined {
  return Object.keys(paths).find((path) => paths[path]?.['get']?.operationId === operationId)
}

interface Endpoint {
  readonly path: string
  readonly method: string
  readonly operation: Operation
  readonly schemas: OpenApi['components']['schemas']
}

function endpoint({ t, at }: PageContext, { path, method, operation, schemas }: Endpoint): Html {
  const { operationId: id, summary, parameters = [], requestBody, responses } = operation
  const ok = responses['200']
  const json = ok !== undefined && 'content' in ok ? ok.content?.['application/json'] : undefined
  const fields = json === undefined ? [] : fieldsOf(json.schema, schemas)
  const inputs = parameters.filter((each): each is Parameter => 'name' in each && each.in !== 'header')
  const form =
    requestBody === undefined
      ? html`<form action="${at(TRY)}" class="try">
          <input type="hidden" name="operation" value="${id}" />
          ${inputs.map((parameter) => field(t, id, parameter))}
          <button type="submit">${t.api.try}</button>
        </form>`
      : html`<form class="try" data-post="${at(path)}">
          ${bodyField(t, id, requestBody.content['application/json']?.example)}
          <button type="submit">${t.api.try}</button>
        </form>`
  return html`<details class="endpoint more" id="${id}">
    <summary><code>${method.toUpperCase()} ${path}</code> <small>${summary}</small></summary>
    ${form}<output></output>
    ${
      fields.length === 0
        ? undefined
        : table(
            `${t.api.answer}: ${id}`,
            [{ title: t.api.field }, { title: t.api.meaning }],
            fields.map(([field, meaning]) => ({ cells: [html`<code>${field}</code>`, meaning] })),
          )
    }
  </details>`
}

function field(t: PageContext['t'], operation: string, parameter: Parameter): Html {
  const { name, required, description, schema } = parameter
  const id = `${operation}-${name}`
  const fallback = schema.default === undefined ? undefined : String(schema.default)
  const hint = required ? t.api.required : fallback === undefined ? '' : t.api.byDefault(fallback)
  const choices = schema.enum ?? (schema.type === 'boolean' ? ['false', 'true'] : undefined)
  const input =
    choices === undefined
      ? html`<input id="${id}" name="${name}" autocomplete="off" ${required ? html` required` : undefined} />`
      : html`<select id="${id}" name="${name}">
          ${choices.map((choice) => html`<option${choice === fallback ? html` selected` : undefined}>${choice}</option>`)}
        </select>`
  return html`<label for="${id}"
      ><code>${name}</code> <small>${description}${hint === '' ? '' : ` (${hint})`}</small></label
    >${input}`
}

function bodyField(t: PageContext['t'], operation: string, example: object = {}): Html {
  const id = `${operation}-body`
  return html`<label for="${id}">${t.api.body}</label
    ><textarea id="${id}" name="body" rows="5" spellcheck="false">
${JSON.stringify(example, undefined, 2)}</textarea>`
}

/** Returns the fields of an answer with their meanings; for a list, the fields of its items, not the fields around it. */
function fieldsOf(reference: Schema, schemas: Endpoint['schemas']): (readonly [string, string])[] {
  const schema = resolved(reference, schemas)
  const { items, properties = {} } = schema
  const itemSchema = items ?? (properties['items'] && resolved(properties['items'], schemas).items)
  if (itemSchema !== undefined) return fieldsOf(itemSchema, schemas)
  return Object.entries(properties).map(([name, each]) => [
    name,
    each.description ?? resolved(each, schemas).description ?? '',
  ])
}

const resolved = (schema: Schema, schemas: Endpoint['schemas']): Schema =>
  (schema.$ref === undefined ? undefined : schemas[schema.$ref.split('/').at(-1) ?? '']) ?? schema
