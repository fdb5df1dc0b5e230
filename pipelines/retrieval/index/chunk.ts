import { createHash } from 'node:crypto'
import type { Page, Section } from '../../content/page.js'
import { blocks } from './markdown.js'

/** The version of chunking, to be increased when a page results in other chunks or other embedded texts than before. */
export const CHUNKING_VERSION = 3

/** The maximum length of a chunk, in characters: with its headings about 256 word pieces, the limit of the model. */
const MAX_CHARACTERS = 1000
/** The maximum length with a code block, which stays with the paragraph that introduces it. Longer code is split. */
const MAX_WITH_CODE = 1600

/** A passage of a page, which is ranked, embedded and quoted as a whole. */
export interface Chunk {
  /** Stable identifier: it changes only with page, section or text. */
  readonly id: string
  readonly headingId: string
  /** The headings above it, outermost first, without the page's title. */
  readonly path: readonly string[]
  readonly markdown: string
  /** The titles above it, joined; empty if there are none. */
  readonly heading: string
  /** The text that is embedded: the titles above it, and its Markdown. */
  readonly text: string
  /** Hash of `text`. */
  readonly hash: string
  /** True if it is the description of the page. It helps to find the page, but is no answer: the page has the text. */
  readonly isDescription: boolean
}

/** Returns the chunks of a page, in order. A page without text has one chunk of its title and description. */
export function chunksOf(page: Page): Chunk[] {
  const chunks: Chunk[] = []
  const counts = new Map<string, number>()
  for (const section of described(page)) {
    for (const markdown of parts(section)) {
      const heading = headingOf(page, section.path)
      const text = embedded(heading, markdown)
      const key = `${page.url}\n${section.id}\n${text}`
      const copy = counts.get(key) ?? 0
      counts.set(key, copy + 1)
      const id = digest(`${key}\n${String(copy)}`).slice(0, 20)
      const { id: headingId, path, isDescription = false } = section
      chunks.push({ id, headingId, path, markdown, heading, text, hash: digest(text), isDescription })
    }
  }
  if (chunks.length > 0) return chunks
  const [heading, markdown] = [headingOf(page, []), page.description ?? '']
  const text = embedded(heading, markdown)
  const id = digest(`${page.url}\n\n${text}`).slice(0, 20)
  const hash = digest(text)
  return [{ id, headingId: '', path: [], markdown, heading, text, hash, isDescription: false }]
}

/** Returns the sections of a page, before which its description stands above the first heading. */
function described({ description, sections }: Page): readonly (Section & { isDescription?: boolean })[] {
  if (description === null || sections.length === 0) return sections
  return [{ id: '', path: [], markdown: description, isDescription: true }, ...sections]
}

/** Packs the blocks of a section into as few parts as possible. A heading without text is a part too, so that it can be found. */
function parts({ markdown, path }: Section): string[] {
  const texts: string[] = []
  let part = ''
  for (const { text, code } of blocks(markdown).flatMap(split)) {
    const joined = part === '' ? text : `${part}\n\n${text}`
    if (part !== '' && joined.length > (code ? MAX_WITH_CODE : MAX_CHARACTERS)) {
      texts.push(part)
      part = text
    } else part = joined
  }
  if (part !== '' || (texts.length === 0 && path.length > 0)) texts.push(part)
  return texts
}

interface Block {
  readonly text: string
  readonly code: boolean
}

/** Splits a block that is too large between lines, or between words if a line is too long. Each piece of code keeps its fences. */
function split({ text, code }: Block): Block[] {
  const most = code ? MAX_WITH_CODE : MAX_CHARACTERS
  if (text.length <= most) return [{ text, code }]
  const lines = text.split('\n')
  const fence = code ? (lines.shift() ?? '') : ''
  const close = /^\s*(`{3,}|~{3,})/.exec(fence)?.[1] ?? ''
  if (close !== '' && lines.at(-1)?.trim().startsWith(close) === true) lines.pop()
  const pieces: string[] = []
  let piece = ''
  for (const line of lines.flatMap((each) => wrap(each, most))) {
    if (piece !== '' && piece.length + line.length >= most) {
      pieces.push(piece)
      piece = line
    } else piece = piece === '' ? line : `${piece}\n${line}`
  }
  if (piece !== '') pieces.push(piece)
  return pieces.map((each) => ({ text: close === '' ? each : `${fence}\n${each}\n${close}`, code }))
}

/** Splits a line after a sentence if one ends in its second half, otherwise between words, otherwise anywhere. */
function wrap(line: string, most: number): string[] {
  const parts: string[] = []
  let rest = line
  while (rest.length > most) {
    const head = rest.slice(0, most)
    const sentence = Math.max(head.lastIndexOf('. '), head.lastIndexOf('? '), head.lastIndexOf('! ')) + 1
    const space = head.lastIndexOf(' ')
    const at = sentence > most / 2 ? sentence : space > 0 ? space : most
    parts.push(rest.slice(0, at).trimEnd())
    rest = rest.slice(at).trimStart()
  }
  if (rest !== '' || parts.length === 0) parts.push(rest)
  return parts
}

const headingOf = ({ title }: Page, path: readonly string[]): string =>
  [title, ...path].filter((each) => each !== '').join(' > ')

const embedded = (heading: string, markdown: string): string =>
  heading === '' ? markdown : `${heading}\n${markdown}`

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
