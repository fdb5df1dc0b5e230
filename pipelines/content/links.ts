import type { Root } from 'mdast'
import { posix } from 'node:path'
import { visit } from 'unist-util-visit'

/** The URL of a page, its segments percent-encoded. */
export const urlOf = (segments: readonly string[]): string => `/${segments.map(encodeURIComponent).join('/')}`

const OUTSIDE = /^(?:[a-z][a-z\d+.-]*:|\/|#|\?|$)/i
const PAGE = /\.mdx?$/

/**
 * Turns links to other files of the content, as an editor or a repository follows them (`../guide/start.md#first`), into those
 * of their pages (`/guide/start#first`), in place. Links out of the folder and to anything but pages stay.
 * @param file the page's own, relative to the folder.
 */
export function resolveLinks(root: Root, file: string): void {
  visit(root, (node) => {
    if (node.type === 'link' || node.type === 'definition') node.url = resolved(node.url, file)
  })
}

function resolved(url: string, file: string): string {
  if (OUTSIDE.test(url)) return url
  const [, target = '', rest = ''] = /^([^?#]*)(.*)$/s.exec(url) ?? []
  const path = posix.join(posix.dirname(file), decode(target))
  if (!PAGE.test(path) || path.startsWith('../')) return url
  return urlOf(segmentsOf(path)) + rest
}

/** Where a file's page is: its path without the ending; `index` is its folder. */
export function segmentsOf(file: string): readonly string[] {
  const segments = file.replace(PAGE, '').split('/')
  return segments.at(-1) === 'index' ? segments.slice(0, -1) : segments
}

function decode(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}
