import type { Page } from '../../../pipelines/content/page.js'
import { html, type Html } from '../../design/html.js'

interface Folder {
  /** The name that readers see. */
  readonly label: string
  page: Page | undefined
  readonly children: Map<string, Folder>
}

/**
 * Returns the pages of a language as nested lists, without pages that lists leave out. Only folders that contain the current page are
 * open.
 */
export function navigation(pages: readonly Page[], current: Page | undefined): Html {
  const root: Folder = { label: '', page: undefined, children: new Map() }
  for (const page of pages) if (page.isInNavigation) place(root, page)
  return html`<ul>
    ${root.page === undefined ? undefined : entry(root.page, current)}${items(root, current)}
  </ul>`
}

function place(root: Folder, page: Page): void {
  let folder = root
  for (const [depth, name] of page.place.entries()) {
    const label = page.breadcrumbs[depth] ?? page.label
    const child = folder.children.get(name) ?? { label, page: undefined, children: new Map<string, Folder>() }
    folder.children.set(name, child)
    folder = child
  }
  folder.page = page
}

function items({ children }: Folder, current: Page | undefined): readonly Html[] {
  return [...children.values()].map((folder) => {
    const { label, page } = folder
    if (folder.children.size === 0) return page === undefined ? html`` : entry(page, current)
    const isOpen = around(folder, current)
    return html`<li><details${isOpen ? html` open` : undefined}><summary>${page?.label ?? label}</summary>
<ul>${page === undefined ? undefined : entry(page, current, 'Overview')}${items(folder, current)}</ul></details></li>`
  })
}

function entry(page: Page, current: Page | undefined, title = page.label): Html {
  return html`<li>
    <a href="${page.url}" ${page.url === current?.url ? html` aria-current="page"` : undefined}>${title}</a>
  </li>`
}

function around({ page, children }: Folder, current: Page | undefined): boolean {
  if (current === undefined) return false
  return page?.url === current.url || [...children.values()].some((child) => around(child, current))
}
