import type { Expression, JSXAttribute, JSXElement, JSXFragment, ObjectExpression, Program } from 'estree-jsx'
import type { Nodes, RootContent } from 'mdast'
import type {} from 'remark-mdx'

export type Jsx = Extract<Nodes, { type: 'mdxJsxFlowElement' | 'mdxJsxTextElement' }>

/** JSX inside an expression, as the nodes that it would be outside. */
export class Markup {
  constructor(readonly nodes: readonly RootContent[]) {}
}

export type Scalar = string | number | boolean | null | Markup
export type Literal = Scalar | readonly Literal[] | ReadonlyMap<string, Literal>

/** Values by the names that expressions use for them. */
export type Scope = ReadonlyMap<string, Literal>

declare module 'estree' {
  interface Program {
    /** The values of the names in an expression of a page. */
    scope?: Scope
  }
}

/**
 * Returns the value of an expression that consists of literals and of names in its scope; undefined if it has none. Parts that would
 * have to be evaluated are left out.
 * @param leftOut called for each such part.
 */
export function literalOf(program: Program | null | undefined, leftOut: () => void): Literal | undefined {
  const [statement] = program?.body ?? []
  // A comment alone has no statement.
  return statement?.type === 'ExpressionStatement'
    ? valueOf(statement.expression, program?.scope ?? NO_NAMES, leftOut)
    : undefined
}

const NO_NAMES: Scope = new Map()

/** Returns the value of an expression, as `literalOf` does. */
export const valueOf = (node: Expression, scope: Scope, leftOut: () => void): Literal | undefined =>
  new Evaluation(scope, leftOut).value(node)

class Evaluation {
  readonly #scope: Scope
  readonly #leftOut: () => void

  constructor(scope: Scope, leftOut: () => void) {
    this.#scope = scope
    this.#leftOut = leftOut
  }

