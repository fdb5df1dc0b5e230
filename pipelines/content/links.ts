import type { Root } from 'mdast'
import { posix } from 'node:path'
import { visit } from 'unist-util-visit'

/** Returns the URL of a page, with percent-encoded segments. */
export const urlOf = (segments: readonly string[]): string => `/${segments.map(encodeURIComponent).join('/')}`

const OUTSIDE = /^(?:[a-z][a-z\d+.-]*:|\/|#|\?|$)/i
const PAGE = /\.mdx?$/

/**
 * Replaces links between files of the content, as editors and repositories follow them (`../guide/start.md#first`), by links
 * between their pages (`/guide/start#first`), in place. Links that leave the folder or do not lead to a page are not changed.
 * @param file path of the page's own file, relative to the content folder.
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

/** Returns the URL segments of a file's page: its path without the extension. `index` is the page of its folder. */
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
