import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../../../../pipelines/content/document.js'
import { renderMarkdown } from '../../../../../services/docs/pages/render.js'
import { linesOf, pageOf } from '../../folder.js'

const markdownOf = (source: string, file = 'page.md') => pageOf(source, file).markdown
const htmlOf = (source: string) => renderMarkdown(pageOf(source, 'page.md')).text.replaceAll('\n', '')

describe('admonitions of MkDocs', () => {
  it.each([
    ['!!! note\n    Text.\n\n    More.\n\nAfter.', '> **Note**\n>\n> Text.\n>\n> More.\n\nAfter.'],
    ['!!! warning "Mind *this*"\n    Text.', '> **Warning: Mind *this***\n>\n> Text.'],
    ['??? tip "Closed"\n    Text.', '> **Tip: Closed**\n>\n> Text.'],
    ['???+ quote\n    Text.', '> **Note: Quote**\n>\n> Text.'],
    ['!!! info inline end "Beside"\n    Text.', '> **Info: Beside**\n>\n> Text.'],
    ['!!! note ""\n    Text.', '> **Note**\n>\n> Text.'],
    ['!!! note\n\n    ```sh\n    ls\n      -l\n    ```', '**Note**\n\n```sh\nls\n  -l\n```'],
    [
      '!!! note\n    Outer.\n\n    !!! danger\n        Inner.\n\n    End.',
      '> **Note**\n>\n> Outer.\n>\n> > **Danger**\n> >\n> > Inner.\n>\n> End.',
    ],
    ['- item\n\n    !!! tip\n        Text.', '- item\n\n  > **Tip**\n  >\n  > Text.'],
    ['```\n!!! note\n    Text.\n```', '```\n!!! note\n    Text.\n```'],
    ['Stop!!! note this\n    line', 'Stop!!! note this\nline'],
    ['!!! note that this is no admonition, is it?', '!!! note that this is no admonition, is it?'],
  ])('%j become callouts', (source, markdown) => {
    expect(markdownOf(source)).toBe(markdown)
  })

  it('and tabs have their design', () => {
    const source =
      '=== "npm"\n\n    ```sh\n    npm i\n    ```\n\n=== "pnpm"\n\n    Text.\n\nAfter.\n\n=== "alone"\n    x'
    expect(markdownOf(source)).toBe(
      '**npm**\n\n```sh\nnpm i\n```\n\n**pnpm**\n\nText.\n\nAfter.\n\n**alone**\n\nx',
    )
    expect(htmlOf(source).match(/<div class="tabs">/g)).toHaveLength(2)
    expect(htmlOf(source).match(/<input type="radio"/g)).toHaveLength(3)
    expect(htmlOf('!!! danger "No"\n    x')).toContain('<div class="callout caution" role="note">')
  })

  it('keep the lines of what follows', () => {
    const source =
      '!!! note\n    [a](./none.md)\n\n{% hint style="info" %}\n[b](./none.md)\n{% endhint %}\n\n[c](./none.md)'
    expect(linesOf(pageFindings(source))).toEqual([
      'page.md:2 ./none.md leads to no page',
      'page.md:5 ./none.md leads to no page',
      'page.md:8 ./none.md leads to no page',
    ])
  })
})

const pageFindings = (source: string) => {
  const { links, findings } = parseDocument(source, 'page.md')
  const broken = links.map(
    ({ file, line, url }) => ({ kind: 'link', file, line, message: `${url} leads to no page` }) as const,
  )
  return [...findings, ...broken]
}

describe('the tags of GitBook and Hugo', () => {
  it.each([
    ['{% hint style="info" %}\nText.\n{% endhint %}', '> **Info**\n>\n> Text.'],
    ['{% hint style="danger" %}\nText.\n{% endhint %}', '> **Danger**\n>\n> Text.'],
    ['{{< hint warning >}}\nText.\n{{< /hint >}}', '> **Warning**\n>\n> Text.'],
    ['{{% alert title="Stop" color="warning" %}}\nText.\n{{% /alert %}}', '> **Warning: Stop**\n>\n> Text.'],
    ['{{< callout type="primary" >}}\nText.\n{{< /callout >}}', '> **Note**\n>\n> Text.'],
    ['{{% notice tip "A \\"title\\"" %}}\nText.\n{{% /notice %}}', '> **Tip: A "title"**\n>\n> Text.'],
    ['{{< note >}}\nText.\n{{< /note >}}', '> **Note**\n>\n> Text.'],
    ['{{% details title="More [x]" %}}\nText.\n{{% /details %}}', '**More \\[x]**\n\nText.'],
    [
      '{% tabs %}\n{% tab title="One" %}\n{% hint style="info" %}\nText.\n{% endhint %}\n{% endtab %}\n{% tab title="Two" %}\nMore.\n{% endtab %}\n{% endtabs %}',
      '**One**\n\n> **Info**\n>\n> Text.\n\n**Two**\n\nMore.',
    ],
    ['{% code title="a.ts" %}\n```ts\nx\n```\n{% endcode %}', '```ts\nx\n```'],
    ['{% embed url="https://video.example/x" %}', '<https://video.example/x>'],
    ['{% content-ref url="a.md" %}\n[a](https://a.example)\n{% endcontent-ref %}', '[a](https://a.example)'],
    ['[a]({{< relref "https://a.example" >}})', '[a](https://a.example)'],
    ['```\n{% hint style="info" %}\n{{< note >}}\n```', '```\n{% hint style="info" %}\n{{< note >}}\n```'],
    ['{% hint style="info" %}\nnever closed', '{% hint style="info" %}\nnever closed'],
    ['{% endhint %}\ntext', '{% endhint %}\ntext'],
    ['{% unknown %}\ntext\n{% endunknown %}', '{% unknown %}\ntext\n{% endunknown %}'],
  ])('%j become plain Markdown', (source, markdown) => {
    expect(markdownOf(source)).toBe(markdown)
  })
})

describe('components without text', () => {
  it.each([
    ['<Comments />\n\ntext', 'text'],
    ['before <Thumbs id="x" /> after', 'before  after'],
    ['<Ui.ProductList limit={3} />', ''],
    [
      '| a |\n|---|\n| <Check /> |\n| <Cross size={2} /> |\n| <Beta /> |',
      '| a |\n| - |\n| Check |\n| Cross |\n| Beta |',
    ],
    ['<Card title="Shown" />', '**Shown**'],
  ])('leave no stray word, but marks are read: %j', (source, markdown) => {
    expect(markdownOf(source, 'page.mdx')).toBe(markdown)
  })
})

describe('imports from the folder of the site', () => {
  const source =
    "import Part from '@site/docs/_part.mdx'\nimport Other from '@site/other/_other.md'\n\n<Part />\n\n<Other />"

  it('are included from the content folder, whatever its name in the site', () => {
    const files = { '_part.mdx': 'The part.', 'other/_other.md': 'The other.' }
    expect(pageOf(source, 'guide/a.mdx', files).markdown).toBe('The part.\n\nThe other.')
  })

  it('are reported if there is no such file', () => {
    const { findings } = parseDocument(source, 'a.mdx', [])
    expect(findings.filter(({ kind }) => kind === 'include')).toHaveLength(2)
  })
})
