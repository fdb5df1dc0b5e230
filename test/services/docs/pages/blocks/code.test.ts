import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../../../../pipelines/content/document.js'
import { renderMarkdown } from '../../../../../services/docs/pages/render.js'

const rendered = (markdown: string): string =>
  renderMarkdown({ file: 'a.md', url: '/a', title: 'x', toc: [], markdown }).text

/** Returns the texts of the elements with a class. */
const classed = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`<span class="hljs-${name}">([^<]*)<`, 'g'))].map(([, text = '']) => text)

describe('a code block', () => {
  it('has a bar with its title, its language, and a button that copies it', () => {
    expect(rendered('```ts title="a.ts"\nx\n```')).toBe(
      '<figure class="code"><figcaption><span class="title">a.ts</span><span class="language">ts</span>' +
        '<button type="button"><span role="status">Copy</span></button></figcaption>' +
        '<pre tabindex="0"><code class="language-ts">x\n</code></pre></figure>',
    )
  })

  it.each(['```\nx\n```', '```text\nx\n```', '    x'])(
    'without a language has only the button: %j',
    (markdown) => {
      const html = rendered(markdown)
      expect(html).toMatch(/^<figure class="code bare"><figcaption><button/)
      expect(html).not.toContain('class="language"')
    },
  )

  it('of an author cannot pose as a button of the page', () => {
    expect(
      rendered('<figure class="code"><figcaption><button>Pay</button></figcaption></figure>'),
    ).not.toMatch(/<button|class="code"/)
  })
})

describe('MDX', () => {
  const html = rendered(
    '```mdx\n---\ntitle: Hi\n---\nimport { Card } from "x"\n\n# Head\n\n<Card size="2">Text {count + 1}</Card>\n\n---\n\nwords: more\n\n---\n```',
  )

  it('is highlighted: frontmatter, imports, headings, components and expressions', () => {
    expect(classed(html, 'attr')).toEqual(['title:', 'size'])
    expect(classed(html, 'keyword')).toEqual(['import', 'from'])
    expect(classed(html, 'section')).toEqual(['# Head'])
    expect(classed(html, 'name')).toEqual(['Card', 'Card'])
    expect(classed(html, 'number')).toEqual(['1'])
  })

  it('keeps every character of the code', () => {
    const source =
      "import A from 'a'\n\n{[1, {a: 2}].map((x) => <B {...x} />)}\n\n`{` and { unclosed\n<C\n  d={`e`}\n/>"
    const text = rendered('```mdx\n' + source + '\n```').replace(/^.*?<code[^>]*>|<[^>]+>/gs, '')
    const entities = { '&#x3C;': '<', '&#x26;': '&' }
    expect(text.replace(/&#x(?:3C|26);/g, (sign) => entities[sign as '&#x3C;']).trim()).toBe(source)
  })
})

describe('Astro', () => {
  it('is highlighted: the script between dashes, tags, expressions with braces, styles', () => {
    const html = rendered(
      '```astro\n---\nconst { title } = Astro.props\n---\n<h1 class="a" on={{ b: 1 }}>{title ?? 2}</h1>\n<style>\n  h1 { color: red }\n</style>\n```',
    )
    expect(classed(html, 'keyword')).toEqual(['const'])
    expect(classed(html, 'name')).toEqual(['h1', 'h1', 'style', 'style'])
    expect(classed(html, 'number')).toEqual(['1', '2'])
    expect(classed(html, 'attribute')).toEqual(['color'])
  })
})

describe('a tree of files', () => {
  const tree = (source: string): string => {
    const { markdown, marked } = parseDocument(source, 'a.mdx')
    const html = renderMarkdown({ file: 'a.mdx', url: '/a', title: 'x', toc: [], markdown, marked }).text
    return html.replace(/\n\s*/g, '')
  }
  const EXPECTED =
    '<div class="tree"><ul><li>app/<ul><li>page.tsx</li><li>lib/<ul><li>a.ts</li></ul></li></ul></li><li>README.md</li></ul></div>'

  it('that is a list is a tree', () => {
    expect(tree('<FileTree>\n- app/\n  - page.tsx\n  - lib/\n    - a.ts\n- README.md\n</FileTree>\n')).toBe(
      EXPECTED,
    )
  })

  it.each(['Files', 'FileTree'])(
    'of components is a tree, and a list for readers of Markdown: %s',
    (name) => {
      const [folder, file] = name === 'Files' ? ['Folder', 'File'] : ['FileTree.Folder', 'FileTree.File']
      const source = `<${name}>
  <${folder} name="app" defaultOpen>
    <${file} name="page.tsx" />
    <${folder} name="lib"><${file} name="a.ts" /></${folder}>
  </${folder}>
  <${file} name="README.md" />
</${name}>
`
      expect(tree(source)).toBe(EXPECTED)
      expect(parseDocument(source, 'a.mdx').markdown).toBe(
        '- app/\n  - page.tsx\n  - lib/\n    - a.ts\n- README.md',
      )
    },
  )
})
