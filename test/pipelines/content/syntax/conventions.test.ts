import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../../../pipelines/content/document.js'
import { renderMarkdown } from '../../../../services/docs/pages/render.js'
import { pageOf } from '../folder.js'

const markdownOf = (source: string, file = 'page.md') => pageOf(source, file).markdown
const htmlOf = (source: string, file = 'page.md') =>
  renderMarkdown(pageOf(source, file)).text.replaceAll('\n', '')

describe('containers', () => {
  it.each([
    ['::: tip\nText.\n:::', '> **Tip**\n>\n> Text.'],
    ['::: warning Mind *this*\nText.\n:::', '> **Warning: Mind *this***\n>\n> Text.'],
    [':::note[A [b](https://b.example) c]\nText.\n:::', '> Note: A [b](https://b.example) c\n>\n> Text.'],
    [':::danger{title="Stop"}\nText.\n:::', '> **Danger: Stop**\n>\n> Text.'],
    ['::: info\n- one\n- two\n:::', '> **Info**\n>\n> - one\n> - two'],
    ['::: details Click me {open}\nText.\n:::', '**Click me**\n\nText.'],
    ['::: raw\nText.\n:::', 'Text.'],
    ['::: other A title\nText.\n:::', '**A title**\n\nText.'],
    [
      ':::: info Outer\nBefore.\n\n::: danger\nInner.\n:::\n\nAfter.\n::::',
      '> **Info: Outer**\n>\n> Before.\n>\n> > **Danger**\n> >\n> > Inner.\n>\n> After.',
    ],
    ['- item\n\n  ::: tip\n  Text.\n  :::', '- item\n\n  > **Tip**\n  >\n  > Text.'],
    ['::: tip\n```sh\n::: no container\n```\n:::', '**Tip**\n\n```sh\n::: no container\n```'],
    ['At 10:30, a:b and std::vec are no containers.', 'At 10:30, a:b and std::vec are no containers.'],
    ['::: tip Array[0] and ]x\nText.\n:::', '> **Tip: Array\\[0] and ]x**\n>\n> Text.'],
  ])('%j become %j, in Markdown and in MDX', (source, markdown) => {
    expect(markdownOf(source)).toBe(markdown)
    expect(markdownOf(source, 'page.mdx')).toBe(markdown)
  })

  it('of code become tabs with the titles of their files', () => {
    const source = '::: code-group\n```js{1} [config.js]\na\n```\n```ts title="config.ts"\nb\n```\n:::'
    expect(markdownOf(source)).toBe('**config.js**\n\n```js {1}\na\n```\n\n**config.ts**\n\n```ts\nb\n```')
    expect(htmlOf(source)).toMatch(
      /<div class="tabs"><input type="radio".*?checked><label.*?>config\.js<\/label><div class="panel"><figure class="code">/,
    )
  })

  it('with headings keep them as sections of the page', () => {
    const page = pageOf('::: tip\n## Inside\n\nText.\n:::\n\n## After', 'page.md')
    expect(page.sections.map(({ id }) => id)).toEqual(['', 'inside', 'after'])
    expect(htmlOf('::: tip\n## Inside\n\nText.\n:::')).toMatch(
      /<div class="callout tip" role="note"><p class="label">Tip<\/p><h2 id="inside">/,
    )
  })

  it('may be longer than the parts in which a text is parsed', () => {
    const long = `::: tip Long\n\n${'Words of a text.\n\n'.repeat(2_500)}:::\n\nAfter.\n`
    const { markdown } = pageOf(long, 'page.md')
    expect(markdown.startsWith('> **Tip: Long**')).toBe(true)
    expect(markdown.endsWith('> Words of a text.\n\nAfter.')).toBe(true)
  })
})

describe('alerts', () => {
  it.each([
    ['> [!NOTE]\n> Text.', '> **Note**\n>\n> Text.'],
    [
      '> [!WARNING] Own title\n> Text *with* more.\n>\n> End.',
      '> **Warning: Own title**\n>\n> Text *with* more.\n>\n> End.',
    ],
    ['> [!tip]-\n> Text.', '> **Tip**\n>\n> Text.'],
    ['> [!CAUTION]\n> ```sh\n> rm\n> ```', '**Caution**\n\n```sh\nrm\n```'],
    ['> [!other] is a quote', '> \\[!other] is a quote'],
    ['> [!NOTE] only a title', '> **Note: only a title**'],
  ])('%j become %j', (source, markdown) => {
    expect(markdownOf(source)).toBe(markdown)
  })
})

describe('headings', () => {
  it.each([
    ['## Title {#own}', 'Title', 'own'],
    ['## `code` \\{#own}', 'code', 'own'],
    ['## Title {/* #own */}', 'Title', 'own'],
    ['## Title {#own .class}', 'Title', 'own'],
    ['Title {#own}\n---', 'Title', 'own'],
    ['- ## Title {#own}', 'Title', 'own'],
    ['## Title {notAnId}', 'Title {notAnId}', 'title-notanid'],
    ['## Feature <Badge type="tip" text="beta" />', 'Feature beta', 'feature'],
    ['## <Badge text="v2" /> Feature', 'v2 Feature', 'feature'],
    ['## Feature <a id="old"></a>', 'Feature', 'feature'],
  ])('%j have the title %j and the id %j', (source, title, id) => {
    const { toc } = pageOf(source, 'page.md')
    expect(toc).toMatchObject([{ title, url: `#${id}` }])
  })

  it('show their badges', () => {
    expect(markdownOf('## Feature <Badge text="beta" />', 'page.mdx')).toBe('## Feature beta [#feature]')
    expect(markdownOf('## Feature <Badge type="warning">beta</Badge>')).toContain('beta')
    expect(htmlOf('Before.\n\n## Feature <Badge text="beta" />')).toContain('<h2 id="feature">Feature beta')
  })

  it('are not looked for in code', () => {
    const code = '```md\n## Title {#own}\n::: tip\n<<< @/file.ts\n```'
    expect(markdownOf(code)).toBe(code)
  })
})

