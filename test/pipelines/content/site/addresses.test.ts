import { describe, expect, it } from 'vitest'
import { orderingOf } from '../../../../pipelines/content/site/order-file.js'
import { placed } from '../folder.js'

/** The URLs of the pages of files, in order. */
const urls = (files: Readonly<Record<string, string>>) => placed(files).pages.map(({ url }) => url)
const fields = (yaml: string) => `---\n${yaml}\n---\n\ntext`

describe('the address of a page', () => {
  it('is that of Docusaurus', () => {
    const { pages, targets } = placed({
      '01-guide/_category_.json': '{"label": "The guide", "position": 2}',
      '01-guide/02-install.md': fields('sidebar_position: 1'),
      '01-guide/relative.md': fields('slug: other'),
      '01-guide/up.md': fields('slug: ../up-here/'),
      '01-guide/rooted.md': fields('slug: /start'),
      '01-guide/named.md': fields('id: by-id'),
      '01-guide/README.md': '# Guide',
      'api/api.md': '# API',
    })
    const byFile = Object.fromEntries(pages.map(({ file, url }) => [file, url]))
    expect(byFile).toEqual({
      '01-guide/README.md': '/guide',
      '01-guide/02-install.md': '/guide/install',
      '01-guide/named.md': '/guide/by-id',
      '01-guide/relative.md': '/guide/other',
      '01-guide/rooted.md': '/start',
      '01-guide/up.md': '/up-here',
      'api/api.md': '/api',
    })
    // The path of the file leads to the page, too.
    for (const { file, url } of pages) expect(targets.find(file.replace(/\.md$/, ''))?.url).toBe(url)
  })

  it('is that of Starlight, whose slugs begin at the root', () => {
    expect(
      urls({
        'guides/a.md': fields('slug: short/way\nsidebar:\n  order: 2'),
        'guides/b.md': fields('sidebar:\n  order: 1'),
        '01-c.md': fields('slug: ""'),
      }),
    ).toEqual(['/01-c', '/guides/b', '/short/way'])
  })

  it('is that of Jekyll and Hugo', () => {
    const { pages, targets } = placed({
      'a.md': fields('permalink: /deep/er.html'),
      'b.md': fields('permalink: /:categories/:title'),
      'posts/_index.md': '# Posts',
      'posts/c.md': '+++\nslug = "see"\naliases = ["/old/c/", "older"]\n+++\ntext',
    })
    expect(pages.map(({ url }) => url)).toEqual(['/deep/er', '/b', '/posts', '/posts/see'])
    for (const path of ['old/c', 'posts/older', 'posts/c']) expect(targets.find(path)?.url).toBe('/posts/see')
  })

  it("is that of Next's folders, whose groups have no segment", () => {
    expect(
      urls({
        'page.mdx': '# Home',
        '(docs)/guide/page.mdx': '# Guide',
        '(docs)/guide/(more)/deep/page.mdx': '# Deep',
        'about.mdx': '# About',
      }),
    ).toEqual(['/', '/guide', '/guide/deep', '/about'])
    // One file of this name is a page about pages.
    expect(urls({ 'api/page.md': '# Page', 'api/index.md': '# API' })).toEqual(['/api', '/api/page'])
  })

  it('is that of its file if another page has it already, which is an error', () => {
    const { pages, errors } = placed({ '(a)/x.md': 'x', '(b)/x.md': 'x', 'y.md': fields('slug: /x') })
    expect(pages.map(({ file, url }) => [file, url])).toEqual([
      ['(a)/x.md', '/x'],
      ['(b)/x.md', '/(b)/x'],
      ['y.md', '/y'],
    ])
    expect(errors.map(({ file, message }) => `${file}: ${message}`)).toEqual([
      '(b)/x.md: (a)/x.md already has the URL /x: it is at /(b)/x',
      'y.md: (a)/x.md already has the URL /x: it is at /y',
    ])
  })

  it('is never outside of the site, whatever its frontmatter says', () => {
    const slugs = ['//evil.example/x', 'https://evil.example', '../../../etc', 'a b', 'x?y#z', '\\\\evil']
    const files = Object.fromEntries(
      slugs.map((slug, at) => [`p${String(at)}.md`, fields(`slug: ${JSON.stringify(slug)}`)]),
    )
    expect(urls(files).sort()).toEqual(['/etc', '/p0', '/p1', '/p3', '/p4', '/p5'])
  })
})

