import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../../../../pipelines/content/document.js'
import { parseBody } from '../../../../../pipelines/content/syntax/parse.js'
import { linesOf } from '../../folder.js'

const markdownOf = (source: string) => parseDocument(source, 'page.mdx').markdown

describe('the expressions of MDX', () => {
  it.each([
    ['{1 + 1}', '2'],
    ['{2 * (3 - 1) ** 2 / 4 % 3}', '2'],
    ['{"a" + 1 + 1}', 'a11'],
    ['{0.5}', '0.5'],
    ['{`${1 + 1} of ${true}`}', '2 of true'],
    ['{[1, 2].length}', '2'],
    ['{true ? "yes" : "no"}', 'yes'],
    ['{!1 ? "yes" : "no"}', 'no'],
    ["a {'{'} b", 'a { b'],
    ['a {"}"} b', 'a } b'],
    ['a {/* } */} b', 'a  b'],
    [`a {/* ${'long '.repeat(200)} */} b`, 'a  b'],
    ['export const limit = 50\n\nAt most {limit}.', 'At most 50.'],
    ['export const a = {b: ["x", {c: 7}]}\n\n{a.b[1].c} {a["b"][0]}', '7 x'],
    ['export const a = 2, b = a * 3\n\n<Card title={`${b} times`} />', '**6 times**'],
    ['---\ntitle: T\nversions: [1.5, 2]\n---\n\n{frontMatter.title}: {frontmatter.versions[0]}', 'T: 1.5'],
    ['> {[\n>  "a",\n>  "b"\n> ]}', '> - a\n> - b'],
    ['- one\n\n  {[\n    "a",\n  ]}', '- one\n\n  - a'],
    ['<Box\n  {...props}\n  title={"t"}\n/>', '**t**'],
  ])('%j show %j', (source, markdown) => {
    expect(markdownOf(source)).toBe(markdown)
    expect(parseDocument(source, 'page.mdx').findings.filter(({ component }) => component === '{…}')).toEqual(
      [],
    )
  })

  it.each([
    ['one {1 +} two', 'one {1 +} two'],
    ['one { two', 'one { two'],
    ['Use {...} or {a: 1} here, {a b}.', 'Use {...} or {a: 1} here, {a b}.'],
    ['`code {1 +}` and {1 +}', '`code {1 +}` and {1 +}'],
    ['```js\nif (x) {\n```\n\nthen {', '```js\nif (x) {\n```\n\nthen {'],
    ['<Card title={1 +} href="/x" note="a { b">{"inside"}</Card>', 'a { b\n\ninside'],
    ['<Card title={1 + href="/x">inside</Card>\n\nafter', 'inside'],
    ['export const a = {b: 1}\n\n{ a', '{ a'],
  ])('that are not valid are text, and take nothing else away: %j', (source, shown) => {
    const { markdown, findings } = parseDocument(source, 'page.mdx')
    expect(markdown.replace(/\\([<{])/g, '$1')).toContain(shown)
    expect(findings.some(({ kind }) => kind === 'expression')).toBe(true)
  })

  it('that are not valid are reported with their lines', () => {
    expect(linesOf(parseDocument('a {1 +}\n\n{2}\n\nb {x y}', 'page.mdx').findings)).toEqual([
      'page.mdx:1 an expression is not valid',
      'page.mdx:5 an expression is not valid',
    ])
  })

  it('have no value if a name is a function, an import, or declared later', () => {
    const source =
      "import late from './x'\nexport const f = () => 1\nexport let g = 3\nexport const early = later\nexport const later = 2\n\n[{f}{late}{g}{early}{later}]"
    const { markdown, findings } = parseDocument(source, 'page.mdx')
    expect(markdown).toBe('\\[2]')
    expect(findings.map(({ message }) => message)).toEqual(['an expression is left out'])
  })

  it('may have thousands of records, which are parsed once', () => {
    const records = (count: number) =>
      Array.from({ length: count }, (_, index) => `  { name: 'n${String(index)}', text: 'a {b} c' },`).join(
        '\n',
      )
    const source = (count: number) => `before\n\n<Props rows={[\n${records(count)}\n]} />\n\nafter\n\n{1 +}`
    const seconds = (count: number) => {
      const from = process.cpuUsage()
      const { root, faults } = parseBody(source(count), 'page.mdx')
      expect(root.children).toHaveLength(4)
      expect(faults).toMatchObject([{ line: count + 8 }])
      const { user, system } = process.cpuUsage(from)
      return (user + system) / 1e6
    }
    seconds(100)
    // By micromark alone 3,000 records take 16 s, and twice as many four times as long.
    expect(seconds(6_000)).toBeLessThan(2)
    expect(markdownOf(source(500))).toContain('| n499 | a {b} c |')
  })

  it('that fail again and again do not add up', () => {
    const from = process.cpuUsage()
    const { faults } = parseBody(`${'{[{(['.repeat(8_000)}\n\n${'a { b\n\n'.repeat(2_000)}`, 'page.mdx')
    const { user } = process.cpuUsage(from)
    expect(faults.length).toBeGreaterThan(2_000)
    expect(user / 1e6).toBeLessThan(10)
  })
})
