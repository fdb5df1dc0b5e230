import GithubSlugger from 'github-slugger'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import { unified } from 'unified'
import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../../pipelines/content/document.js'
import { parseMarkdown } from '../../../pipelines/content/syntax/markdown.js'
import { ContentError } from '../../../pipelines/content/page.js'
import { pageOf } from './folder.js'

describe('a page', () => {
  const page = parseDocument(
    [
      '---',
      'title: Reading blocks',
      'description: >',
      '  How a block',
      '  is read.',
      'tags: [chain, api]',
      '---',
      'Before *anything*.',
      '',
      '## First [#one]',
      '',
      'Text with prev_hash and `code`.',
      '',
      '```ts',
      'const secret_word = 1',
      '```',
      '',
      '### Deeper',
      '',
      '| a | b |',
      '|---|---|',
      '| cell | other |',
      '',
      '## First',
      'Again.',
    ].join('\n'),
    'page.md',
  )

  it('has the fields of its frontmatter', () => {
    expect(page).toMatchObject({
      title: 'Reading blocks',
      description: 'How a block is read.',
      tags: ['chain', 'api'],
    })
  })

  it('has one id for each heading, in toc, structured data, sections and Markdown', () => {
    expect(page.toc).toEqual([
      { title: 'First', url: '#one', depth: 2 },
      { title: 'Deeper', url: '#deeper', depth: 3 },
      { title: 'First', url: '#first', depth: 2 },
    ])
    expect(page.structuredData.headings).toEqual([
      { id: 'one', content: 'First' },
      { id: 'deeper', content: 'Deeper' },
      { id: 'first', content: 'First' },
    ])
    expect(page.sections.map(({ id, path }) => [id, path])).toEqual([
      ['', []],
      ['one', ['First']],
      ['deeper', ['First', 'Deeper']],
      ['first', ['First']],
    ])
    expect(page.markdown).toContain('## First [#one]\n')
    expect(page.markdown).toContain('## First\n')
  })

  it('groups its paragraphs, cells and code by heading; those before the first heading have none', () => {
    expect(page.structuredData.contents).toEqual([
      { heading: '', content: 'Before *anything*.' },
      { heading: 'one', content: 'Text with prev_hash and `code`.' },
      { heading: 'one', content: '```ts\nconst secret_word = 1\n```' },
      { heading: 'deeper', content: 'a' },
      { heading: 'deeper', content: 'b' },
      { heading: 'deeper', content: 'cell' },
      { heading: 'deeper', content: 'other' },
      { heading: 'first', content: 'Again.' },
    ])
  })

  it('keeps code in its sections', () => {
    expect(page.sections[1]?.markdown).toContain('```ts\nconst secret_word = 1\n```')
  })
})

describe('a long text', () => {
  it('has the same result parsed in parts as parsed at once', () => {
    const block = [
      '## Part',
      '- **Item** with [a link][known] and a note[^1]\n\n  ```sh\n\n  # no heading\n  ```\n\nwords',
      '````md\n```\n\n# no heading\n\nno words\n\n```\n````',
      '<!--\n\n# no heading\n\n-->',
      '> quoted\n\nWords.\n\n    code\n\n| a | b |\n|---|---|\n| 1 | 2 |',
      '[known]: https://example.org\n[^1]: Said.',
    ].join('\n\n')
    const text = `${`${block}\n\n`.repeat(200)}~~~\n\nopen to the end\n\n# still\n\n`.repeat(2)
    const whole = unified().use(remarkParse).use(remarkGfm).parse(text)
    const plain = (node: object | undefined) =>
      JSON.stringify(node, (key, value) => (key === 'position' ? undefined : (value as unknown)))
    const { children } = parseMarkdown(text)
    expect(children).toHaveLength(whole.children.length)
    for (const [index, node] of children.entries()) expect(plain(node)).toBe(plain(whole.children[index]))
  })
})