  value(node: Expression): Literal | undefined {
    switch (node.type) {
      case 'ArrayExpression':
        return node.elements.flatMap((each) => {
          if (each === null) return []
          if (each.type === 'SpreadElement') {
            this.#leftOut()
            return []
          }
          const value = this.value(each)
          return value === undefined ? [] : [value]
        })
      case 'ObjectExpression':
        return new Map(node.properties.flatMap((each) => this.#entry(each)))
      case 'JSXElement':
      case 'JSXFragment':
        return new Markup(new MarkupNodes(this.#scope).of(node))
      case 'Identifier':
        if (node.name === 'undefined') return undefined
        break
      case 'UnaryExpression':
        if (node.operator === 'void') return undefined
        break
      default:
        break
    }
    const value = this.#whole(node)
    if (value === undefined) this.#leftOut()
    return value
  }

  #entry(property: ObjectExpression['properties'][number]): [string, Literal][] {
    const name = property.type === 'Property' && !property.computed ? nameOfKey(property.key) : undefined
    if (property.type !== 'Property' || property.kind !== 'init' || name === undefined) {
      this.#leftOut()
      return []
    }
    const value = this.value(property.value as Expression)
    return value === undefined ? [] : [[name, value]]
  }

  /** Returns the value of an expression no part of which is left out; undefined if it has none. */
  #whole(node: Expression): Literal | undefined {
    switch (node.type) {
      case 'Literal': {
        const { value } = node
        if (typeof value === 'bigint') return String(value)
        return value instanceof RegExp ? undefined : value
      }
      case 'TemplateLiteral': {
        const values = node.expressions.map((each) => this.#part(each))
        if (!values.every(isPrintable)) return undefined
        return node.quasis
          .map(({ value }, at) => (value.cooked ?? value.raw) + String(values[at] ?? ''))
          .join('')
      }
      case 'UnaryExpression': {
        const value = this.#part(node.argument)
        if (node.operator === '!') return value === undefined ? undefined : !isTruthy(value)
        return node.operator === '-' && typeof value === 'number' ? -value : undefined
      }
      case 'BinaryExpression':
        if (node.left.type === 'PrivateIdentifier') return undefined
        return calculated(node.operator, this.#part(node.left), this.#part(node.right))
      case 'ConditionalExpression': {
        const test = this.#part(node.test)
        return test === undefined ? undefined : this.#part(isTruthy(test) ? node.consequent : node.alternate)
      }
      case 'MemberExpression': {
        if (node.object.type === 'Super' || node.property.type === 'PrivateIdentifier') return undefined
        const key = node.computed ? this.#part(node.property) : nameOfKey(node.property)
        return memberOf(this.#part(node.object), key)
      }
      case 'Identifier':
        return this.#scope.get(node.name)
      default:
        // Not in the types of acorn.
        return (node.type as string) === 'ParenthesizedExpression'
          ? this.#part((node as unknown as { expression: Expression }).expression)
          : undefined
    }
  }

  /** Returns the value of a part; undefined if any part of it is left out. */
  #part(node: Expression): Literal | undefined {
    let isWhole = true
    const value = valueOf(node, this.#scope, () => (isWhole = false))
    return isWhole ? value : undefined
  }
}

function calculated(
  operator: string,
  left: Literal | undefined,
  right: Literal | undefined,
): Literal | undefined {
  if (
    operator === '+' &&
    isText(left) &&
    isText(right) &&
    [left, right].some((each) => typeof each === 'string')
  )
    return `${String(left)}${String(right)}`
  if (typeof left !== 'number' || typeof right !== 'number') return undefined
  const result = CALCULATIONS[operator]?.(left, right)
  return Number.isFinite(result) ? result : undefined
}

const CALCULATIONS: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
  '**': (left, right) => left ** right,
}

function memberOf(object: Literal | undefined, key: Literal | undefined): Literal | undefined {
  if (object instanceof Map) return typeof key === 'string' ? (object as Scope).get(key) : undefined
  if (!Array.isArray(object) && typeof object !== 'string') return undefined
  if (key === 'length') return object.length
  return typeof key === 'number' ? (object[key] as Literal | undefined) : undefined
}

const isTruthy = (value: Literal): boolean => value !== null && value !== false && value !== 0 && value !== ''

const isText = (value: Literal | undefined): value is string | number =>
  typeof value === 'string' || typeof value === 'number'

const isPrintable = (value: Literal | undefined): value is string | number | boolean =>
  isText(value) || typeof value === 'boolean'

const nameOfKey = (key: { type: string; name?: string; value?: unknown }): string | undefined =>
  key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : undefined

type JsxName = JSXElement['openingElement']['name'] | JSXAttribute['name']

function jsxName(name: JsxName): string {
  if (name.type === 'JSXIdentifier') return name.name
  if (name.type === 'JSXMemberExpression') return `${jsxName(name.object)}.${name.property.name}`
  return `${name.namespace.name}:${name.name.name}`
}

type AttributeValue = Extract<Jsx['attributes'][number], { type: 'mdxJsxAttribute' }>['value']

/** Converts JSX in an expression to the nodes that it would be outside of it, so that both are converted alike. */
class MarkupNodes {
  readonly #scope: Scope

  constructor(scope: Scope) {
    this.#scope = scope
  }

  of(node: JSXElement | JSXFragment): RootContent[] {
    return node.type === 'JSXElement' ? [this.#element(node)] : this.#children(node)
  }

  #element(element: JSXElement): Jsx {
    const { openingElement } = element
    return {
      type: 'mdxJsxTextElement',
      name: jsxName(openingElement.name),
      attributes: openingElement.attributes.flatMap((each): Jsx['attributes'] => {
        if (each.type === 'JSXSpreadAttribute') return []
        return [
          { type: 'mdxJsxAttribute', name: jsxName(each.name), value: this.#attributeValue(each.value) },
        ]
      }),
      children: this.#children(element) as Jsx['children'],
    } as Jsx
  }

  #attributeValue(value: JSXAttribute['value']): AttributeValue {
    if (value === null) return null
    if (value.type === 'Literal') return String(value.value)
    const expression = value.type === 'JSXExpressionContainer' ? value.expression : value
    if (expression.type === 'JSXEmptyExpression') return null
    return {
      type: 'mdxJsxAttributeValueExpression',
      value: '',
      data: { estree: programOf(expression, this.#scope) },
    }
  }

  #children({ children }: JSXElement | JSXFragment): RootContent[] {
    return children.flatMap((child): RootContent[] => {
      switch (child.type) {
        case 'JSXText': {
          const value = child.value.replace(/\s*\n\s*/g, ' ')
          return value.trim() === '' && value !== ' ' ? [] : [{ type: 'text', value }]
        }
        case 'JSXElement':
        case 'JSXFragment':
          return this.of(child)
        case 'JSXExpressionContainer': {
          if (child.expression.type === 'JSXEmptyExpression') return []
          const estree = programOf(child.expression, this.#scope)
          return [{ type: 'mdxTextExpression', value: '', data: { estree } }]
        }
        default:
          return []
      }
    })
  }
}

/** Returns an expression as the program that a parser makes of it. */
export const programOf = (expression: Expression, scope?: Scope): Program => ({
  type: 'Program',
  sourceType: 'module',
  comments: [],
  body: [{ type: 'ExpressionStatement', expression }],
  ...(scope && { scope }),
})
