import type { Element, ElementContent, Root, Text } from 'hast'
import type { Root as Mdast } from 'mdast'
import rehypeRaw from 'rehype-raw'
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize'
import rehypeStringify from 'rehype-stringify'
import remarkRehype from 'remark-rehype'
import { unified } from 'unified'
import { EXIT, visit } from 'unist-util-visit'
import { restoreContainers } from '../../../pipelines/content/syntax/containers.js'
import { setHeadingIds } from '../../../pipelines/content/syntax/headings.js'
import { parseMarkdown } from '../../../pipelines/content/syntax/markdown.js'
import type { Page } from '../../../pipelines/content/page.js'
import { decoratedCode, keepMeta } from './blocks/code.js'
import { diagramOf } from './blocks/diagrams.js'
import { Html } from '../../design/html.js'
import { takeHero } from './hero.js'
import { mathElement, mathOf, typeset } from './blocks/math.js'
import { containerElement, PART, Parts } from './parts.js'
import { isTitled } from './titled.js'

/** The sanitisation of GitHub, except that the ids of headings are kept. */
const SCHEMA = {
  ...defaultSchema,
  clobberPrefix: '',
  strip: ['script', 'style'],
  // A source would be loaded from another host. The image inside is replaced by its text.
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== 'picture' && name !== 'source'),
  attributes: {
    ...defaultSchema.attributes,
    code: [
      ['className', /^language-[\w+#.-]+$/],
      'dataTitle',
      'dataLines',
      ['dataMath', 'inline', 'display'],
    ],
    div: [['dataPart', PART]],
    p: [['dataPart', PART]],
  },
} satisfies typeof defaultSchema

const processor = unified()
  .use(remarkRehype, {
    allowDangerousHtml: true,
    handlers: { container: containerElement, math: mathElement, inlineMath: mathElement },
  })
  .use(rehypeRaw)
  // Everything that an author wrote is sanitised here. The elements added below are our own.
  .use(rehypeSanitize, SCHEMA)
  .use(() => decorate)
  // What is raw now is math that was typeset here.
  .use(rehypeStringify, { allowDangerousHtml: true })
  .freeze()

/** The fields of a page that determine its HTML. */
export type Rendered = Pick<Page, 'file' | 'url' | 'markdown' | 'marked' | 'title' | 'toc'>

/** Renders the Markdown of a page as sanitised HTML, without its title and the hero of the root page, which the layout shows. */
export function renderMarkdown(page: Rendered): Html {
  const tree = parseMarkdown(page.marked ?? page.markdown)
  setHeadingIds(tree)
  restoreContainers(tree)
  visit(tree, 'code', keepMeta)
  if (isTitled(page)) removeFirstHeading(tree)
  if (page.url === '/') takeHero(tree, page.file)
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
    if (element.tagName === 'a') {
      markExternal(element)
      nameImages(element)
    }
    if (parent === undefined || index === undefined) return undefined
    if (element.tagName === 'code' && element.properties['dataMath'] !== undefined) {
      parent.children[index] = typeset(element)
      return index + 1
    }
    if (element.tagName === 'img') parent.children[index] = replacement(element)
    if (element.tagName === 'pre') {
      const special = mathOf(element) ?? diagramOf(element)
      if (special !== undefined) {
        parent.children[index] = special
        return index + 1
      }
      parent.children[index] = decoratedCode(element)
      return index + 1
    }
    if (element.tagName === 'table') {
      // Wide tables scroll on their own, also with the keyboard.
      parent.children[index] = wrap('div', { className: ['scroll'], tabIndex: 0 }, [element])
      return index + 1
    }
    return undefined
  })
  design(root, new Parts())
}

/** Replaces containers from the innermost, so that each finds the final form of its parts. */
function design(node: Root | Element, parts: Parts): void {
  node.children = node.children.map((child) => {
    if (child.type !== 'element') return child
    design(child, parts)
    return parts.designed(child) ?? child
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

function markExternal(link: Element): void {
  const { href } = link.properties
  if (typeof href === 'string' && /^https?:/i.test(href)) link.properties['rel'] = ['noopener', 'noreferrer']
}

/** Replaces the images of a link by their texts, because links cannot be nested. */
function nameImages(link: Element): void {
  visit(link, { tagName: 'img' }, (image, index, parent) => {
    if (parent !== undefined && index !== undefined) parent.children[index] = textOf(image)
  })
}

/** Returns the text of an image, as a link if it is on a server. Images would be loaded from other hosts, or are not served. */
function replacement(image: Element): Element {
  const { src } = image.properties
  const isLink = typeof src === 'string' && /^https?:/i.test(src)
  return isLink
    ? wrap('a', { href: src, rel: ['noopener', 'noreferrer'] }, [textOf(image)])
    : wrap('em', {}, [textOf(image)])
}

const textOf = ({ properties: { alt } }: Element): Text => ({
  type: 'text',
  value: typeof alt === 'string' && alt !== '' ? alt : 'Picture',
})
