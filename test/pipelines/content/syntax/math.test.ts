import { describe, expect, it } from 'vitest'
import { chunksOf } from '../../../../pipelines/retrieval/index/chunk.js'
import { renderMarkdown } from '../../../../services/docs/pages/render.js'
import { pageOf } from '../folder.js'

const htmlOf = (source: string, file = 'page.mdx') => renderMarkdown(pageOf(source, file)).text

describe('math', () => {
  it.each([
    '$a=\\sqrt{b^2}$',
    '$\\frac{m c^{2}}{2}$ and $x_1$, $y$.',
    '$$\nb_{zz} * \\{c\\} < d\n$$',
    '> quoted\n>\n> $$\n> a\n>\n> b_{z}\n> $$',
    '| a |\n| - |\n| $x_{1}$ |',
    '## The $n_{0}$ case [#the-n_0-case]',
  ])('%j stays as it is written, in Markdown, in MDX and in the index', (source) => {
    for (const file of ['page.md', 'page.mdx']) {
      const page = pageOf(source, file)
      expect(page.markdown.replace(/ \[#.*\]$/, '')).toBe(source.replace(/ \[#.*\]$/, ''))
      expect(pageOf(page.markdown, 'page.md').markdown).toBe(page.markdown)
    }
    const formula = /\$+\n?([^$]*?)\n?>? ?\$/.exec(source)?.[1]?.split('\n')[0]?.replace(/^> /, '') ?? ''
    expect(chunksOf(pageOf(source)).some(({ text }) => text.includes(formula))).toBe(true)
  })

  it('alone in a paragraph is a block, also on one line', () => {
    expect(pageOf('$$a_{b}$$').markdown).toBe('$$\na_{b}\n$$')
    expect(htmlOf('$$a_{b}$$')).toContain('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">')
    expect(htmlOf('text $$a_{b}$$')).not.toContain('display="block"')
  })

  it.each([
    'It costs $5 and $10.',
    'Between $5-$10, US$5, 5$ and A$B$C.',
    '$HOME/$USER and $PATH:$X',
    'echo "$a" | grep $b, then',
    'An escaped \\$a\\$ dollar',
    '`$a$`',
    'before\n\n\\$\\$\n\nno end',
  ])('%j is none', (source) => {
    for (const file of ['page.md', 'page.mdx']) {
      const { markdown } = pageOf(source, file)
      expect(markdown).toBe(source)
      expect(renderMarkdown({ ...pageOf(source, file) }).text).not.toContain('<math')
    }
  })

  it('without an end takes nothing away', () => {
    expect(pageOf('one\n\n$$\n\ntwo').markdown).toBe('one\n\n\\$\\$\n\ntwo')
    expect(pageOf('$$ a\n\ntwo').markdown).toBe('$$ a\n\ntwo')
  })

  it('is MathML, without styles and scripts', () => {
    const html = htmlOf(
      '$\\color{red}{x}$\n\n```math\n\\sum_{i=1}^n i\n```\n\n$\\href{javascript:alert(1)}{x}$',
    )
    expect(html.match(/<math /g)).toHaveLength(3)
    expect(html).toContain('<mo>∑</mo>')
    expect(html).not.toMatch(/ style=|<a |href=/)
    expect(html).toContain('<annotation encoding="application/x-tex">\\sum_{i=1}^n i</annotation>')
  })

  it.each(['$\\frac{$', '$\\unknown$', `$${'x'.repeat(5_000)}$`, '$$\n\\begin{a}\n$$'])(
    'that is not valid TeX, or too long, is shown as its source: %.20s',
    (source) => {
      const html = htmlOf(source)
      expect(html).not.toContain('<math')
      expect(html).toContain(`<code>${source.replace(/^\$+\s*|\s*\$+$/g, '')}`)
    },
  )

  it('cannot smuggle HTML', () => {
    const html = htmlOf(
      '$\\text{</annotation><script>alert(1)</script>}$ <code data-math="inline"><img src=x></code>',
      'a.md',
    )
    expect(html).not.toMatch(/<script|<img/)
  })

  it('in a heading belongs to its title and id', () => {
    expect(pageOf('## The $n_0$ case', 'a.md').toc).toEqual([
      { title: 'The n_0 case', url: '#the-n_0-case', depth: 2 },
    ])
  })
})

describe('diagrams', () => {
  it('are figures with their source, which say what they are', () => {
    const html = htmlOf('```mermaid title="Flow"\ngraph TD; A-->B\n```')
    expect(html).toContain('<figcaption>Flow · Diagram, as Mermaid source</figcaption>')
    expect(html).toContain('graph TD; A-->B')
    expect(htmlOf('```plantuml\na -> b\n```')).toContain('Diagram, as PlantUML source')
  })

  it('of components are code', () => {
    expect(pageOf('<Mermaid chart={`graph TD;\nA-->B`} />').markdown).toBe(
      '```mermaid\ngraph TD;\nA-->B\n```',
    )
  })
})
