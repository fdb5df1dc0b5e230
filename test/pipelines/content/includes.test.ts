import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseDocument } from '../../../pipelines/content/document.js'
import { isPartial, listFiles, readSource } from '../../../pipelines/content/files.js'
import type { Draft } from '../../../pipelines/content/page.js'
import { linesOf, pageOf, placed } from './folder.js'

const CODE =
  '// #region first\nlet one\n// #endregion first\n  // #region second\n  let two\n  // #endregion second\n'
const OTHERS = {
  'code.ts': CODE,
  'main.rs': '// ANCHOR: part\nfn main() {}\n// ANCHOR_END: part\n',
  'lines.txt': 'one\ntwo\nthree\nfour',
  '_part.md':
    '---\ntitle: Not shown\n---\n\nA **part** with a [link](guide/start.md).\n\n## Its heading\n\nMore.\n\n## Another\n\nEnd.\n',
  '_used.mdx': 'Imported <Badge text="text" />.\n',
  'guide/start.md': '# Start\n',
  'snippets/hello.mdx': 'Hello from Mintlify.\n',
}

const markdownOf = (source: string, file = 'page.md') => pageOf(source, file, OTHERS).markdown

describe('a line that includes', () => {
  it.each([
    ['code', '<<< @/lines.txt', '```txt title="lines.txt"\none\ntwo\nthree\nfour\n```'],
    ['a region of code', '<<< ./code.ts#first', '```ts title="code.ts"\nlet one\n```'],
    ['an indented region', '<<< ./code.ts#second', '```ts title="code.ts"\nlet two\n```'],
    [
      'code with marks',
      '<<< @/code.ts#first{1,3-4 js:line-numbers} [Own]',
      '```js title="Own" {1,3-4}\nlet one\n```',
    ],
    ['lines of Markdown', '<!-- @include: ./lines.txt{2,3} -->', '```txt\ntwo\nthree\n```'],
    ['a heading of Markdown', '<!--@include: ./_part.md#another-->', '## Another\n\nEnd.'],
    ['an mdBook file', '{{#include lines.txt:2:3}}', '```txt\ntwo\nthree\n```'],
    ['an mdBook anchor in code', '```rust\n{{#include main.rs:part}}\n```', '```rust\nfn main() {}\n```'],
    [
      'a file beside text',
      'Before\n<!-- @include: ./_used.mdx -->\nafter.',
      'Before\n\nImported text.\n\nafter.',
    ],
  ])('%s shows its text', (_, source, markdown) => {
    expect(markdownOf(source)).toBe(markdown)
  })

  it('Markdown shows it with its sections, and with links of its own folder', () => {
    const page = pageOf('<!-- @include: ../_part.md -->', 'deep/page.md', OTHERS)
    expect(page.markdown).toBe(
      'A **part** with a [link](/guide/start).\n\n## Its heading\n\nMore.\n\n## Another\n\nEnd.',
    )
    expect(page.sections.map(({ id }) => id)).toEqual(['', 'its-heading', 'another'])
    expect(page.title).toBe('Page')
  })

  it.each([
    ['<include>./_used.mdx</include>', 'Imported text.'],
    ['<include lang="ts">./code.ts#first</include>', '```ts\nlet one\n```'],
    ['import Used from "./_used.mdx"\n\nBefore.\n\n<Used name="x" />', 'Before.\n\nImported text.'],
    ['<Snippet file="hello.mdx" />', 'Hello from Mintlify.'],
  ])('%j shows it in MDX', (source, markdown) => {
    expect(markdownOf(source, 'page.mdx')).toBe(markdown)
  })
})

