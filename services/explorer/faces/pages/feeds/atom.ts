import { createHash } from 'node:crypto'
// Under another name, because HTML would be formatted: the spaces of a text of XML count.
import { html as xml } from '../../../../design/html.js'

/** Something that happened on the chain. */
export interface Entry {
  /** Words that name the entry among all of all chains, such as the hash of a block, and never change. */
  readonly of: readonly string[]
  readonly title: string
  readonly summary: string
  /** ISO 8601. */
  readonly updated: string
  /** The URL of its page. */
  readonly url: string
}

export interface Feed {
  /** Words that name the feed among all of all chains, and never change. */
  readonly of: readonly string[]
  readonly language: string
  readonly title: string
  readonly author: string
  /** The URL of the page that has the same entries, and of the feed itself. */
  readonly page: string
  readonly self: string
  /** The time of a feed without entries: ISO 8601. */
  readonly since: string
  readonly entries: readonly Entry[]
}

/** Returns a feed as a document of Atom (RFC 4287). Its URLs may be relative to its own. */
export function atom(feed: Feed): string {
  const { language, title, author, page, self, since, entries } = feed
  // Times of blocks are not in the order of their heights.
  const updated = entries.reduce((latest, entry) => (entry.updated > latest ? entry.updated : latest), since)
  const items = entries.map(
    (entry) => xml`<entry>
<id>${idOf(entry.of)}</id>
<title>${entry.title}</title>
<updated>${entry.updated}</updated>
<link rel="alternate" type="text/html" href="${entry.url}"/>
<summary>${entry.summary}</summary>
</entry>
`,
  )
  const document = xml`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="${language}">
<id>${idOf(feed.of)}</id>
<title>${title}</title>
<updated>${updated}</updated>
<author><name>${author}</name></author>
<link rel="self" type="application/atom+xml" href="${self}"/>
<link rel="alternate" type="text/html" href="${page}"/>
${items}</feed>
`
  return document.text.replace(NO_XML, '\uFFFD')
}

/** Characters that a document of XML cannot contain, not even escaped. */
const NO_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu

/** Returns an id that depends on these words alone, not on the host, the language or a later state: a UUID of version 8 (RFC 9562). */
function idOf(words: readonly string[]): string {
  const bytes = createHash('sha256').update(words.join('/')).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return `urn:uuid:${bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`
}
