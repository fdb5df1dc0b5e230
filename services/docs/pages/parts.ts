import type { Element, ElementContent, Properties } from 'hast'
import type { Options } from 'remark-rehype'
import type { Container } from '../../../pipelines/content/syntax/containers.js'

/** The values of `data-part`, which tell `designed` what an element is. The sanitiser lets no others pass. */
export const PART =
  /^(?:label|callout (?:note|tip|important|warning|caution)|details|tabs|tab|cards|card|steps|step|tree)$/

type State = Parameters<NonNullable<NonNullable<Options['handlers']>['code']>>[0]

const element = (tagName: string, properties: Properties, children: ElementContent[]): Element => ({
  type: 'element',
  tagName,
  properties,
  children,
})

/** Returns the element of a container, for the sanitiser. `designed` replaces it by its final form. */
export function containerElement(state: State, { kind, variant, label, children }: Container): Element {
  const dataPart = kind === 'callout' ? `callout ${variant ?? 'note'}` : kind
  const content = state.all({ type: 'root', children })
  const contents = state.all({ type: 'paragraph', children: label })
  return element('div', { dataPart }, [
    ...(label.length === 0 ? [] : [element('p', { dataPart: 'label' }, contents)]),
    ...content,
  ])
}

/** Gives containers their final elements, which work without scripts. */
export class Parts {
  #groups = 0

  /** Returns the final form of an element that `containerElement` made; undefined for other elements. */
  designed({ properties, children }: Element): Element | undefined {
    const { dataPart } = properties
    if (typeof dataPart !== 'string') return undefined
    const [kind = '', variant = ''] = dataPart.split(' ')
    switch (kind) {
      case 'label':
        return element('p', { className: ['label'] }, children)
      case 'callout':
        return element('div', { className: ['callout', variant], role: 'note' }, children)
      case 'details': {
        const [label, content] = split(children)
        const summary = label.length === 0 ? [{ type: 'text', value: 'Details' } as const] : label
        return element('details', { className: ['more'] }, [element('summary', {}, summary), ...content])
      }
      case 'tabs':
        return this.#tabs(children)
      case 'steps':
        return element('ol', { className: ['steps'] }, children.filter(isElement).map(listed))
      case 'step':
        return element('li', {}, children)
      default:
        return element('div', { className: [kind] }, children)
    }
  }

  /** Returns tabs as radio buttons, their labels and panels: the checked one shows the panel after it. */
  #tabs(children: readonly ElementContent[]): Element {
    const group = `:tabs-${String(++this.#groups)}`
    let count = 0
    const parts = children.flatMap((child): ElementContent[] => {
      if (!isElement(child) || !isClass(child, 'tab')) return [child]
      const [label, content] = split(child.children)
      const id = `${group}-${String(++count)}`
      const text: ElementContent[] =
        label.length === 0 ? [{ type: 'text', value: `Tab ${String(count)}` }] : label
      return [
        element('input', { type: 'radio', name: group, id, ...(count === 1 && { checked: true }) }, []),
        element('label', { htmlFor: id }, text),
        element('div', { className: ['panel'] }, content),
      ]
    })
    return element('div', { className: ['tabs'] }, parts)
  }
}

const isElement = (node: ElementContent): node is Element => node.type === 'element'

const isClass = ({ properties: { className } }: Element, name: string): boolean =>
  Array.isArray(className) && className[0] === name

/** Content beside the steps of a group is a step without a number. */
const listed = (child: Element): Element =>
  child.tagName === 'li' ? child : element('li', { className: ['aside'] }, [child])

/** Returns the content of the label, and what is below it. */
function split(children: readonly ElementContent[]): [ElementContent[], ElementContent[]] {
  const at = children.findIndex((child) => isElement(child) && isClass(child, 'label'))
  const label = children[at]
  return label === undefined || !isElement(label)
    ? [[], [...children]]
    : [label.children, children.filter((child) => child !== label)]
}
