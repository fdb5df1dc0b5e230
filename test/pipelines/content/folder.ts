import { isPartial } from '../../../pipelines/content/files.js'
import { includePaths } from '../../../pipelines/content/includes.js'
import { parseDocument } from '../../../pipelines/content/document.js'
import type { Finding, Page } from '../../../pipelines/content/page.js'
import { isOrderFile, orderingOf } from '../../../pipelines/content/site/order-file.js'
import { placePages, type PlacedPages } from '../../../pipelines/content/tree.js'

/** The pages of files that are only texts: what `Content` makes of a folder, without the folder. */
export function placed(
  files: Readonly<Record<string, string>>,
  languages: readonly string[] = [],
): PlacedPages {
  const isPage = (file: string) => /\.mdx?$/.test(file) && !isPartial(file) && !isOrderFile(file)
  const orderings = Object.entries(files)
    .filter(([file]) => isOrderFile(file))
    .map(([file, text]) => orderingOf(file, text))
  const drafted = Object.entries(files)
    .filter(([file]) => isPage(file))
    .map(([file, source]) => {
      const waiting = includePaths(source, file)
      const included = new Map<string, { path: string; text?: string; error?: string }>()
      for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
        if (included.has(path)) continue
        const text = files[path]
        included.set(path, text === undefined ? { path, error: 'it does not exist' } : { path, text })
        if (text !== undefined) waiting.push(...includePaths(text, path))
      }
      return { file, draft: parseDocument(source, file, [...included.values()]) }
    })
  return placePages(drafted, { orderings, languages })
}

/** The page of one text, which may include the other files. */
export function pageOf(
  source: string,
  file = 'page.mdx',
  others: Readonly<Record<string, string>> = {},
): Page {
  const page = placed({ [file]: source, ...others }).pages.find((each) => each.file === file)
  if (page === undefined) throw new Error(`no page of ${file}`)
  return page
}

/** Returns findings as `file:line message`. */
export const linesOf = (findings: readonly Finding[]): string[] =>
  findings.map(({ file, line, message }) => `${file}:${String(line)} ${message}`)
