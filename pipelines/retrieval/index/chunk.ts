import { createHash } from 'node:crypto'
import type { Page, Section } from '../../content/page.js'
import { blocks } from './markdown.js'

/** Changes with what the same page gives: chunks and what is embedded of them. */
export const CHUNKING_VERSION = 1

/** Characters: with the headings above it about 256 word pieces, which is as far as the model reads. */
const MOST_CHARACTERS = 1000
/** A code block stays with the paragraph that introduces it up to this size, and is parted beyond it. */
const MOST_WITH_CODE = 1600

/** A passage of a page: what is ranked, embedded and quoted. */
export interface Chunk {
  /** Names it as long as its page, place and text are the same. */
  readonly id: string
  readonly headingId: string
  /** Headings above it, outermost first, without the page's title. */
  readonly path: readonly string[]
  readonly markdown: string
  /** What is embedded: the titles above it and its text. */
  readonly text: string
  /** Of `text`. */
  readonly hash: string
}

/** The chunks of a page, in its order; a page without text has one of its title. */
export function chunksOf(page: Page): Chunk[] {
  const made: Chunk[] = []
  const seen = new Map<string, number>()
  for (const section of page.sections) {
    for (const markdown of parts(section)) {
      const text = embedded(page, section.path, markdown)
      const key = `${page.url}\n${section.id}\n${text}`
      const copy = seen.get(key) ?? 0
      seen.set(key, copy + 1)
      const id = digest(`${key}\n${String(copy)}`).slice(0, 20)
      const { id: headingId, path } = section
      made.push({ id, headingId, path, markdown, text, hash: digest(text) })
    }
  }
  if (made.length > 0) return made
  const text = embedded(page, [], page.description ?? '')
  const id = digest(`${page.url}\n\n${text}`).slice(0, 20)
  return [{ id, headingId: '', path: [], markdown: page.description ?? '', text, hash: digest(text) }]
}

/** Packs a section's blocks into as few parts as fit; a heading alone still is one, for it may be asked for. */
function parts({ markdown, path }: Section): string[] {
  const made: string[] = []
  let part = ''
  for (const { text, code } of blocks(markdown).flatMap(split)) {
    const joined = part === '' ? text : `${part}\n\n${text}`
    if (part !== '' && joined.length > (code ? MOST_WITH_CODE : MOST_CHARACTERS)) {
      made.push(part)
      part = text
    } else part = joined
  }
  if (part !== '' || (made.length === 0 && path.length > 0)) made.push(part)
  return made
}

interface Block {
  readonly text: string
  readonly code: boolean
}

/** A block too large is cut between lines, or where a line is too long, between words; pieces of code keep their fences. */
function split({ text, code }: Block): Block[] {
  const most = code ? MOST_WITH_CODE : MOST_CHARACTERS
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

/** Cuts a line after a sentence where there is an end of one in its second half, else between words, else anywhere. */
function wrap(line: string, most: number): string[] {
  const made: string[] = []
  let rest = line
  while (rest.length > most) {
    const head = rest.slice(0, most)
    const sentence = Math.max(head.lastIndexOf('. '), head.lastIndexOf('? '), head.lastIndexOf('! ')) + 1
    const space = head.lastIndexOf(' ')
    const at = sentence > most / 2 ? sentence : space > 0 ? space : most
    made.push(rest.slice(0, at).trimEnd())
    rest = rest.slice(at).trimStart()
  }
  if (rest !== '' || made.length === 0) made.push(rest)
  return made
}

function embedded({ title }: Page, path: readonly string[], markdown: string): string {
  const heading = [title, ...path].filter((each) => each !== '').join(' > ')
  return heading === '' ? markdown : `${heading}\n${markdown}`
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
