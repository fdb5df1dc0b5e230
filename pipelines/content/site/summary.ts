import { posix } from 'node:path'
import type { List, Paragraph, RootContent } from 'mdast'
import { toString } from 'mdast-util-to-string'
import { parseMarkdown } from '../syntax/markdown.js'

/** A chapter of a book, as of mdBook and GitBook. */
export interface Chapter {
  readonly title: string
  /** Path of its file, relative to the content folder; undefined for a chapter that is not written yet. */
  readonly file: string | undefined
  readonly chapters: readonly Chapter[]
}

/** The chapters of a book, in order. */
export interface Summary {
  /** Path of the folder that the chapters are relative to; empty for the root. */
  readonly folder: string
  readonly chapters: readonly Chapter[]
}

/** Returns the chapters that a `SUMMARY.md` lists: links in lists, and links alone before and after them. */
export function summaryOf(text: string, folder: string): Summary {
  const { children } = parseMarkdown(text)
  return { folder, chapters: children.flatMap((node) => chaptersOf(node, folder)) }
}

function chaptersOf(node: RootContent, folder: string): Chapter[] {
  if (node.type === 'list') return listed(node, folder)
  return node.type === 'paragraph' ? node.children.flatMap((child) => chapterOf(child, folder) ?? []) : []
}

function listed(list: List, folder: string): Chapter[] {
  return list.children.flatMap(({ children }): Chapter[] => {
    const line = children.find((child): child is Paragraph => child.type === 'paragraph')
    const link = line?.children.flatMap((child) => chapterOf(child, folder) ?? [])[0]
    const chapters = children.flatMap((child) => (child.type === 'list' ? listed(child, folder) : []))
    const title = line === undefined ? '' : toString(line).trim()
    if (link !== undefined) return [{ ...link, chapters }]
    return title === '' ? chapters : [{ title, file: undefined, chapters }]
  })
}

function chapterOf(node: RootContent, folder: string): Chapter | undefined {
  if (node.type !== 'link') return undefined
  const [path = ''] = node.url.split(/[?#]/)
  const isFile = /\.mdx?$/.test(path) && !/^[a-z][a-z\d+.-]*:/i.test(path)
  const file = isFile ? posix.join(folder, decoded(path)).replace(/^\/+/, '') : undefined
  return { title: toString(node).replace(/\s+/g, ' ').trim(), file, chapters: [] }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
