import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql'
import { UNAUTHORIZED } from '../../core/answering/failure.js'
import { parseArguments } from '../../core/reads/arguments.js'
import {
  BadArgument,
  NotFound,
  type Range,
  type Read,
  type ReadContext,
  type TxDetail,
} from '../../core/reads/read.js'
import { resolveRead } from '../../core/answering/past.js'
import { WrittenAnswer } from '../../core/reads/written-answer.js'
import { assertNoPage, itemsFrom, kindOf, type ListAnswer, readAfter, withCursor } from './cursors.js'
import { Failed } from './errors.js'
import { type Fields, HAS_DETAIL } from './links.js'

/** The maximum size of an answer: about what the largest answer of REST has. */
const MAX_CHARACTERS = 16 * 2 ** 20
/** The size of a value beside the characters of a string. */
const VALUE_CHARACTERS = 16

export interface ReadingParts {
  readonly context: ReadContext
  /** @throws Failed if the index may not have reached what is missing. */
  readonly assertReached: (from: number) => void
  readonly isAuthorized: boolean
}

/** The reads of one operation. All use one state. */
export class Reading {
  readonly #parts: ReadingParts
  /** Answers by read and arguments: an operation reads nothing twice. */
  readonly #answers = new Map<string, Promise<Fields | null>>()
  /** The heights as of which objects of answers describe the chain, if not as of the newest block. */
  readonly #heights = new WeakMap<object, number>()
  #characters = 0
  #failure: Error | undefined

  constructor(parts: ReadingParts) {
    this.#parts = parts
  }

  get context(): ReadContext {
    return this.#parts.context
  }

  /**
   * Returns the answer of a read; null if what it reads does not exist. The first error fails the whole operation.
   * @param input the arguments of the field, and those that a link sets.
   * @param list the only list of the answer that is needed, if the field is an item of it.
   */
  async read(read: Read, input: Fields, info: GraphQLResolveInfo, list?: string): Promise<Fields | null> {
    try {
      this.assertComplete()
      if (read.needsToken === true && !this.#parts.isAuthorized) throw new Failed(UNAUTHORIZED)
      const args = argumentsOf(read, input)
      const after =
        typeof input['after'] === 'string' && !('cursor' in read.args) ? input['after'] : undefined
      const detail = HAS_DETAIL.has(read.name) ? detailOf(info, list) : undefined
      const key = JSON.stringify([read.name, args, after, detail])
      const cached = this.#answers.get(key)
      if (cached !== undefined) return await cached
      const answer = this.#answerAt({ read, detail }, args, after)
      this.#answers.set(key, answer)
      return await answer
    } catch (error) {
      this.#failure ??= error as Error
      throw error
    }
  }

  /** Counts a value of the answer. @throws Failed if the answer becomes too large. */
  counted(value: unknown): unknown {
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
    for (const text of texts)
      this.#characters += VALUE_CHARACTERS + (typeof text === 'string' ? text.length : 0)
    if (this.#characters <= MAX_CHARACTERS) return value
    const error = new Failed({
      code: 'HW_OPERATION_TOO_COSTLY',
      message: `the answer has more than ${String(MAX_CHARACTERS)} characters: lower limit or first of the lists`,
    })
    this.#failure ??= error
    throw error
  }

  /** Checks that no field has failed. @throws the first error of a field. */
  assertComplete(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Returns the height as of which an object of an answer describes the chain; undefined for the newest block. */
  heightOf(object: object): number | undefined {
    return this.#heights.get(object)
  }

  /** Makes an answer, and notes of its objects as of which height they are: links lead to answers as of the same height. */
  async #answerAt(selected: Selected, args: Fields, after: string | undefined): Promise<Fields | null> {
    const answer = await this.#answer(selected, args, after)
    const { at } = args
    if (typeof at === 'number') this.#noteHeight(answer, at)
    return answer
  }

  #noteHeight(value: unknown, height: number): void {
    if (typeof value !== 'object' || value === null) return
    this.#heights.set(value, height)
    for (const part of Object.values(value)) this.#noteHeight(part, height)
  }

  async #answer(selected: Selected, args: Fields, after: string | undefined): Promise<Fields | null> {
    const { read } = selected
    const kind = kindOf(read, args)
    if (kind === undefined) {
      if (after !== undefined) throw new BadArgument('this list has no cursors: request it with offset')
      return this.#resolved(selected, args)
    }
    const list = async (changed: Fields): Promise<ListAnswer> => {
      const answer = await this.#resolved(selected, { ...args, ...changed })
      if (answer === null) throw new NotFound('List not found')
      return answer as ListAnswer
    }
    const { page, offset, limit } = args as Readonly<Record<string, number | undefined>>
    try {
      const requested = { read, args, kind, context: this.context }
      if (after === undefined) {
        const start = offset ?? ((page ?? 1) - 1) * (limit ?? 1)
        return withCursor(requested, { start, answer: await list({}) })
      }
      assertNoPage(args)
      return await readAfter(requested, after, (start, count) =>
        page === undefined
          ? list({ offset: start, limit: count })
          : itemsFrom((number) => list({ page: number, limit: count }), start, count),
      )
    } catch (error) {
      if (error instanceof NotFound) return null
      throw error
    }
  }

