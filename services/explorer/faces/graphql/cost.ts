import {
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  getArgumentValues,
  type GraphQLCompositeType,
  type GraphQLField,
  GraphQLObjectType,
  type GraphQLSchema,
  isCompositeType,
  isIntrospectionType,
  Kind,
  type DocumentNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from 'graphql'

type Values = Readonly<Record<string, unknown>>

/** The cost of a field, in the `extensions` of its declaration. */
export interface FieldCost {
  /** Returns the rows that the field itself reads. */
  readonly rows?: (args: Values) => number
  /** Returns how often the fields below the field are read. @param limit the limit of the list that contains the field. */
  readonly times?: (args: Values, limit: number) => number
  /** Returns the limit of the list that the answer of the field is. */
  readonly limit?: (args: Values) => number
}

/** The most that an operation may need, computed from the declared limits of its lists. */
export interface Cost {
  /** Rows to read. */
  readonly rows: number
  /** Values in the answer. */
  readonly values: number
  /** Fields within fields. */
  readonly depth: number
  readonly aliases: number
}

/** The limits of an operation. */
export const MAX_COST: Cost & { readonly tokens: number } = {
  rows: 5_000,
  values: 100_000,
  depth: 20,
  aliases: 30,
  tokens: 2_000,
}

const NOTHING: Cost = { rows: 0, values: 0, depth: 0, aliases: 0 }

const plus = (one: Cost, other: Cost): Cost => ({
  rows: one.rows + other.rows,
  values: one.values + other.values,
  depth: Math.max(one.depth, other.depth),
  aliases: one.aliases + other.aliases,
})

/** Describes why an operation is refused, and what to reduce; undefined if it is within the limits. */
export function refusalOf(cost: Cost): string | undefined {
  if (cost.depth > MAX_COST.depth) return tooMuch('depth', cost, 'nest fewer fields')
  if (cost.aliases > MAX_COST.aliases) return tooMuch('aliases', cost, 'send several operations')
  if (cost.rows > MAX_COST.rows) return tooMuch('rows', cost, 'lower limit or first of the nested lists')
  if (cost.values > MAX_COST.values)
    return tooMuch('values', cost, 'select fewer fields, or lower limit or first of the nested lists')
  return undefined
}

const tooMuch = (what: keyof Cost, cost: Cost, advice: string): string =>
  `the operation has a cost of ${String(Math.min(Math.ceil(cost[what]), Number.MAX_SAFE_INTEGER))} ${what}, the maximum is ${String(MAX_COST[what])}: ${advice}`

/** Computes the cost of an operation that has been validated. */
export class CostOf {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  /** Costs of fragments, by name and limit: each is computed once, however often it is spread. */
  readonly #known = new Map<string, Cost>()

  constructor(
    private readonly schema: GraphQLSchema,
    document: DocumentNode,
    private readonly variables: Values,
  ) {
    this.#fragments = new Map(
      document.definitions
        .filter((each) => each.kind === Kind.FRAGMENT_DEFINITION)
        .map((each) => [each.name.value, each]),
    )
  }

  /** Returns the cost. @throws GraphQLError for an invalid argument. */
  operation({ operation, selectionSet }: OperationDefinitionNode): Cost {
    const root = this.schema.getRootType(operation)
    return root === undefined || root === null ? NOTHING : this.#selections(selectionSet, root, 1)
  }

  /** @param limit the limit of the list that contains the object. */
  #selections({ selections }: SelectionSetNode, type: GraphQLCompositeType, limit: number): Cost {
    let cost = NOTHING
    for (const each of selections) {
      if (each.kind === Kind.FIELD) cost = plus(cost, this.#field(each, type, limit))
      else if (each.kind === Kind.INLINE_FRAGMENT)
        cost = plus(
          cost,
          this.#selections(each.selectionSet, this.#typeOf(each.typeCondition?.name.value, type), limit),
        )
      else cost = plus(cost, this.#fragment(each.name.value, type, limit))
    }
    return cost
  }

  #fragment(name: string, type: GraphQLCompositeType, limit: number): Cost {
    const key = `${name} ${String(limit)}`
    const cached = this.#known.get(key)
    if (cached !== undefined) return cached
    const fragment = this.#fragments.get(name)
    if (fragment === undefined) return NOTHING
    const cost = this.#selections(
      fragment.selectionSet,
      this.#typeOf(fragment.typeCondition.name.value, type),
      limit,
    )
    this.#known.set(key, cost)
    return cost
  }

  #typeOf(name: string | undefined, otherwise: GraphQLCompositeType): GraphQLCompositeType {
    const type = name === undefined ? undefined : this.schema.getType(name)
    return isCompositeType(type) ? type : otherwise
  }

  #field(node: FieldNode, type: GraphQLCompositeType, limit: number): Cost {
    const own = { rows: 0, values: 1, depth: 1, aliases: node.alias === undefined ? 0 : 1 }
    const field = this.#definition(node.name.value, type)
    if (field === undefined) return own
    const { rows = () => 0, times = () => 1, limit: limitOf = () => 1 } = this.#costOf(field, type)
    const args = getArgumentValues(field, node, this.variables)
    const below = getNamedType(field.type)
    if (node.selectionSet === undefined || !isCompositeType(below)) return { ...own, rows: rows(args) }
    const within = this.#selections(node.selectionSet, below, limitOf(args))
    const count = times(args, limit)
    return {
      rows: rows(args) + count * within.rows,
      values: 1 + count * (1 + within.values),
      depth: 1 + within.depth,
      aliases: own.aliases + within.aliases,
    }
  }

  #definition(name: string, type: GraphQLCompositeType): GraphQLField<unknown, unknown> | undefined {
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef
    return type instanceof GraphQLObjectType ? type.getFields()[name] : undefined
  }

  #costOf(field: GraphQLField<unknown, unknown>, type: GraphQLCompositeType): FieldCost {
    if (!isIntrospectionType(type)) return field.extensions as FieldCost
    const times = this.#introspected()[field.name]
    return times === undefined ? {} : { times: () => times }
  }

  /** Returns the lengths of the lists of the introspection: of all types, and on average within one. */
  #introspected(): Readonly<Record<string, number>> {
    const types = Object.values(this.schema.getTypeMap())
    const fields = types.flatMap((each) =>
      each instanceof GraphQLObjectType ? Object.values(each.getFields()) : [],
    )
    const args = fields.reduce((sum, each) => sum + each.args.length, 0)
    return {
      types: types.length,
      // Not rounded, so that their products are the numbers of all fields and of all arguments.
      fields: fields.length / types.length,
      args: args / fields.length,
      enumValues: 2,
      directives: this.schema.getDirectives().length,
    }
  }
}
