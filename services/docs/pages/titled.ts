import type { Page } from '../../../pipelines/content/page.js'

/**
 * Returns whether the first heading of a page is its title, which the layout shows, so that the body leaves it out: one of level 1,
 * or one of any level with which the page begins.
 */
export function isTitled({ title, toc, markdown }: Pick<Page, 'title' | 'toc' | 'markdown'>): boolean {
  const [first] = toc
  return first?.title === title && (first.depth === 1 || markdown.startsWith('#'))
}
