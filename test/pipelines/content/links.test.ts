import { describe, expect, it } from 'vitest'
import { linesOf, placed } from './folder.js'

const SITE = {
  'index.md': '# Home',
  '(docs)/01-guide/index.mdx': '# Guide',
  '(docs)/01-guide/02-install.mdx': '# Install\n\n## Second Step!\n\n<div id="by-hand"></div>',
  '(docs)/01-guide/10-use.md': '# Use\n\n## A _b_ {#own}\n\n<a id="anchor"></a>',
  'api/README.md': '# API',
  'api/(v2)/get (all).md': '# Get',
}

/** The URL that a link on a page of the site leads to, and what is reported about it. */
function follow(link: string, file: string): { url: string; reports: string[] } {
  const { pages, findings } = placed({
    ...SITE,
    [file]: `${SITE[file as keyof typeof SITE] ?? ''}\n\n[link](<${link}>)`,
  })
  const markdown = pages.find((page) => page.file === file)?.markdown ?? ''
  return { url: /\[link\]\(<?(.*?)>?\)$/m.exec(markdown)?.[1] ?? '', reports: linesOf(findings) }
}

describe('a link', () => {
  const install = '/01-guide/02-install'

  it.each([
    ['./02-install.mdx', '(docs)/01-guide/10-use.md', install],
    ['./install', '(docs)/01-guide/10-use.md', install],
    ['install.html', '(docs)/01-guide/10-use.md', install],
    ['install.md#second-step', '(docs)/01-guide/10-use.md', `${install}#second-step`],
    ['guide/install', '(docs)/01-guide/index.mdx', install],
    ['./install', '(docs)/01-guide/index.mdx', install],
    ['../guide/install/', '(docs)/01-guide/10-use.md', install],
    ['/guide/install?x=1#second-step', 'index.md', `${install}?x=1#second-step`],
    ['/docs/guide/install', 'index.md', install],
    ['/guide/install#Second_Step', 'index.md', `${install}#second-step`],
    ['/guide/use#own', 'index.md', '/01-guide/10-use#own'],
    ['/guide/use#anchor', 'index.md', '/01-guide/10-use#anchor'],
    ['/guide/', 'index.md', '/01-guide'],
    ['/guide/index.html', 'index.md', '/01-guide'],
    ['api/', 'index.md', '/api/README'],
    ['/api/get%20(all)', 'index.md', '/api/get%20%28all%29'],
    ['#second-step', '(docs)/01-guide/02-install.mdx', '#second-step'],
    ['/', 'api/README.md', '/'],
    ['https://example.org/x', 'index.md', 'https://example.org/x'],
    ['mailto:x@example.org', 'index.md', 'mailto:x@example.org'],
    ['/llms.txt', 'index.md', '/llms.txt'],
    ['/api/search?query=x', 'index.md', '/api/search?query=x'],
  ])('%s on %s leads to %s', (link, file, url) => {
    expect(follow(link, file)).toEqual({ url, reports: [] })
  })

  it.each([
    ['./none.md', 'index.md', 'index.md:3 ./none.md leads to no page'],
    ['/guide/none', 'index.md', 'index.md:3 /guide/none leads to no page'],
    ['../outside.md', 'index.md', 'index.md:3 ../outside.md leads to no page'],
    [
      '/guide/use#none',
      'index.md',
      'index.md:3 /guide/use#none leads to no heading of (docs)/01-guide/10-use.md',
    ],
    ['#none', 'index.md', 'index.md:3 #none leads to no heading of index.md'],
    ['picture.png', 'index.md', 'index.md:3 picture.png leads to no page'],
    ['%zz', 'index.md', 'index.md:3 %zz leads to no page'],
  ])('%s on %s leads nowhere, and is reported', (link, file, report) => {
    expect(follow(link, file)).toEqual({ url: link, reports: [report] })
  })

  it('in a definition, a component, a value, a label, a quote and HTML is found too, but not in code', () => {
    const { pages, findings } = placed({
      'a.mdx':
        '[x][y] `[c](./none.md)`\n\n<Card href="./b" title="t" />\n\n<L l={[{ title: "T", href: "./b.md" }]} />\n\n> [q](b.html)\n\n[y]: ./b.md\n\n```md\n[c](./none.md)\n```',
      'b.md': '<a href="./a.mdx">a</a>\n\n::: tip To [a](a)\ntext\n:::\n',
    })
    expect(findings).toEqual([])
    const [a, b] = pages
    expect(a?.markdown.match(/\/b\b/g)).toHaveLength(4)
    expect(a?.markdown.match(/\.\/none\.md/g)).toHaveLength(2)
    expect(b?.markdown).toBe('<a href="/a">a</a>\n\n> Tip: To [a](/a)\n>\n> text')
    expect(a?.sections[0]?.markdown).toContain('[T](/b)')
  })

  it('changes with the pages of other files', () => {
    const before = placed({ 'a.md': '[b](./b.md)' })
    expect(linesOf(before.findings)).toEqual(['a.md:1 ./b.md leads to no page'])
    expect(
      placed({ 'a.md': '[b](./b.md)', 'b/index.md': 'x', '1-b.md': 'x' }).pages.find(
        ({ file }) => file === 'a.md',
      )?.markdown,
    ).toBe('[b](/b)')
  })
})

