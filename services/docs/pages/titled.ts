import type { Page } from '../../../pipelines/content/page.js'

/** Returns whether the first heading of a page is its title, which the layout shows, so that the body leaves it out. */
export function isTitled({ title, toc }: Pick<Page, 'title' | 'toc'>): boolean {
  const [first] = toc
  return first?.depth === 1 && first.title === title
}
