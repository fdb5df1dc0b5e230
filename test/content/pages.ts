import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's own documentation. */
export const CONTENT = fileURLToPath(new URL('../../content', import.meta.url))

export interface ContentFile {
  /** Relative to the folder of the content. */
  readonly file: string
  /** Of its page: the file without its ending; `index` is its folder. */
  readonly url: string
  readonly source: string
}

/** Every page, in the order of their files. */
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

/** A page's Markdown without its blocks of code, which hold neither headings nor links. */
export const proseOf = (source: string): string => source.replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
