import { createHash } from 'node:crypto'
import { coded } from '../errors.js'
import type { WrittenAddress } from './frontmatter/address.js'
import type { Visibility } from './frontmatter/visibility.js'

/** A page of the documentation, made from one Markdown or MDX file. */
export interface Page extends Omit<Visibility, 'isDraft'> {
  /** URL path with percent-encoded segments; `/` for the root page. */
  readonly url: string
  /** Decoded URL path without the leading slash; empty for the root page. */
  readonly slug: string
  /** Path relative to the content folder, with forward slashes. */
  readonly file: string
  readonly title: string
  /** The name in the list of pages: the title, unless its author has given it a shorter one. */
  readonly label: string
  readonly description: string | null
  readonly tags: readonly string[]
  /** Names of the parents in the list of pages, outermost first, without the root page. */
  readonly breadcrumbs: readonly string[]
  /** Keys of the parents and of the page in the list of pages, outermost first; empty for the root page. */
  readonly place: readonly string[]
  /** The language, as a BCP 47 tag; undefined if the site does not say. */
  readonly lang: string | undefined
  /** The page in all languages in which it exists, if there are several. */
  readonly translations: readonly Translation[]
  readonly toc: readonly TocEntry[]
  /**
   * Plain Markdown: components are converted to text, imports and exports are removed. A heading whose id differs from the id of
   * github-slugger ends in `[#id]`.
   */
  readonly markdown: string
  /**
   * The Markdown with the marks of callouts, tabs, cards and steps, from which HTML is made; undefined if there are none. Only the
   * renderer reads it.
   */
  readonly marked?: string | undefined
  readonly structuredData: StructuredData
  readonly sections: readonly Section[]
  /** Hash of everything that determines the other fields. */
  readonly hash: string
}

/** The texts of a page. They are most of its bytes, and a start needs none of them. */
export type Texts = Pick<Page, 'markdown' | 'marked' | 'structuredData' | 'sections'>

/** Returns an object with the texts of a page or draft, which are made at the first access to any text. */
export function withTexts<T extends object>(rest: T, make: () => Texts): T & Texts {
  let source: Texts | (() => Texts) = make
  const texts = (): Texts => {
    if (typeof source === 'function') source = source()
    return source
  }
  return {
    ...rest,
    get markdown() {
      return texts().markdown
    },
    get marked() {
      return texts().marked
    },
    get structuredData() {
      return texts().structuredData
    },
    get sections() {
      return texts().sections
    },
  }
}

/** A page in another language. */
export interface Translation {
  /** A BCP 47 tag. */
  readonly lang: string
  readonly url: string
}

export interface TocEntry {
  readonly title: string
  /** `#` and the heading's id. */
  readonly url: string
  readonly depth: number
}

/** The format of Fumadocs: paragraphs, quotes, table cells, code and math, each as Markdown with the id of the heading above it. */
export interface StructuredData {
  /** `content` is the text of the heading, without markup. */
  readonly headings: readonly { readonly id: string; readonly content: string }[]
  /** `heading` is the id of a heading; empty above the first heading. */
  readonly contents: readonly { readonly heading: string; readonly content: string }[]
}

/** The content between two headings, including code. */
export interface Section {
  /** The heading's id; empty above the first heading. */
  readonly id: string
  /** The headings above, outermost first, and the section's own heading last; without the page's title. */
  readonly path: readonly string[]
  /** Markdown without the heading itself. */
  readonly markdown: string
}

/** The software for which a site was written, if its files differ by it. */
export type Tool = 'docusaurus' | 'starlight'

/** The part of a page that its file determines. The rest depends on the other files of the folder. */
export interface Draft extends Pick<Page, 'description' | 'tags' | 'toc'>, Texts, WrittenAddress {
  readonly visibility: Visibility
  /** The name in lists of pages; undefined if it is the title. */
  readonly label: string | undefined
  /** The language in the frontmatter. */
  readonly lang: string | undefined
  /** The software that has the fields and imports of the file; undefined if they are common. */
  readonly tool: Tool | undefined
  /** Title from the frontmatter or the first heading of level 1; undefined if there is neither. */
  readonly title: string | undefined
  /** Links to other pages. The texts contain `linkToken(index)` in place of each, because its page depends on the other files. */
  readonly links: readonly WrittenLink[]
  /** Ids of HTML elements in the Markdown, which links may name like the ids of headings. */
  readonly ids: readonly string[]
  readonly findings: readonly Finding[]
  /** Position among its siblings; pages without a position come last. */
  readonly order: number | undefined
  /** Hash of the fields that the page has in common with the draft. */
  readonly hash: string
}

/** A link without a host, as it is written. */
export interface WrittenLink {
  readonly url: string
  /** The file that contains the link: the page's file or an included file. Relative to the content folder. */
  readonly file: string
  readonly line: number
}

/** A file that a page includes. */
export interface Included {
  /** Relative to the content folder, with forward slashes. */
  readonly path: string
  readonly text?: string
  /** The reason if it cannot be included. */
  readonly error?: string
}

/**
 * Something that readers of a page do not get: a link that leads nowhere, a file that cannot be included, or an expression that
 * would have to be evaluated.
 */
export interface Finding {
  readonly kind: 'link' | 'include' | 'expression'
  /** Relative to the content folder. */
  readonly file: string
  readonly line: number
  readonly message: string
  /** Name of the component that has the expression. */
  readonly component?: string
}

/** An error in a file of the content. */
export interface FileError {
  /** Path relative to the content folder. */
  readonly file: string
  /** Line number, from 1. */
  readonly line: number
  readonly message: string
}

/** Thrown if a file cannot become a page; the message says what is wrong on the line. */
export class ContentError extends coded('HW_CONTENT_INVALID') {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message)
  }
}

/** Returns 128 bits of the SHA-256 of a value's JSON, in hex. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
}
