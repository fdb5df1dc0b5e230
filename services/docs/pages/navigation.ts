import type { Page } from '../../../pipelines/content/page.js'
import { readable } from '../../../pipelines/content/tree.js'
import { html, type Html } from '../../design/html.js'

interface Folder {
  readonly name: string
  page: Page | undefined
  readonly children: Map<string, Folder>
}

/** Returns all pages as nested lists. Only folders that contain the current page are open. */
export function navigation(pages: readonly Page[], current: Page | undefined): Html {
  const root: Folder = { name: '', page: undefined, children: new Map() }
  for (const page of pages) place(root, page)
  return html`<ul>
    ${root.page === undefined ? undefined : entry(root.page, current)}${items(root, current)}
  </ul>`
}

function place(root: Folder, page: Page): void {
  let folder = root
  for (const name of page.slug === '' ? [] : page.slug.split('/')) {
    const child = folder.children.get(name) ?? { name, page: undefined, children: new Map<string, Folder>() }
    folder.children.set(name, child)
    folder = child
  }
  folder.page = page
}

function items({ children }: Folder, current: Page | undefined): readonly Html[] {
  return [...children.values()].map((folder) => {
    const { name, page } = folder
    if (folder.children.size === 0) return page === undefined ? html`` : entry(page, current)
    const isOpen = around(folder, current)
    const title = page?.title ?? readable(name)
    return html`<li><details${isOpen ? html` open` : undefined}><summary>${title}</summary>
<ul>${page === undefined ? undefined : entry(page, current, 'Overview')}${items(folder, current)}</ul></details></li>`
  })
}

function entry(page: Page, current: Page | undefined, title = page.title): Html {
  return html`<li>
    <a href="${page.url}" ${page.url === current?.url ? html` aria-current="page"` : undefined}>${title}</a>
  </li>`
}

function around({ page, children }: Folder, current: Page | undefined): boolean {
  if (current === undefined) return false
  return page?.url === current.url || [...children.values()].some((child) => around(child, current))
}
