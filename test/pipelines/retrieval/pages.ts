import { createHash } from 'node:crypto'
import type { Page, Section } from '../../../pipelines/content/page.js'

type Said = Partial<Page> & {
  readonly text?: string
  readonly parts?: readonly (readonly [heading: string, markdown: string])[]
}

/** A page as the content pipeline returns it: `text` before the first heading, `parts` under one heading each. */
export function pageOf(url: string, { text = '', parts = [], ...said }: Said = {}): Page {
  const sections: Section[] = [
    ...(text === '' ? [] : [{ id: '', path: [], markdown: text }]),
    ...parts.map(([heading, markdown]) => ({
      id: heading.toLowerCase().replaceAll(' ', '-'),
      path: [heading],
      markdown,
    })),
  ]
  const title = said.title ?? url.slice(1)
  const markdown = sections
    .map(({ path, markdown }) => `${path.map((each) => `## ${each}\n\n`).join('')}${markdown}`)
    .join('\n\n')
  const made = {
    slug: url.slice(1),
    file: `${url.slice(1)}.md`,
    toc: [],
    structuredData: { headings: [], contents: [] },
  }
  const page = {
    ...made,
    url,
    title,
    label: title,
    place: [url.slice(1)],
    lang: undefined,
    translations: [],
    isUnlisted: false,
    isInNavigation: true,
    isInSearch: true,
    description: null,
    tags: [],
    breadcrumbs: [],
    markdown,
    sections,
    ...said,
  }
  return { ...page, hash: createHash('sha256').update(JSON.stringify(page)).digest('hex') }
}