describe('the pages of a folder with ordering prefixes', () => {
  it('are in the order of the numbers, and have titles without them', () => {
    const files = {
      '2-b.md': 'x',
      '10-c.md': 'x',
      '(group)/1-a.md': 'x',
      '01-z.md': 'x',
      'own.md': '---\norder: 3\n---\n',
    }
    const { pages } = placed(files)
    expect(pages.map(({ title }) => title)).toEqual(['Z', 'B', 'Own', 'C', 'A'])
  })

  it('are found under the paths that other sites would give them', () => {
    const { targets } = placed(SITE)
    const files = ['guide/install', '/docs', 'guide', 'api', 'api/get (all)', 'guide/01-install', ''].map(
      (path) => targets.find(path)?.file,
    )
    expect(files).toEqual([
      '(docs)/01-guide/02-install.mdx',
      undefined,
      '(docs)/01-guide/index.mdx',
      'api/README.md',
      'api/(v2)/get (all).md',
      '(docs)/01-guide/02-install.mdx',
      'index.md',
    ])
  })
})

describe('a link to what the service serves', () => {
  const files = { 'index.md': '', 'guide/a.md': '' }
  const reports = (url: string) => linesOf(placed({ ...files, 'b.md': `[x](${url})` }).findings)

  it.each([
    '/api/ask',
    '/api/chat',
    '/api/docs',
    '/api/docs/guide/a',
    '/api/search?query=x',
    '/llms.txt',
    '/llms-full.txt',
    '/llms.mdx/guide/a',
    '/docs/guide/a.mdx',
    '/docs/guide/a',
    '/sitemap.xml',
    '/robots.txt',
    '/mcp',
    '/health',
    '/metrics',
  ])('is good: %s', (url) => {
    expect(reports(url)).toEqual([])
  })

  it.each([
    '/api',
    '/api/none',
    '/api/docs/guide/none',
    '/api/search/x',
    '/docs',
    '/docs/none',
    '/docs/guide/none.mdx',
    '/llms.mdx/none',
    '/llms-none.txt',
    '/health/x',
  ])('is reported if nothing is there: %s', (url) => {
    expect(reports(url)).toEqual([`b.md:1 ${url} leads to no page`])
  })
})

describe('links with the base path of their site', () => {
  const files = { 'index.md': '', 'guide/a.md': '## One', 'guide/b.md': '' }

  it('lead to the pages without it', () => {
    const { pages, findings } = placed({
      ...files,
      'c.md':
        '[a](/project/v2/guide/a#one) [b](/project/v2/guide/b/) [home](/project/v2/) [none](/project/v2/none)',
    })
    expect(pages.find(({ file }) => file === 'c.md')?.markdown).toBe(
      '[a](/guide/a#one) [b](/guide/b) [home](/) [none](/project/v2/none)',
    )
    expect(linesOf(findings)).toEqual(['c.md:1 /project/v2/none leads to no page'])
  })

  it('are broken if one alone would lead to a page, or most would not', () => {
    const broken = (text: string) => placed({ ...files, 'c.md': text }).findings.length
    expect(broken('[a](/x/guide/a) [a](/x/guide/a)')).toBe(2)
    expect(broken('[a](/x/guide/a) [b](/x/guide/b) [k](/x/k) [d](/x/d) [e](/x/e)')).toBe(5)
  })
})