describe('an include', () => {
  const findings = (files: Record<string, string>) => linesOf(placed(files).findings)

  it('of a file that includes itself is refused, directly or through others', () => {
    expect(findings({ 'a.md': 'x\n\n<!-- @include: ./a.md -->' })).toEqual([
      'a.md:3 ./a.md is not included: it includes itself (a.md → a.md)',
    ])
    const files = {
      'a.md': '<!-- @include: ./_b.md -->',
      '_b.md': 'Text.\n\n<!-- @include: ./_c.md -->',
      '_c.md': 'End.\n\n<!-- @include: ./_b.md -->',
    }
    expect(findings(files)).toEqual([
      '_c.md:3 ./_b.md is not included: it includes itself (a.md → _b.md → _c.md → _b.md)',
    ])
    expect(placed(files).pages[0]?.markdown).toBe('Text.\n\nEnd.')
  })

  it('that multiplies is refused above a size', () => {
    const files: Record<string, string> = {
      'page.md': '<!-- @include: ./_0.md -->',
      '_9.md': 'x'.repeat(10_000),
    }
    for (let depth = 0; depth < 9; depth++)
      files[`_${String(depth)}.md`] = `<!-- @include: ./_${String(depth + 1)}.md -->\n\n`.repeat(4)
    expect(findings(files)[0]).toContain('the included texts are larger than 1 MB')
  })

  it('of a file that is missing, malformed or without the region is reported, and the page is served', () => {
    const files = {
      'page.md':
        'Text.\n\n<!-- @include: ./none.md -->\n\n<<< ./code.ts#none\n\n<!-- @include: ./_bad.mdx -->\n\n<!-- @include: ./_part.md#none -->',
      '_bad.mdx': 'one\n\n<Open>',
      ...OTHERS,
    }
    expect(placed(files).pages.find(({ file }) => file === 'page.md')?.markdown).toBe('Text.')
    expect(findings(files)).toEqual([
      'page.md:3 ./none.md is not included: it does not exist',
      'page.md:5 ./code.ts#none is not included: it has no region none',
      expect.stringContaining('page.md:7 ./_bad.mdx is not included: line 3 of _bad.mdx: '),
      'page.md:9 ./_part.md#none is not included: it has no heading or region none',
    ])
  })
})

describe('included files', () => {
  let folder: string
  let outside: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-content-'))
    outside = await mkdtemp(join(tmpdir(), 'headwater-outside-'))
    await writeFile(join(outside, 'secret.txt'), 'a secret')
  })

  afterEach(async () => {
    await rm(folder, { recursive: true })
    await rm(outside, { recursive: true })
  })

  async function draftOf(files: Record<string, string>): Promise<Draft> {
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await writeFile(join(folder, file), text)
    }
    const listed = (await listFiles(folder)).find(({ file }) => file === 'page.md')
    const { text, included } = await readSource(folder, listed!)
    return parseDocument(text, 'page.md', included)
  }

  it('are those of the content folder only, also after symbolic links and without hidden ones', async () => {
    await symlink(outside, join(folder, 'linked'))
    await symlink(join(outside, 'secret.txt'), join(folder, 'link.txt'))
    const paths = [
      `../${outside.split('/').at(-1)!}/secret.txt`,
      `${outside}/secret.txt`,
      'linked/secret.txt',
      'link.txt',
      './.env',
      '@/../secret.txt',
      'node_modules/x.md',
    ]
    const { markdown, findings } = await draftOf({
      '.env': 'KEY=a secret',
      'node_modules/x.md': 'a secret',
      'page.md': `Text.\n\n${paths.map((path) => `<<< ${path}`).join('\n\n')}`,
    })
    expect(markdown).toBe('Text.')
    expect(findings.map(({ message }) => message.replace(/^.* is not included: /, ''))).toEqual([
      'it is outside of the content folder',
      'it does not exist',
      'only files of the content folder can be included',
      'only files of the content folder can be included',
      'only files of the content folder can be included',
      'it is outside of the content folder',
      'only files of the content folder can be included',
    ])
  })

  it('that are too large or not text are reported', async () => {
    await writeFile(join(folder, 'bytes.md'), Buffer.from([0xff, 0xfe]))
    const { findings } = await draftOf({
      'large.txt': 'x'.repeat(2 ** 20 + 1),
      'page.md': '<<< ./large.txt\n\n<<< ./bytes.md',
    })
    expect(linesOf(findings)).toEqual([
      'page.md:1 ./large.txt is not included: it is larger than 1048576 bytes',
      'page.md:3 ./bytes.md is not included: it is not UTF-8',
    ])
  })
})

it('partials are files and folders with an underscore, and shared files', () => {
  const partial = ['_x.mdx', 'guide/_x.md', '_parts/x.md', 'x.shared.mdx']
  const pages = ['x_y.md', 'guide/x.md', 'shared.mdx', 'x.shared/y.md']
  expect(partial.filter((file) => !isPartial(file))).toEqual([])
  expect(pages.filter(isPartial)).toEqual([])
})
