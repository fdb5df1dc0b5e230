import type { ContainerKind } from './containers.js'

/** The kind of each component of documentation sites, by the last part of the component's name. */
const KINDS: readonly (readonly [ContainerKind, RegExp])[] = [
  ['tabs', /^(?:Tabs|TabGroup|TabView|CodeGroup|CodeTabs|CodeBlockTabs)$/],
  ['tab', /^(?:Tab|TabItem|TabPanel|TabsContent|CodeBlockTab|CodeGroupItem)$/],
  ['cards', /^(?:Cards|CardGroup|CardGrid|CardList|IndexCards)$/],
  ['card', /Card$/],
  ['steps', /^(?:Steps|Stepper)$/],
  ['step', /^Step$/],
  ['tree', /^(?:FileTree|Files)$/],
  [
    'details',
    /^(?:Accordion|AccordionItem|Details|Expandable|Collapse|Collapsible|Disclosure|Spoiler|Toggle)$/,
  ],
]

interface Callout {
  /** One of the five designs of GitHub's alerts. */
  readonly variant: string
  readonly word: string
}

const CALLOUTS: Readonly<Record<string, Callout>> = {
  note: { variant: 'note', word: 'Note' },
  info: { variant: 'note', word: 'Info' },
  information: { variant: 'note', word: 'Info' },
  abstract: { variant: 'note', word: 'Abstract' },
  question: { variant: 'note', word: 'Question' },
  todo: { variant: 'note', word: 'Todo' },
  tip: { variant: 'tip', word: 'Tip' },
  hint: { variant: 'tip', word: 'Hint' },
  success: { variant: 'tip', word: 'Success' },
  check: { variant: 'tip', word: 'Check' },
  important: { variant: 'important', word: 'Important' },
  example: { variant: 'important', word: 'Example' },
  warning: { variant: 'warning', word: 'Warning' },
  warn: { variant: 'warning', word: 'Warning' },
  attention: { variant: 'warning', word: 'Attention' },
  caution: { variant: 'caution', word: 'Caution' },
  danger: { variant: 'caution', word: 'Danger' },
  error: { variant: 'caution', word: 'Error' },
  bug: { variant: 'caution', word: 'Bug' },
}

/** Components of callouts that say by a property which one they are. */
export const GENERIC_CALLOUT = /^(?:Callout|Admonition|Aside|Alert|Notice|Banner|Message)$/

/** Components whose text is a label, not code. */
export const LABEL = /^(?:.*(?:Badge|Button|Pill|Chip|Tag|Label|Link|Title|Heading|Text))$/

/** Components of parameters, fields and properties of an interface. */
export const FIELD = /(?:Field|Param|Parameter|Property|Prop|Attribute|Option|Argument|Arg)$/

/** Components whose text is code. */
export const CODE_BLOCK = /^(?:CodeBlock|CodeSnippet|Code|Snippet|Terminal|Shell|Command|Highlight)$/

/** Components whose name is all that they show, as the marks in tables of features. Any other one without text shows nothing. */
export const MARK =
  /^(?:Check(?:mark)?|Tick|Cross|Yes|No|True|False|Supported|Unsupported|Partial|Done|New|Beta|Alpha|Experimental|Deprecated|Required|Optional)$/i

/** Returns the last part of a name such as `Tabs.Tab`. */
export const partOf = (name: string): string => name.split('.').at(-1) ?? ''

/** Returns the kind of a component; undefined if it is none of the known ones. */
export function kindOf(name: string): ContainerKind | undefined {
  const part = partOf(name)
  if (GENERIC_CALLOUT.test(part) || (/^[A-Z]/.test(part) && calloutOf(part) !== undefined)) return 'callout'
  return KINDS.find(([, pattern]) => pattern.test(part))?.[0]
}

/** Returns the callout of a word such as `warning`, in any case; undefined for other words. */
export const calloutOf = (word: string): Callout | undefined => {
  const name = word.toLowerCase()
  return Object.hasOwn(CALLOUTS, name) ? CALLOUTS[name] : undefined
}
