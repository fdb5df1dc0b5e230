import type { Page } from '../../../pipelines/content/page.js'

/** Whether a page's first heading is its title: shown by the layout, and not again where it stands. */
export function isTitled({ title, toc }: Pick<Page, 'title' | 'toc'>): boolean {
  const [first] = toc
  return first?.depth === 1 && first.title === title
}
