import type { Expression, JSXAttribute, JSXElement, JSXFragment, Program } from 'estree-jsx'
import type { Nodes, RootContent } from 'mdast'
import type {} from 'remark-mdx'

export type Jsx = Extract<Nodes, { type: 'mdxJsxFlowElement' | 'mdxJsxTextElement' }>

/** JSX inside an expression, as the nodes that it would be outside. */
export class Markup {
  constructor(readonly nodes: readonly RootContent[]) {}
}

export type Scalar = string | number | boolean | null | Markup
export type Literal = Scalar | readonly Literal[] | ReadonlyMap<string, Literal>

/**
 * Returns the value of an expression that consists of literals; undefined if it has none. Parts that would have to be evaluated are
 * left out.
 * @param leftOut called for each such part.
 */
export function literalOf(program: Program | null | undefined, leftOut: () => void): Literal | undefined {
  const [statement] = program?.body ?? []
  // A comment alone has no statement.
  return statement?.type === 'ExpressionStatement' ? evaluate(statement.expression, leftOut) : undefined
}

function evaluate(node: Expression, leftOut: () => void): Literal | undefined {
  switch (node.type) {
    case 'Literal': {
      const { value } = node
      if (typeof value === 'bigint') return String(value)
      if (!(value instanceof RegExp) && value !== undefined) return value
      break
    }
    case 'TemplateLiteral': {
      const values = node.expressions.map((each) => evaluate(each, () => undefined))
      if (!values.every(isPrintable)) break
      return node.quasis
        .map(({ value }, at) => (value.cooked ?? value.raw) + String(values[at] ?? ''))
        .join('')
    }
    case 'UnaryExpression': {
      const value = evaluate(node.argument, () => undefined)
      if (node.operator === '-' && typeof value === 'number') return -value
      if (node.operator === 'void') return undefined
      break
    }
    case 'BinaryExpression': {
      if (node.operator !== '+' || node.left.type === 'PrivateIdentifier') break
      const both = [evaluate(node.left, () => undefined), evaluate(node.right, () => undefined)]
      if (both.every(isPrintable)) return both.map(String).join('')
      break
    }
    case 'ArrayExpression':
      return node.elements.flatMap((each) => {
        if (each === null) return []
        if (each.type === 'SpreadElement') {
          leftOut()
          return []
        }
        const value = evaluate(each, leftOut)
        return value === undefined ? [] : [value]
      })
    case 'ObjectExpression': {
      const entries = node.properties.flatMap((each): [string, Literal][] => {
        const name = each.type === 'Property' && !each.computed ? nameOfKey(each.key) : undefined
        if (each.type !== 'Property' || each.kind !== 'init' || name === undefined) {
          leftOut()
          return []
        }
        const value = evaluate(each.value as Expression, leftOut)
        return value === undefined ? [] : [[name, value]]
      })
      return new Map(entries)
    }
    case 'Identifier':
      if (node.name === 'undefined') return undefined
      break
    case 'JSXElement':
    case 'JSXFragment':
      return new Markup(node.type === 'JSXElement' ? [jsxOf(node)] : childrenOf(node))
    default:
      break
  }
  leftOut()
  return undefined
}

const isPrintable = (value: Literal | undefined): value is string | number =>
  typeof value === 'string' || typeof value === 'number'

const nameOfKey = (key: { type: string; name?: string; value?: unknown }): string | undefined =>
  key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : undefined

/** Converts an element in an expression to the node that it would be outside of it, so that both are converted alike. */
function jsxOf(element: JSXElement): Jsx {
  const { openingElement } = element
  return {
    type: 'mdxJsxTextElement',
    name: jsxName(openingElement.name),
    attributes: openingElement.attributes.flatMap((each): Jsx['attributes'] => {
      if (each.type === 'JSXSpreadAttribute') return []
      return [{ type: 'mdxJsxAttribute', name: jsxName(each.name), value: attributeValue(each.value) }]
    }),
    children: childrenOf(element) as Jsx['children'],
  } as Jsx
}

type JsxName = JSXElement['openingElement']['name'] | JSXAttribute['name']

function jsxName(name: JsxName): string {
  if (name.type === 'JSXIdentifier') return name.name
  if (name.type === 'JSXMemberExpression') return `${jsxName(name.object)}.${name.property.name}`
  return `${name.namespace.name}:${name.name.name}`
}

type AttributeValue = Extract<Jsx['attributes'][number], { type: 'mdxJsxAttribute' }>['value']

function attributeValue(value: JSXAttribute['value']): AttributeValue {
  if (value === null) return null
  if (value.type === 'Literal') return String(value.value)
  const expression = value.type === 'JSXExpressionContainer' ? value.expression : value
  if (expression.type === 'JSXEmptyExpression') return null
  return { type: 'mdxJsxAttributeValueExpression', value: '', data: { estree: programOf(expression) } }
}

const programOf = (expression: Expression): Program => ({
  type: 'Program',
  sourceType: 'module',
  comments: [],
  body: [{ type: 'ExpressionStatement', expression }],
})

function childrenOf({ children }: JSXElement | JSXFragment): RootContent[] {
  return children.flatMap((child): RootContent[] => {
    switch (child.type) {
      case 'JSXText': {
        const value = child.value.replace(/\s*\n\s*/g, ' ')
        return value.trim() === '' && value !== ' ' ? [] : [{ type: 'text', value }]
      }
      case 'JSXElement':
        return [jsxOf(child)]
      case 'JSXFragment':
        return childrenOf(child)
      case 'JSXExpressionContainer':
        return child.expression.type === 'JSXEmptyExpression'
          ? []
          : [{ type: 'mdxTextExpression', value: '', data: { estree: programOf(child.expression) } }]
      default:
        return []
    }
  })
}
