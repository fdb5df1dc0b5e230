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
/** Characters of a code block: colours cost some 200 bytes a word, and nobody reads so much of it. */
const MOST_HIGHLIGHTED = 32 * 1024

/** As on GitHub, but for the ids, which are the headings' own. */
const SCHEMA = {
  ...defaultSchema,
  clobberPrefix: '',
  strip: ['script', 'style'],
  // A source would be asked of another host; the picture within is told.
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== 'picture' && name !== 'source'),
  attributes: { ...defaultSchema.attributes, code: [['className', /^language-[\w+#.-]+$/]] },
} satisfies typeof defaultSchema

const processor = unified()
  .use(remarkRehype, { allowDangerousHtml: true })
  .use(rehypeRaw)
  // All that a page's author wrote passes here; what is added below is ours.
  .use(rehypeSanitize, SCHEMA)
  .use(() => decorate)
  .use(rehypeStringify)
  .freeze()

/** What of a page its HTML is made of. */
export type Rendered = Pick<Page, 'markdown' | 'title' | 'toc'>

/** A page's Markdown as HTML, harmless whatever its author wrote. The heading that is the page's title is left out: the layout shows it. */
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
    if (element.tagName === 'img') parent.children[index] = instead(element)
    if (element.tagName === 'table') {
      // Wide tables scroll by themselves; the keyboard can do it too.
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
  if (text?.type !== 'text' || text.value.length > MOST_HIGHLIGHTED || !lowlight.registered(language)) return
  code.children = lowlight.highlight(language, text.value).children as ElementContent[]
}

function markExternal(link: Element): void {
  const { href } = link.properties
  if (typeof href === 'string' && /^https?:/i.test(href)) link.properties['rel'] = ['noopener', 'noreferrer']
}

/** A link within a link is none: there a picture is what it shows. */
function nameImages(link: Element): void {
  visit(link, { tagName: 'img' }, (image, index, parent) => {
    if (parent !== undefined && index !== undefined) parent.children[index] = shown(image)
  })
}

/** Pictures would be asked of other hosts, or are not pages and so not served: what they show is told, and linked. */
function instead(image: Element): Element {
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