describe('the order and the names of pages', () => {
  const shown = (files: Readonly<Record<string, string>>) =>
    placed(files).pages.map(({ label, breadcrumbs }) => [...breadcrumbs, label].join(' › '))

  it('are those of _category_ files', () => {
    expect(
      shown({
        'b/_category_.json': '{"label": "First", "position": 1}',
        'b/x.md': fields('sidebar_position: 2\nsidebar_label: Two\ntitle: Long'),
        'b/y.md': fields('sidebar_position: 1'),
        'a/_category_.yml': 'label: Second\nposition: 2.5\n',
        'a/z.md': 'text',
      }),
    ).toEqual(['First › Y', 'First › Two', 'Second › Z'])
  })

  it('are those of _meta files, in JavaScript, TypeScript and JSON', () => {
    const pages = placed({
      '_meta.tsx': `import type { MetaRecord } from 'nextra'
const DOCS: MetaRecord = { type: 'page', title: <>The <b>docs</b></> }
export const Icon: FC<{ a: string }> = ({ a }) => <i>{a}</i>
export default {
  _: { type: 'separator', title: <Icon a="x" /> },
  'about-us': 'About',
  docs: DOCS,
  secret: { display: 'hidden' }
} satisfies MetaRecord`,
      'docs/_meta.json': '{"b": "Bee", "a": ""}',
      'docs/a.md': 'x',
      'docs/b.md': 'x',
      'docs/c.md': 'x',
      'about-us.md': '# About us all',
      'secret.md': 'x',
      'zebra.md': 'x',
    }).pages
    expect(pages.map(({ label, breadcrumbs }) => [...breadcrumbs, label].join(' › '))).toEqual([
      'About',
      'The docs › Bee',
      'The docs › A',
      'The docs › C',
      'Secret',
      'Zebra',
    ])
    expect(pages.filter(({ isInNavigation }) => !isInNavigation).map(({ url }) => url)).toEqual(['/secret'])
    expect(pages[0]?.title).toBe('About us all')
  })

  it('are those of one _meta.global file', () => {
    expect(
      shown({
        '_meta.global.js':
          "const A = { y: 'Why', x: '' }\nexport default { docs: { title: 'Docs', items: A }, index: '' }",
        'index.md': '# Home',
        'docs/x.md': 'x',
        'docs/y.md': 'x',
      }),
    ).toEqual(['Home', 'Docs › Why', 'Docs › X'])
  })

  it('are those of meta.json, as of Fumadocs', () => {
    expect(
      shown({
        'g/meta.json': '{"title": "Guide", "pages": ["c", "---More---", "...", "a"]}',
        'g/a.md': '',
        'g/b.md': '',
        'g/c.md': '',
      }),
    ).toEqual(['Guide › C', 'Guide › A', 'Guide › B'])
  })

  it('are those of SUMMARY.md, which is no page', () => {
    const files = {
      'SUMMARY.md':
        '# Summary\n\n[Preface](README.md)\n\n# Part\n\n- [Later](b.md)\n  - [Inner](a/in%20ner.md)\n    - [Draft]()\n- [Second](./c.md#part)\n\n---\n\n[End](d.md)\n',
      'README.md': '# Welcome',
      'a/in ner.md': 'x',
      'b.md': '# Bee',
      'c.md': 'x',
      'd.md': 'x',
      'e.md': 'x',
    }
    const { pages } = placed(files)
    expect(pages.map(({ url, title }) => [url, title])).toEqual([
      ['/', 'Welcome'],
      ['/b', 'Bee'],
      ['/a/in%20ner', 'Inner'],
      ['/c', 'Second'],
      ['/d', 'End'],
      ['/e', 'E'],
    ])
    expect(pages.map(({ place }) => place.length)).toEqual([0, 1, 2, 1, 1, 1])
    expect(pages[2]?.breadcrumbs).toEqual(['Later'])
  })

  it('keep all pages if a file that orders them is not valid', () => {
    expect(() => orderingOf('_meta.js', 'export default call()')).toThrow('exports no object')
    expect(() => orderingOf('a/_category_.json', '[')).toThrow()
    expect(() => orderingOf('meta.json', '7')).toThrow('must be an object')
    expect(orderingOf('_meta.js', 'export default { a: load(), b: "B" }').folders[0]?.entries).toEqual([
      { name: 'b', label: 'B', isHidden: false },
    ])
    expect(orderingOf('SUMMARY.md', 'no links').summary?.chapters).toEqual([])
  })
})