  async #resolved({ read, detail }: Selected, args: Fields): Promise<Fields | null> {
    const { context, assertReached } = this.#parts
    try {
      const answer = await resolveRead(read, detail === undefined ? context : { ...context, detail }, args)
      if (answer instanceof WrittenAnswer) return (answer as WrittenAnswer<Fields>).parse()
      const from = args['at'] === undefined ? read.emptyFrom?.(args as never, answer as never) : undefined
      if (from !== undefined) assertReached(from)
      return answer as Fields
    } catch (error) {
      if (!(error instanceof NotFound)) throw error
      assertReached(error.from)
      return null
    }
  }
}

/** A read, and what the operation selects of its transactions. */
interface Selected {
  readonly read: Read
  readonly detail: TxDetail | undefined
}

/** Returns the parts of transactions that a field selects, anywhere below it. */
function detailOf(info: GraphQLResolveInfo, list?: string): TxDetail {
  const names = new Set<string>()
  for (const { selectionSet } of info.fieldNodes) addNames(names, selectionSet, info.fragments)
  const range = (name: string): Range => ((list === undefined ? names.has(name) : list === name) ? ALL : NONE)
  return { inputs: range('inputs'), outputs: range('outputs'), witness: names.has('witness') }
}

const ALL: Range = { from: 0, count: Number.MAX_SAFE_INTEGER }
const NONE: Range = { from: 0, count: 0 }

/** Adds the names of all selected fields. A valid document has no cycles of fragments. */
function addNames(
  names: Set<string>,
  selected: SelectionSetNode | undefined,
  fragments: GraphQLResolveInfo['fragments'],
): void {
  for (const each of selected?.selections ?? []) {
    if (each.kind === Kind.FRAGMENT_SPREAD) {
      const key = `... ${each.name.value}`
      if (names.has(key)) continue
      names.add(key)
      addNames(names, fragments[each.name.value]?.selectionSet, fragments)
      continue
    }
    if (each.kind === Kind.FIELD) names.add(each.name.value)
    addNames(names, each.selectionSet, fragments)
  }
}

/** The names that arguments have besides their own. */
const ALIASES: Readonly<Record<string, string>> = { limit: 'first', cursor: 'after' }

/** Returns the arguments of a read, as REST parses them. @throws BadArgument. */
function argumentsOf(read: Read, input: Fields): Fields {
  return parseArguments(read.args, (name) => {
    const value = input[ALIASES[name] ?? name] ?? input[name]
    if (value === undefined || value === null) return undefined
    // Lists are parsed as they are.
    if (Array.isArray(value)) return value as string[]
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}
