import type { Paragraph, PhrasingContent, Root } from 'mdast'
import { toString } from 'mdast-util-to-string'
import { posix } from 'node:path'
import type { Page } from '../../../pipelines/content/page.js'
import { parseMarkdown } from '../../../pipelines/content/syntax/markdown.js'
import { isTitled } from './titled.js'

/** The parts of the root page beside its title, from the paragraphs with which its Markdown begins. */
export interface Hero {
  /** A paragraph that is a picture of the content folder. */
  readonly picture?: { readonly path: string; readonly alt: string }
  /** A paragraph of links alone. */
  readonly links: readonly { readonly url: string; readonly text: string }[]
}

/** Returns the parts of a page that belong to its hero. */
export function heroOf(page: Pick<Page, 'file' | 'sections' | 'title' | 'toc' | 'markdown'>): Hero {
  const [first] = page.sections
  const isIntroduction = first?.id === '' || (isTitled(page) && `#${first?.id ?? ''}` === page.toc[0]?.url)
  return first !== undefined && isIntroduction
    ? takeHero(parseMarkdown(first.markdown), page.file)
    : { links: [] }
}

/** Removes the hero from the start of a page's Markdown, in place, and returns it. @param file of the page. */
export function takeHero(root: Root, file: string): Hero {
  let hero: Hero = { links: [] }
  for (;;) {
    const [first] = root.children
    if (first?.type !== 'paragraph') return hero
    const [picture, links] = [pictureIn(first, file), linksIn(first)]
    if (picture !== undefined && hero.picture === undefined) hero = { ...hero, picture }
    else if (links.length > 0 && hero.links.length === 0) hero = { ...hero, links }
    else return hero
    root.children.shift()
  }
}

const withoutSpace = (nodes: readonly PhrasingContent[]): PhrasingContent[] =>
  nodes.filter((node) => node.type !== 'text' || !/^[\s·|]*$/.test(node.value))

function pictureIn({ children }: Paragraph, file: string): Hero['picture'] {
  const [image, ...others] = withoutSpace(children)
  if (image?.type !== 'image' || others.length > 0 || /^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(image.url))
    return undefined
  const path = posix.join(image.url.startsWith('/') ? '.' : posix.dirname(file), decoded(image.url))
  return { path: path.replace(/^\/+/, ''), alt: image.alt ?? '' }
}

function decoded(url: string): string {
  const path = url.replace(/[?#].*$/, '')
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function linksIn({ children }: Paragraph): Hero['links'] {
  const links = withoutSpace(children)
  if (!links.every((node) => node.type === 'link')) return []
  return links.flatMap((node) =>
    node.type === 'link' && /^(?:https?:\/\/|\/|#)/i.test(node.url)
      ? [{ url: node.url, text: toString(node) }]
      : [],
  )
}