describe('heading ids', () => {
  const idsOf = (markdown: string) => parseDocument(markdown, 'page.md').toc.map(({ url }) => url.slice(1))

  it.each([
    ['## A\n## A\n## A-1', ['a', 'a-1', 'a-1-1']],
    ['## B\n## Other [#b]', ['b-1', 'b']],
    ['## X [#same]\n## Y [#same]', ['same', 'y']],
    ['## !!!', ['section']],
    ['## `GET /api/docs`', ['get-apidocs']],
    ['## Größe & 数', ['größe--数']],
  ])('of %j are %j', (markdown, ids) => {
    expect(idsOf(markdown)).toEqual(ids)
  })

  it('are written into the Markdown wherever another reader would derive a different slug', () => {
    const source = '## A\n\n## B\n\n## Other [#b]\n\n## A\n\n## !!!\n\n## C [#own]'
    const { markdown, toc } = parseDocument(source, 'page.md')
    const slugger = new GithubSlugger()
    const read = [...markdown.matchAll(/^## (.*?)(?: \[#(.+)\])?$/gm)].map(
      ([, title = '', own]) => own ?? slugger.slug(title),
    )
    expect(read).toEqual(toc.map(({ url }) => url.slice(1)))
  })

  it('are unchanged when the Markdown is parsed again', () => {
    const { markdown, toc } = parseDocument('## B\n\n## Other [#b]\n\n## B', 'page.md')
    expect(parseDocument(markdown, 'page.md').toc).toEqual(toc)
  })
})

describe('the title', () => {
  it('is the first h1 if the frontmatter has none', () => {
    const { title, sections } = parseDocument('# The `title`\n\nText.\n\n## Part\n\nMore.', 'page.md')
    expect(title).toBe('The title')
    expect(sections.map(({ path }) => path)).toEqual([[], ['Part']])
  })

  it('is undefined without either', () => {
    expect(parseDocument('Text.', 'page.md').title).toBeUndefined()
  })
})

describe('MDX', () => {
  it('is reduced to the text that its components show', () => {
    const source = [
      "import { Card } from './card'",
      'export const answer = 42',
      '',
      '{/* a comment */}',
      '',
      '<Callout title="Mind this">',
      '  It is **important**.',
      '',
      '  ## Inside',
      '</Callout>',
      '',
      '<Card title="Start" href="/start" description="Where to begin" />',
      '',
      'A <Badge>new</Badge> word <Term title="Tip">end</Term>{" "}and <a href="/x">a link</a> {answer}.',
      '',
      '<Tabs items={["npm"]}>',
      '  <Tab value="npm">',
      '    ```sh',
      '    npm start',
      '    ```',
      '  </Tab>',
      '</Tabs>',
      '<script>{`alert(1)`}</script>',
    ].join('\n')
    const { markdown, toc, structuredData } = pageOf(source)
    expect(markdown).toBe(
      [
        '**Mind this**',
        'It is **important**.',
        '## Inside',
        '[Start](/start)',
        'Where to begin',
        'A new word **Tip** end and [a link](/x) 42.',
        '**npm**',
        '```sh\nnpm start\n```',
      ].join('\n\n'),
    )
    expect(toc).toEqual([{ title: 'Inside', url: '#inside', depth: 2 }])
    expect(structuredData.contents).toContainEqual({ heading: '', content: 'It is **important**.' })
  })

  it.each([
    [
      '<table>\n<tr><th>name</th><th>default</th></tr>\n<tr><td>timeout</td><td>30</td></tr>\n</table>',
      '| name | default |\n| - | - |\n| timeout | 30 |',
    ],
    [
      '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>**b** | c</td></tr></tbody></table>',
      '| a |\n| - |\n| **b** \\| c |',
    ],
    ['<Steps><Step>Open the door.</Step><Step>Close it.</Step></Steps>', 'Open the door.\n\nClose it.'],
    [
      '<Tabs items={["a", "b"]}><Tab value="a">one</Tab><Tab value="b">two</Tab></Tabs>',
      '**a**\n\none\n\n**b**\n\ntwo',
    ],
    ['<p>First para.</p><p>Second para.</p>', 'First para.\n\nSecond para.'],
    ['<div>Left</div><div>Right</div>', 'Left\n\nRight'],
    ['In a line <Tab>one</Tab><Tab>two</Tab> there.', 'In a line one two there.'],
    ['<ul>\n<li>alpha</li>\n<li>**beta**</li>\n</ul>', '- alpha\n- **beta**'],
    ['<ol><li>alpha</li><li>beta</li></ol>', '1. alpha\n2. beta'],
    ['<ul></ul>', ''],
    ['<dl><dt>Term</dt><dd>Meaning</dd></dl>', '**Term**\n\nMeaning'],
    [
      '<pre><code className="language-sh">{`line one\nline two`}</code></pre>',
      '```sh\nline one\nline two\n```',
    ],
    ['<blockquote>quoted words</blockquote>', '> quoted words'],
    ['<Param name="limit" type="number">Most items.</Param>', '**limit** `number`\n\nMost items.'],
    ['<strong>a</strong> <em>b</em>', '**a** *b*'],
    ['H<sub>2</sub>O', 'H2O'],
    ['a < b and {x}', 'a < b and'],
  ])('keeps the structure of %j', (source, markdown) => {
    expect(pageOf(source).markdown).toBe(markdown)
  })

  it('includes headings that are written in HTML', () => {
    const { toc, markdown } = pageOf('<h2 id="own-id">Html heading</h2>\n\ntext')
    expect(toc).toEqual([{ title: 'Html heading', url: '#own-id', depth: 2 }])
    expect(markdown).toBe('## Html heading [#own-id]\n\ntext')
  })
})

describe('the headings of a page', () => {
  it('are the same in toc and structured data, including those in quotes and empty ones', () => {
    const source =
      '# A\n\n## `B` *c*\n\n> ## Quoted\n>\n> words\n\n- ### Listed\n\n####\n\nafter\n\n## [#only]\n\nz'
    const { toc, structuredData } = parseDocument(source, 'page.md')
    const ids = structuredData.headings.map(({ id }) => `#${id}`)
    expect(ids).toEqual(toc.map(({ url }) => url))
    expect(ids).toEqual(['#a', '#b-c', '#quoted', '#listed', '#section', '#only'])
    expect(structuredData.headings[1]?.content).toBe('B c')
    for (const { heading } of structuredData.contents) expect(ids).toContain(`#${heading}`)
  })
})

describe('a malformed file', () => {
  it.each([
    ['md', '---\ntitle: x\ndescription: [a\n---\n', 3],
    ['md', '---\ntitle: a\ntitle: b\n---\n', 3],
    ['md', '---\ndescription: a\ntitle: [a]\n---\n', 3],
    ['md', '---\ntitle: open\n\nText.', 1],
    ['md', '---\n- a\n---\n', 2],
    ['mdx', '---\ntitle: x\n---\n\n<Card>\n\ntext', 5],
    ['mdx', 'one\n\n<b>\n\nend', 3],
    ['mdx', '\nimport x from 1\n', 2],
  ] as const)('reports %s %j with its line %i', (format, source, line) => {
    const thrown = (() => {
      try {
        parseDocument(source, `page.${format}`)
      } catch (error) {
        return error
      }
      return undefined
    })()
    expect(thrown).toBeInstanceOf(ContentError)
    expect(thrown).toMatchObject({ line })
  })

  it('accepts none of these as an error', () => {
    for (const source of ['', '---\n---\n', '---\n\ntext', '\uFEFF---\r\ntitle: x\r\n---\r\ntext', '{ <'])
      expect(() => parseDocument(source, 'page.md')).not.toThrow()
    expect(parseDocument('\uFEFF---\r\ntitle: x\r\n---\r\ntext', 'page.md')).toMatchObject({
      title: 'x',
      markdown: 'text',
    })
  })
})

describe('structured data', () => {
  it('has headings as text, and code and math beside paragraphs, so that a client can split the page by it', () => {
    const source =
      '## The `snake_case` [x] *name* \\<T>\n\nA [link](./a.md).\n\n```ts {1}\nlet a_b\n```\n\n$$\na_{b}\n$$\n\n- item\n\n  ```sh\n  ls\n  ```'
    const { structuredData, toc } = parseDocument(source, 'page.md')
    expect(structuredData.headings.map(({ content }) => content)).toEqual(['The snake_case [x] name <T>'])
    expect(toc.map(({ title }) => title)).toEqual(['The snake_case [x] name <T>'])
    expect(structuredData.contents.map(({ content }) => content)).toEqual([
      'A link.',
      '```ts {1}\nlet a_b\n```',
      '$$\na_{b}\n$$',
      'item',
      '```sh\nls\n```',
    ])
    expect(new Set(structuredData.contents.map(({ heading }) => heading))).toEqual(
      new Set(['the-snake_case-x-name-t']),
    )
  })
})