describe('code', () => {
  it.each([
    ['```ts title="a.ts" {1,3}', 'a.ts', [1, 3]],
    ['```ts{2-3} [b.ts]', 'b.ts', [2, 3]],
    ['```ts filename=\'c.ts\' highlight={"2"}', 'c.ts', [2]],
    ['```ts d.ts highlight="1-9999999999"', 'd.ts', [1, 2, 3]],
    ['```ts:line-numbers{1}', undefined, [1]],
    ['```ts showLineNumbers', undefined, []],
  ])('after %s has the title %s and the marked lines %j', (fence, title, marked) => {
    const html = renderMarkdown(pageOf(`${fence}\nlet one\n/* two\nthree */\n\`\`\``, 'page.md')).text
    expect(/<span class="title">(.*?)<\/span>/.exec(html)?.[1]).toBe(title)
    const spans = html.split('<span class="marked">').length - 1
    expect(spans).toBe(marked.length)
    const text = html.replace(/<figcaption>.*?<\/figcaption>/, '').replace(/<[^>]*>/g, '')
    expect(text.trimEnd()).toBe('let one\n/* two\nthree */')
    expect(html).toContain('class="language-ts"')
  })
})

describe('components', () => {
  it('in Markdown, as of VitePress, are those of MDX; other HTML stays', () => {
    const source =
      '<Card title="One" link="/x">\n\nText.\n\n</Card>\n\nA <Badge type="info" text="new" /> word, <b>bold</b>.\n\n<div align="center">\n<Weird/>\n</div>'
    expect(markdownOf(source)).toBe(
      '[One](/x)\n\nText.\n\nA new word, <b>bold</b>.\n\n<div align="center">\n\n</div>',
    )
  })

  it('have a design that needs no script, and the same words in HTML as in Markdown', () => {
    const source = `<CardGroup>
  <Card title="First" href="/one">About one.</Card>
  <Card title="Second">About two.</Card>
</CardGroup>

<Steps>
### Begin

Do it.

### End

Done.
</Steps>

<Accordion title="More">Hidden *text*.</Accordion>

<details>
<summary>Own **summary**</summary>

Inside.
</details>

<Note type="warning">Careful.</Note>`
    const html = htmlOf(source, 'page.mdx')
    expect(html).toContain(
      '<div class="cards"><div class="card"><p class="label"><a href="/one">First</a></p><p>About one.</p></div>',
    )
    expect(html).toMatch(/<ol class="steps"><li><h3 id="begin">Begin.*?<\/li><li><h3 id="end">/)
    expect(html).toContain(
      '<details class="more"><summary>More</summary><p>Hidden <em>text</em>.</p></details>',
    )
    expect(html).toContain('<summary>Own summary</summary><p>Inside.</p>')
    expect(html).toContain(
      '<div class="callout warning" role="note"><p class="label">Warning</p><p>Careful.</p></div>',
    )
    const words = (text: string) => (text.match(/\w+/g) ?? []).sort()
    const shown = html.replace(/<a class="anchor".*?<\/a>/g, '').replace(/<[^>]*>/g, ' ')
    const plain = pageOf(source).markdown.replace(/\]\([^)]*\)/g, ']')
    expect(words(shown)).toEqual(words(plain))
  })

  it('with marks that an author forged are only text', () => {
    const forged = '<!--\uFDD4tabs-->\n\n\uFDD00\uFDD1 \uFDD2s6161\uFDD3\n\n<!--\uFDD4/-->'
    expect(htmlOf(forged)).toBe('<p>0 s6161</p>')
  })
})

describe('the title', () => {
  it.each([
    ['text\n\n### Third level\n\n# First', 'page.md', 'First'],
    ['# `useChat()` <Badge text="new" />', 'page.mdx', 'useChat() new'],
    ['::: tip\n# In a container\n:::', 'page.md', 'In a container'],
    ['## Examples\n\ntext', 'rules/await-thenable.mdx', 'Await thenable'],
    ['text', '01-getting_started.md', 'Getting started'],
    ['text', '(group)/02-first-steps.mdx', 'First steps'],
    ['text', 'guide/index.md', 'Guide'],
  ])('of %j in %s is %j', (source, file, title) => {
    expect(pageOf(source, file).title).toBe(title)
  })

  it('is shown once', () => {
    expect(htmlOf('# Only heading\n\nText.')).toBe('<p>Text.</p>')
    expect(htmlOf('Before.\n\n## Later heading\n\nText.')).toContain('<h2 id="later-heading">')
  })
})

describe('MDX', () => {
  it('may have HTML comments, as in Docusaurus', () => {
    expect(markdownOf('one\n\n<!-- two\nlines -->\n\nthree', 'page.mdx')).toBe('one\n\nthree')
    expect(() => parseDocument('one <!-- {x\n\n<Open>', 'page.mdx')).toThrow()
  })
})
