import { pino } from 'pino'
import { expect, it } from 'vitest'
import type { Page } from '../../../../pipelines/content/page.js'
import { Bodies } from '../../../../services/docs/pages/bodies.js'

it('a page that is too large to be rendered is shown as Markdown, and the next one is rendered', async () => {
  let said = ''
  const bodies = new Bodies(pino({}, { write: (line: string) => void (said += line) }))
  const page = (hash: string, markdown: string) =>
    bodies.of({ hash, file: `${hash}.md`, markdown, title: 'x', toc: [] } as Partial<Page> as Page)
  const large = '*a '.repeat(340_000)
  const [stars, words] = await Promise.all([page('stars', `<b>${large}`), page('words', 'Some *words*.')])
  expect(stars.text).toBe(`<pre tabindex="0">&lt;b&gt;${large}</pre>`)
  expect(said).toContain('"file":"stars.md","msg":"shown as plain Markdown')
  expect(words.text).toBe('<p>Some <em>words</em>.</p>')
  bodies.close()
})
