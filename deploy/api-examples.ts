/** Takes the examples of OpenAPI from the pages of the documentation: `npm run proto`. No service imports this file. */
import { sendTransaction } from '../services/explorer/core/commands/send-transaction.js'
import type { Examples } from '../services/explorer/faces/rest/description/examples.js'
import { READS } from '../services/explorer/core/reads/index.js'
import type { Read } from '../services/explorer/core/reads/read.js'

/** A request in a code block of a page, and its answer in the next one. A test compares them with real answers. */
export interface PageExample {
  /** Path and query. */
  readonly path: string
  /** The body of a POST request. */
  readonly body?: string
  readonly answer: unknown
}

const EXAMPLE =
  /```sh\ncurl (?:-d '([^']*)' )?"?http:\/\/127\.0\.0\.1:8080(\/[^\s"]*)"?\n```\n\n```json\n([\s\S]*?)```/g

type Described = Pick<Read, 'name' | 'path'>

/** Returns the examples of a page. @throws SyntaxError if an answer is not JSON. */
export function pageExamples(source: string): PageExample[] {
  return [...source.matchAll(EXAMPLE)].map(([, body, path = '', json = '']) => ({
    path,
    ...(body === undefined ? {} : { body }),
    answer: JSON.parse(json) as unknown,
  }))
}

/**
 * Returns the shortest successful example of each read, and of the command that broadcasts.
 * @param sources the pages of the documentation.
 * @throws Error if a read has none.
 */
export function apiExamples(
  sources: readonly string[],
  reads: readonly Described[] = [...READS, sendTransaction],
): Examples {
  const examples = sources.flatMap(pageExamples).filter(({ answer }) => !isError(answer))
  // Paths without parameters take precedence, as in the router.
  const patterns = reads
    .map((read) => [new RegExp(`^/api/v1${read.path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`), read] as const)
    .sort(([, one], [, other]) => Number(one.path.includes(':')) - Number(other.path.includes(':')))
  const readOf = (path: string): Described | undefined =>
    patterns.find(([pattern]) => pattern.test(path))?.[1]
  const length = ({ answer }: PageExample): number => JSON.stringify(answer).length
  return Object.fromEntries(
    reads.map((read) => {
      const own = examples.filter(({ path }) => readOf(path.replace(/\?.*/, '')) === read)
      const [shortest] = own.sort((one, other) => length(one) - length(other))
      if (shortest === undefined) throw new Error(`no page of content/ has an example of ${read.name}`)
      const { pathname, searchParams } = new URL(shortest.path, 'http://explorer')
      const inPath = patterns.find(([, each]) => each === read)?.[0].exec(pathname)?.groups ?? {}
      const inBody = JSON.parse(shortest.body ?? '{}') as Record<string, unknown>
      const args = { ...inPath, ...Object.fromEntries(searchParams), ...inBody }
      return [read.name, { args, answer: shortest.answer }] as const
    }),
  )
}

const isError = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && 'error' in answer
