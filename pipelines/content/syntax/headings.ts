import GithubSlugger from 'github-slugger'
import type { Heading, Root } from 'mdast'
import { toString } from 'mdast-util-to-string'
import { visit } from 'unist-util-visit'

declare module 'mdast' {
  interface HeadingData {
    /** The id, if it differs from the id that github-slugger generates from the titles in order. */
    ownId?: string
    /** The id that its author wrote. */
    writtenId?: string
    hProperties?: { id?: string }
  }

  interface TextData {
    /** True for a badge, which does not belong to the id of a heading. */
    isBadge?: boolean
  }
}

const CUSTOM = /\s*\[#([^\]\s]+)\]\s*$/

/**
 * Sets the id of every heading once, so that the toc, the structured data, the Markdown and the HTML agree: the id of
 * `## Title [#id]`, otherwise the id of github-slugger. Ids are unique on a page: written ids are assigned first, then generated
 * ids in order.
 */
export function setHeadingIds(root: Root): void {
  const headings: { heading: Heading; writtenId: string | undefined }[] = []
  visit(root, 'heading', (heading) => {
    oneLine(heading)
    headings.push({ heading, writtenId: takeWritten(heading) })
  })
  const ids = new Set<string>()
  for (const each of headings) {
    if (each.writtenId === undefined || ids.has(each.writtenId)) each.writtenId = undefined
    else ids.add(each.writtenId)
  }
  const slugger = new GithubSlugger()
  const readers = new GithubSlugger()
  for (const { heading, writtenId } of headings) {
    const text = slugged(heading)
    const id = writtenId ?? freeSlug(slugger, text, ids)
    const expected =
      writtenId === undefined ? readers.slug(toString(heading, { includeHtml: false })) : undefined
    heading.data = { ...heading.data, hProperties: { id }, ...(id === expected ? {} : { ownId: id }) }
  }
}

/** Returns the text from which the id of a heading is made. */
const slugged = (heading: Heading): string =>
  heading.children
    .filter((node) => node.type !== 'text' || node.data?.isBadge !== true)
    .map((node) => toString(node, { includeHtml: false }))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()

export const headingId = (heading: Heading): string => heading.data?.hProperties?.id ?? ''

function freeSlug(slugger: GithubSlugger, text: string, ids: Set<string>): string {
  // The slug of a title that consists of punctuation is empty.
  const base = new GithubSlugger().slug(text) === '' ? 'section' : text
  let id = slugger.slug(base)
  while (ids.has(id)) id = slugger.slug(base)
  ids.add(id)
  return id
}

/** Removes a written id from the end of a heading, and returns it. */
function takeWritten(heading: Heading): string | undefined {
  const last = heading.children.at(-1)
  const match = last?.type === 'text' ? CUSTOM.exec(last.value) : null
  if (last?.type !== 'text' || match === null) return heading.data?.writtenId
  last.value = last.value.slice(0, match.index)
  if (last.value === '') heading.children.pop()
  const [, writtenId = ''] = match
  heading.data = { ...heading.data, writtenId }
  return writtenId
}

/** Joins the lines of a heading, which is one line of Markdown. */
function oneLine(heading: Heading): void {
  visit(heading, 'text', (text) => {
    text.value = text.value.replace(/\s*\n\s*/g, ' ')
  })
  visit(heading, 'break', (_, index, parent) => {
    if (parent !== undefined && index !== undefined) parent.children[index] = { type: 'text', value: ' ' }
  })
}
