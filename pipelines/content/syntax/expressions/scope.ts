import type { Root, RootContent } from 'mdast'
import { visit } from 'unist-util-visit'
import type { Declaration, Directive, Expression, ModuleDeclaration, Program, Statement } from 'estree-jsx'
import { valueOf, type Literal, type Scope } from './literals.js'

/** The names under which components of Docusaurus and of Astro know the frontmatter. */
const FRONTMATTER = ['frontMatter', 'frontmatter']

/** Gives the expressions of a page the values of its constants and of its frontmatter, in place. */
export function bindNames(root: Root, frontmatter: Readonly<Record<string, unknown>>): void {
  const scope = scopeOf(root, frontmatter)
  const bind = (program: Program | null | undefined): void => {
    if (program !== null && program !== undefined) program.scope = scope
  }
  visit(root, (node) => {
    if (node.type === 'mdxFlowExpression' || node.type === 'mdxTextExpression') bind(node.data?.estree)
    if (node.type !== 'mdxJsxFlowElement' && node.type !== 'mdxJsxTextElement') return
    for (const { value } of node.attributes)
      if (typeof value === 'object' && value !== null) bind(value.data?.estree)
  })
}

/** Returns the constants that a page declares in its order, if they have a value that need not be evaluated. */
function scopeOf({ children }: Root, frontmatter: Readonly<Record<string, unknown>>): Scope {
  const scope = new Map<string, Literal>()
  const fields = literal(frontmatter)
  if (fields !== undefined) for (const name of FRONTMATTER) scope.set(name, fields)
  for (const [name, init] of children.flatMap(constantsOf)) {
    let isWhole = true
    const value = valueOf(init, scope, () => (isWhole = false))
    if (isWhole && value !== undefined) scope.set(name, value)
  }
  return scope
}

function constantsOf(node: RootContent): [string, Expression][] {
  return node.type === 'mdxjsEsm' ? (node.data?.estree?.body ?? []).flatMap(declaredBy) : []
}

function declaredBy(
  node: Directive | Statement | ModuleDeclaration | Declaration | null | undefined,
): [string, Expression][] {
  if (node?.type === 'ExportNamedDeclaration') return declaredBy(node.declaration)
  if (node?.type !== 'VariableDeclaration' || node.kind !== 'const') return []
  return node.declarations.flatMap(({ id, init }): [string, Expression][] =>
    id.type === 'Identifier' && init !== null && init !== undefined ? [[id.name, init]] : [],
  )
}

/** Returns a value of YAML or TOML as the value of an expression; undefined if it is none. */
function literal(value: unknown): Literal | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.flatMap((each) => literal(each) ?? [])
  if (typeof value !== 'object' || value instanceof Date) return undefined
  const entries = Object.entries(value).flatMap(([name, each]): [string, Literal][] => {
    const inner = literal(each)
    return inner === undefined ? [] : [[name, inner]]
  })
  return new Map(entries)
}
