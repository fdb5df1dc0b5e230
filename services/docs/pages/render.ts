import type { Element, ElementContent, Root, Text } from 'hast'
import type { Root as Mdast } from 'mdast'
import { common, createLowlight } from 'lowlight'
import rehypeRaw from 'rehype-raw'
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize'
import rehypeStringify from 'rehype-stringify'
import remarkRehype from 'remark-rehype'
import { unified } from 'unified'
import { EXIT, visit } from 'unist-util-visit'
import { setHeadingIds } from '../../../pipelines/content/headings.js'
import { parseMarkdown } from '../../../pipelines/content/markdown.js'
import type { Page } from '../../../pipelines/content/page.js'
import { Html } from './html.js'
import { isTitled } from './titled.js'

const lowlight = createLowlight(common)
/** The maximum length of a code block that is highlighted, in characters: colours take about 200 bytes per word. */
const MAX_HIGHLIGHTED = 32 * 1024

/** The sanitisation of GitHub, except for ids, which are those of the headings. */
const SCHEMA = {
  ...defaultSchema,
  clobberPrefix: '',
  strip: ['script', 'style'],
  // A source would be loaded from another host. The image inside is replaced by its text.
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== 'picture' && name !== 'source'),
  attributes: { ...defaultSchema.attributes, code: [['className', /^language-[\w+#.-]+$/]] },
} satisfies typeof defaultSchema

const processor = unified()
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeRaw)
  // Everything that an author wrote is sanitised here. The elements added below are our own.
  .use(rehypeSanitize, SCHEMA)
  .use(() => decorate)
  .use(rehypeStringify)
  .freeze()

/** The fields of a page that determine its HTML. */
export type Rendered = Pick<Page, 'markdown' | 'title' | 'toc'>

/** Renders the Markdown of a page as sanitised HTML, without the heading that is its title, which the layout shows. */
export function renderMarkdown(page: Rendered): Html {
  const tree = parseMarkdown(page.markdown)
  setHeadingIds(tree)
  if (isTitled(page)) removeFirstHeading(tree)
  return new Html(processor.stringify(processor.runSync(tree)))
}

function removeFirstHeading(tree: Mdast): void {
  visit(tree, 'heading', (_, index, parent) => {
    parent?.children.splice(index ?? 0, 1)
    return EXIT
  })
}

function decorate(root: Root): void {
  visit(root, 'element', (element, index, parent) => {
    if (/^h[1-6]$/.test(element.tagName)) addAnchor(element)
    if (element.tagName === 'pre') highlight(element)
    if (element.tagName === 'a') {
      markExternal(element)
      nameImages(element)
    }
    if (parent === undefined || index === undefined) return undefined
    if (element.tagName === 'img') parent.children[index] = replacement(element)
    if (element.tagName === 'table') {
      // Wide tables scroll on their own, also with the keyboard.
      parent.children[index] = wrap('div', { className: ['scroll'], tabIndex: 0 }, [element])
      return index + 1
    }
    return undefined
  })
}

const wrap = (tagName: string, properties: Element['properties'], children: ElementContent[]): Element => ({
  type: 'element',
  tagName,
  properties,
  children,
})

function addAnchor(heading: Element): void {
  const { id } = heading.properties
  if (typeof id !== 'string') return
  const properties = { className: ['anchor'], href: `#${id}`, ariaLabel: 'Link to this section' }
  heading.children.push(wrap('a', properties, [{ type: 'text', value: '#' }]))
}

function highlight(pre: Element): void {
  pre.properties['tabIndex'] = 0
  const [code] = pre.children
  if (code?.type !== 'element' || code.tagName !== 'code') return
  const { className } = code.properties
  const language = Array.isArray(className) ? String(className[0]).replace(/^language-/, '') : ''
  const [text] = code.children
  if (text?.type !== 'text' || text.value.length > MAX_HIGHLIGHTED || !lowlight.registered(language)) return
  code.children = lowlight.highlight(language, text.value).children as ElementContent[]
}

function markExternal(link: Element): void {
  const { href } = link.properties
  if (typeof href === 'string' && /^https?:/i.test(href)) link.properties['rel'] = ['noopener', 'noreferrer']
}

/** Replaces the images of a link by their texts, because links cannot be nested. */
function nameImages(link: Element): void {
  visit(link, { tagName: 'img' }, (image, index, parent) => {
    if (parent !== undefined && index !== undefined) parent.children[index] = shown(image)
  })
}

/** Returns the text of an image, as a link if it is on a server. Images would be loaded from other hosts, or are not served. */
function replacement(image: Element): Element {
  const { src } = image.properties
  const isLink = typeof src === 'string' && /^https?:/i.test(src)
  return isLink
    ? wrap('a', { href: src, rel: ['noopener', 'noreferrer'] }, [shown(image)])
    : wrap('em', {}, [shown(image)])
}

const shown = ({ properties: { alt } }: Element): Text => ({
  type: 'text',
  value: typeof alt === 'string' && alt !== '' ? alt : 'Picture',
})
