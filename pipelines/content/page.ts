import { createHash } from 'node:crypto'
import { coded } from '../errors.js'

/** A page of the documentation, made of one Markdown or MDX file. */
export interface Page {
  /** URL path, its segments percent-encoded; `/` for the root page. */
  readonly url: string
  /** The URL path as it reads, without the slash in front; empty for the root page. */
  readonly slug: string
  /** Relative to the content's folder, with forward slashes. */
  readonly file: string
  readonly title: string
  readonly description: string | null
  readonly tags: readonly string[]
  /** Titles of the folders above, outermost first; the root page is none of them. */
  readonly breadcrumbs: readonly string[]
  readonly toc: readonly TocEntry[]
  /** Plain Markdown: components are text, imports and exports are gone. A heading whose id github-slugger would not give ends in `[#id]`. */
  readonly markdown: string
  readonly structuredData: StructuredData
  readonly sections: readonly Section[]
  /** Of all of the above. */
  readonly hash: string
}

export interface TocEntry {
  readonly title: string
  /** `#` and the heading's id. */
  readonly url: string
  readonly depth: number
}

/** Fumadocs' form: paragraphs, quotes and table cells by the heading that they stand under; no code. */
export interface StructuredData {
  readonly headings: readonly { readonly id: string; readonly content: string }[]
  /** `heading` is a heading's id, empty above the first. */
  readonly contents: readonly { readonly heading: string; readonly content: string }[]
}

/** What stands between two headings, code included. */
export interface Section {
  /** The heading's id; empty above the first heading. */
  readonly id: string
  /** The headings above, outermost first, its own the last; without the page's title. */
  readonly path: readonly string[]
  /** Without the line of the heading itself. */
  readonly markdown: string
}

/** What a file itself tells of its page; where the page stands among the others is told by the folder. */
export interface Draft extends Pick<
  Page,
  'description' | 'tags' | 'toc' | 'markdown' | 'structuredData' | 'sections'
> {
  /** Undefined where neither frontmatter nor a heading names one. */
  readonly title: string | undefined
  /** Place among its siblings; those without one come last. */
  readonly order: number | undefined
}

/** What is wrong with a file. */
export interface Fault {
  /** Relative to the content's folder. */
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly message: string
}

/** A file that makes no page: names the line and what is wrong there. */
export class ContentError extends coded('HW_CONTENT_INVALID') {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/** 128 bits of the SHA-256 of a value's JSON, in hex. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
}
