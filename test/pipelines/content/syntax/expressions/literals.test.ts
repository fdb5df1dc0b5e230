import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../../../../pipelines/content/document.js'
import { renderMarkdown } from '../../../../../services/docs/pages/render.js'
import { linesOf, pageOf } from '../../folder.js'

const markdownOf = (source: string) => pageOf(source).markdown
const table = (...rows: string[]) => rows.map((row) => `| ${row} |`).join('\n')

describe('the literal properties of components', () => {
  it('become a table, if they are records', () => {
    const source = `<PropertiesTable
  content={[
    { name: 'model', type: 'LanguageModel', description: 'The \`model\` to use.' },
    { name: 'seed', type: 'string | number', isOptional: true },
  ]}
/>`
    const page = pageOf(source)
    expect(page.markdown).toBe(
      table(
        'name | type | description | isOptional',
        '- | - | - | -',
        'model | `LanguageModel` | The `model` to use. | ',
        'seed | `string \\| number` | | true',
      ).replaceAll(' |  |', ' | |'),
    )
    expect(page.sections[0]?.markdown).toContain('LanguageModel')
    expect(page.structuredData.contents.map(({ content }) => content)).toContain('The `model` to use.')
    expect(renderMarkdown(page).text).toContain('<td><code>LanguageModel</code></td>')
  })

  it('become nested lists, if records have parts', () => {
    const source = `<PropertiesTable content={[{ name: 'messages', type: 'Message[]', description: 'A list.', properties: [
      { type: 'UserMessage', parameters: [{ name: 'role', type: "'user'", children: [{ name: 'deep', note: 'x' }] }] } ] }]} />`
    expect(markdownOf(source)).toBe(
      [
        '- **messages** `Message[]`: A list.',
        '  - **`UserMessage`**',
        "    - **role** `'user'`",
        '      | name | note |',
        '      | - | - |',
        '      | deep | x |',
      ].join('\n'),
    )
  })

  it.each([
    [
      '<TypeTable type={{ size: { type: "number", default: "4" }, on: { type: "boolean" } }} />',
      table('name | type | default', '- | - | -', 'size | `number` | `4`', 'on | `boolean` | '),
    ],
    ['<Features list={["fast", "small"]} />', '- fast\n- small'],
    ['<Matrix rows={[["a", "b"], ["c"]]} />', '- - a\n  - b\n- - c'],
    ['<Snippet text="npm i ai" />', '```\nnpm i ai\n```'],
    ['<Snippet text={["npm i", "npm start"]} lang="sh" />', '```sh\nnpm i\nnpm start\n```'],
    ['<Run command={`curl\n-v`} />', '```\ncurl\n-v\n```'],
    ['<Code code={"const a = " + "1"} />', '```\nconst a = 1\n```'],
    ['<InstallPackages packages={["ai", "zod"]} />', '```\nai zod\n```'],
    ['Run <Snippet text="npm i" /> now.', 'Run `npm i` now.'],
    ['<CodeBlock language="ts">{`let a\nlet b`}</CodeBlock>', '```ts\nlet a\nlet b\n```'],
    ['<Quote author="Ada">Words.</Quote>', 'Ada\n\nWords.'],
    ['<Faq question="Why?" answer="Because." />', '**Why?**\n\nBecause.'],
    [
      '<ParamField path="id" type="string" required>The id.</ParamField>',
      '**id** `string` required\n\nThe id.',
    ],
    ['<Version since="1.2" />', 'since: 1.2'],
    ['<Hero subtitle="All you need" />', 'All you need'],
    ['<Card title={<>Use <b>this</b></>} />', '**Use this**'],
    ['<Grid items={[<b>one</b>, "two"]} />', '- **one**\n- two'],
    [
      '<Param name="limit" type="number" required default="10">Most items.</Param>',
      '**limit** `number` required default: `10`\n\nMost items.',
    ],
    [
      '<Links list={[{ title: "One", href: "https://one.example", description: "First" }]} />',
      '[One](https://one.example)\n\nFirst',
    ],
    [
      '<Tabs items={["npm", "pnpm"]}><Tab>one</Tab><Tab>two</Tab></Tabs>',
      '**npm**\n\none\n\n**pnpm**\n\ntwo',
    ],
    ['<Options items={["npm", "pnpm"]} />', '- npm\n- pnpm'],
    ['| a |\n|---|\n| <Check size={18} /> |', '| a |\n| - |\n| Check |'],
    ['<Check/>', 'Check'],
    ['- <Cross /> no\n- <Ui.Check />', '- Cross no\n- Check'],
    ['<Box className="wide" style={{ color: "red" }} id="x" icon="star">text</Box>', 'text'],
    ['<Box {...props} onClick={() => go()} />', ''],
  ])('of %j become %j', (source, markdown) => {
    expect(
      markdownOf(source)
        .replace(/ \| {2}\|/g, ' | |')
        .trimEnd(),
    ).toBe(markdown.replace(/ \| {2}\|/g, ' | |').trimEnd())
  })

  it('are left out if they would have to be evaluated, which is reported once for each component', () => {
    const source = `Text.

<Chart data={load()} title="Load" />

<Chart data={load()} list={["kept", load(), ...more]} />

<Other on={() => 1}>{items.map((item) => item)}</Other> {1 + now()}`
    const { markdown, findings } = parseDocument(source, 'page.mdx')
    expect(markdown).toBe('Text.\n\n**Load**\n\n- kept')
    expect(linesOf(findings)).toEqual([
      'page.mdx:3 an expression of <Chart> is left out',
      'page.mdx:7 an expression of <Other> is left out',
      'page.mdx:7 an expression is left out',
    ])
  })

  it('inject nothing, whatever they contain', () => {
    const source = `<Card title="</p><script>alert(1)</script>" href="javascript:alert(1)" />

<Table rows={[{ a: "<img src=x onerror=alert(1)>", b: "](javascript:alert(1))" }, { __proto__: { a: 1 }, constructor: 'x' }]} />

<Snippet text={"\`\`\`\\n<script>alert(1)</script>"} />

<Tabs items={["\\"><script>alert(1)</script>"]}><Tab>x</Tab></Tabs>`
    const { text } = renderMarkdown(pageOf(source))
    expect(text).not.toMatch(/<script|<img|href="javascript:/)
    expect(text).toContain('&#x3C;script>alert(1)&#x3C;/script>')
  })

  it('may be nested or repeated as deeply and often as memory allows', () => {
    const deep = `${'['.repeat(300)}"core"${']'.repeat(300)}`
    expect(markdownOf(`<Deep tree={${deep}} />`)).toContain('core')
    const rows = Array.from({ length: 600 }, (_, index) => `{ name: 'n${String(index)}', type: 't' }`)
    expect(markdownOf(`<Long rows={[${rows.join(',')}]} />`)).toContain('| n599 | `t` |')
    const tooDeep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    expect(() => parseDocument(`text\n\n<Deep tree={${tooDeep}} />`, 'page.mdx')).toThrow()
  })
})
