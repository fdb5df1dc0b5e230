import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's own documentation. */
export const CONTENT = fileURLToPath(new URL('../../content', import.meta.url))

export interface ContentFile {
  /** The path relative to the content folder. */
  readonly file: string
  /** The page's slug: the path without its extension; `index` is the page of its folder. */
  readonly url: string
  readonly source: string
}

/** Returns every page, in the order of the files. */
export function readPages(folder = CONTENT): ContentFile[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return readPages(path)
      if (!/\.mdx?$/.test(entry.name)) return []
      const file = relative(CONTENT, path)
      const url = `/${file.replace(/\.mdx?$/, '').replace(/(^|\/)index$/, '')}`
      return [{ file, url, source: readFileSync(path, 'utf8') }]
    })
    .sort((one, other) => (one.file < other.file ? -1 : 1))
}

/** Returns a page's Markdown without its code blocks, which contain neither headings nor links. */
export const proseOf = (source: string): string => source.replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
