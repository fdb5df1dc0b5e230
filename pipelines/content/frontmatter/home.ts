import type { BlockContent, PhrasingContent, RootContent } from 'mdast'
import type {} from '../syntax/containers.js'
import { fieldsIn, recordsIn, textIn, type Fields } from './values.js'

interface Action {
  readonly text: string
  readonly link: string
}

interface Feature {
  readonly title: string
  readonly details: string | undefined
  readonly link: string | undefined
  /** The words of the link at the end of a feature. */
  readonly linkText: string | undefined
}

/** The parts of a home page that its frontmatter contains, as of VitePress and Starlight. */
export interface Home {
  /** The name of the site, which is the title if there is no other. */
  readonly title: string | undefined
  readonly text: string | undefined
  readonly tagline: string | undefined
  readonly actions: readonly Action[]
  readonly features: readonly Feature[]
}

/** Returns the home page in a frontmatter; undefined if it is none. */
export function homeIn(fields: Fields): Home | undefined {
  const hero = fieldsIn(fields['hero'])
  if (hero === undefined && fields['layout'] !== 'home') return undefined
  return {
    title: plain(hero, 'title') ?? plain(hero, 'name'),
    text: plain(hero, 'text'),
    tagline: plain(hero, 'tagline'),
    actions: recordsIn(hero?.['actions']).flatMap((action) => {
      const [text, link] = [plain(action, 'text'), textIn(action, 'link')]
      return text === undefined || link === undefined ? [] : [{ text, link }]
    }),
    features: recordsIn(fields['features']).flatMap((feature) => {
      const title = plain(feature, 'title')
      if (title === undefined) return []
      const [details, link] = [plain(feature, 'details'), textIn(feature, 'link')]
      return [{ title, details, link, linkText: plain(feature, 'linkText') }]
    }),
  }
}

/** Returns a text of the home page without the HTML tags that it may contain. */
const plain = (fields: Fields | undefined, name: string): string | undefined =>
  textIn(fields, name)
    ?.replace(/<br\s*\/?>/gi, ' ')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/\s+/g, ' ')
    .trim()

/** Returns the blocks of a home page: its lines, its links and a card for each feature. @param pageTitle is not repeated. */
export function homeBlocks(home: Home, pageTitle: string | undefined): RootContent[] {
  const { title, text, tagline, actions, features } = home
  const lines = [title === pageTitle ? undefined : title, text, tagline].flatMap((line): RootContent[] =>
    line === undefined ? [] : [paragraph([words(line)])],
  )
  const links = actions.map((action) => linkTo(action.link, action.text))
  const cards = features.map(({ title, details, link, linkText }): RootContent => ({
    type: 'container',
    kind: 'card',
    label: [link === undefined ? words(title) : linkTo(link, title)],
    children: [
      ...(details === undefined ? [] : [paragraph([words(details)])]),
      ...(link === undefined || linkText === undefined ? [] : [paragraph([linkTo(link, linkText)])]),
    ],
  }))
  const blocks = links.length === 0 ? lines : [...lines, list(links)]
  return cards.length === 0
    ? blocks
    : [...blocks, { type: 'container', kind: 'cards', label: [], children: cards }]
}

const words = (value: string): PhrasingContent => ({ type: 'text', value })

const paragraph = (children: PhrasingContent[]): BlockContent => ({ type: 'paragraph', children })

const linkTo = (url: string, text: string): PhrasingContent => ({
  type: 'link',
  url,
  children: [words(text)],
})

const list = (items: readonly PhrasingContent[]): RootContent => ({
  type: 'list',
  ordered: false,
  spread: false,
  children: items.map((item) => ({ type: 'listItem', spread: false, children: [paragraph([item])] })),
})
