import {
  type DocumentNode,
  execute,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  type OperationDefinitionNode,
  parse,
  specifiedRules,
  validate,
  visit,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Read } from '../../core/reads/read.js'
import { type Cost, CostOf, MAX_COST, refusalOf } from './cost.js'
import { tooCostly } from './errors.js'
import type { Fields } from './links.js'
import type { Reading } from './reading.js'

/** The parameters of a request. */
export interface Params {
  readonly query: string
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
}

/** An operation that is valid and within the limits. */
export interface Prepared {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: Readonly<Record<string, unknown>>
  readonly cost: Cost
  /** True if it reads something with arguments that are secrets of the client. */
  readonly isPrivate: boolean
}

/** Rows that cost as much as one request. */
const ROWS_PER_REQUEST = 100
const MAX_ERRORS = 5
/** The number of valid documents that are remembered: clients send a document again and again with other variables. */
const MAX_DOCUMENTS = 200
/** The maximum number of fields and fragments that a document selects: validation compares fields of one name in pairs. */
const MAX_SELECTIONS = 500
/** The maximum number of brackets within brackets. */
const MAX_BRACKETS = 100

/** Returns the number of requests that an operation counts as, by its computed cost. */
export function requestsOf({ rows }: Cost): number {
  return 1 + Math.floor(rows / ROWS_PER_REQUEST)
}

const fieldOf: GraphQLFieldResolver<Fields, Reading> = (object, _, reading, { fieldName }) =>
  reading.counted(object[fieldName])

/** Parses, validates and executes the operations of a schema. */
export class Operations {
  readonly #documents = new LRUCache<string, DocumentNode>({ max: MAX_DOCUMENTS })
  readonly #privateFields: ReadonlySet<string>

  /** @param reads of which the schema was made. */
  constructor(
    readonly schema: GraphQLSchema,
    reads: readonly Pick<Read, 'name' | 'isPrivate'>[],
  ) {
    this.#privateFields = new Set(reads.filter(({ isPrivate }) => isPrivate).map(({ name }) => name))
  }

  /** Returns an operation that can be executed, or the reasons why it cannot. */
  prepare({ query, operationName, variables }: Params): Prepared | readonly GraphQLError[] {
    try {
      const document = this.#document(query)
      if (!('kind' in document)) return document
      const operation = getOperationAST(document, operationName)
      if (operation === null || operation === undefined)
        return [new GraphQLError('operationName must name an operation of the document')]
      const values = variables ?? {}
      const { coerced = {}, errors } = getVariableValues(
        this.schema,
        operation.variableDefinitions ?? [],
        values,
        {
          maxErrors: MAX_ERRORS,
        },
      )
      if (errors !== undefined) return errors
      const cost = new CostOf(this.schema, document, coerced).operation(operation)
      const refusal = refusalOf(cost)
      if (refusal !== undefined) return [tooCostly(refusal)]
      return { document, operation, variables: values, cost, isPrivate: this.#isPrivate(document) }
    } catch (error) {
      if (error instanceof GraphQLError) return [error]
      throw error
    }
  }

  /** Returns a valid document, or its errors. @throws GraphQLError for a document that cannot be parsed or is too large. */
  #document(query: string): DocumentNode | readonly GraphQLError[] {
    const cached = this.#documents.get(query)
    if (cached !== undefined) return cached
    if (bracketsIn(query) > MAX_BRACKETS) throw tooCostly('the document nests too many brackets')
    const document = parsed(query)
    if (selectionsIn(document) > MAX_SELECTIONS)
      throw tooCostly(`a document may select at most ${String(MAX_SELECTIONS)} fields: send several`)
    const errors = validate(this.schema, document, specifiedRules, { maxErrors: MAX_ERRORS })
    if (errors.length > 0) return errors
    // It may contain the secret itself.
    if (!this.#isPrivate(document)) this.#documents.set(query, document)
    return document
  }

  #isPrivate(document: DocumentNode): boolean {
    let isPrivate = false
    visit(document, {
      Field: ({ name }) => {
        isPrivate ||= this.#privateFields.has(name.value)
      },
    })
    return isPrivate
  }

  /** Executes a query. @throws the first error of a field: there is no answer in part. */
  async execute({ document, operation, variables }: Prepared, reading: Reading): Promise<Fields> {
    const { data, errors } = await execute({
      schema: this.schema,
      document,
      rootValue: {},
      contextValue: reading,
      fieldResolver: fieldOf,
      operationName: operation.name?.value,
      variableValues: variables,
    })
    reading.assertComplete()
    const [error] = errors ?? []
    if (error !== undefined) throw error.originalError ?? error
    return { ...data }
  }
}

function parsed(query: string): DocumentNode {
  try {
    return parse(query, { maxTokens: MAX_COST.tokens })
  } catch (error) {
    if (error instanceof GraphQLError && error.message.includes('tokens'))
      throw tooCostly(`a document may have at most ${String(MAX_COST.tokens)} tokens: send several`)
    throw error
  }
}

function selectionsIn(document: DocumentNode): number {
  let count = 0
  const counted = (): void => {
    count++
  }
  visit(document, { Field: counted, FragmentSpread: counted, InlineFragment: counted })
  return count
}

/** Returns how deep brackets are nested, counting those in strings too. */
function bracketsIn(text: string): number {
  let [depth, deepest] = [0, 0]
  for (const bracket of text.matchAll(/[{}[\]()]/g)) {
    depth += '{[('.includes(bracket[0]) ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}
