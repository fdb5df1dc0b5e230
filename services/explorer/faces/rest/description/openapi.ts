import { KindGuard, Type, type TSchema } from '@sinclair/typebox'
import { addressHistoryCsv } from '../history-csv.js'
import { rangeOf } from '../../../core/reads/arguments.js'
import { sendTransaction } from '../../../core/commands/send-transaction.js'
import { Health } from '../../../core/health/health.js'
import type { Read } from '../../../core/reads/read.js'
import { describedReads } from '../../../core/reads/shape-names.js'
import { commandErrors, errorsOf, RESPONSES, STATE_HEADERS } from './errors.js'
import type { Examples } from './examples.js'
import { Components, type Json } from './json-schema.js'

const DESCRIPTION = `Blocks, transactions, addresses and statistics of the chain. Amounts are decimal strings in base units, times ISO 8601 in \
UTC. New fields may be added to an answer at any time, and unknown parameters are ignored. Every answer of the chain names the \
state that it describes in \`x-chain-height\` and \`x-chain-tip\`, and has an ETag. The feed of events is described by \`/asyncapi.json\`.`

/** The sources of the document. */
export interface Described {
  readonly reads: readonly Read[]
  /** A real answer to each read. */
  readonly examples: Examples
  /** False to leave out what only chains with Dilithium signatures have. */
  readonly hasDilithium: boolean
  /** True if the reads with `needsToken` require a token. */
  readonly hasToken: boolean
  /** True if transactions may be broadcast. */
  readonly hasBroadcast: boolean
  /** The path below which clients reach the explorer. */
  readonly basePath?: string | undefined
}

const pathOf = (path: string): string => `/api/v1${path.replace(/:(\w+)/g, '{$1}')}`

/** Returns the description of the REST API, in OpenAPI 3.1. */
export function openApi({
  reads,
  examples,
  hasDilithium,
  hasToken,
  hasBroadcast,
  basePath = '',
}: Described): Json {
  const components = new Components(hasDilithium)
  const paths = describedReads(reads, hasDilithium).map((read): [string, Json] => [
    pathOf(read.path),
    { [read.method === 'POST' ? 'post' : 'get']: operationOf(read, components, { examples, hasToken }) },
  ])
  return {
    openapi: '3.1.0',
    info: { title: 'Headwater explorer', version: '1', description: DESCRIPTION, license: LICENSE },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    paths: {
      ...Object.fromEntries(paths),
      ...historyFile(components),
      ...(hasBroadcast ? broadcasting(components, examples) : {}),
      ...services(components),
    },
    components: {
      schemas: components.schemas,
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: RESPONSES,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'HEALTH_API_TOKEN of the operator, if it is set',
        },
      },
    },
  }
}

const LICENSE = { name: 'MIT', identifier: 'MIT' }

const PARAMETERS: Json = {
  MinChainHeight: {
    name: 'x-min-chain-height',
    in: 'header',
    description: 'Waits up to two seconds for this height: an integer from 0 to 9999999999. Empty is none.',
    // The HTTP library trims spaces, and characters outside ASCII, from the ends of a header.
    schema: { type: 'string', pattern: '^[^!-\\x7f]*[0-9]{0,10}[^!-\\x7f]*$' },
    example: '0',
  },
  IfNoneMatch: {
    name: 'if-none-match',
    in: 'header',
    description: 'ETags of answers that the client has; 304 if one of them is still valid.',
    schema: { type: 'string' },
  },
}

const HEADERS: Json = {
  ChainHeight: {
    description: 'Height of the chain that the answer describes; -1 before the first block.',
    required: true,
    schema: { type: 'integer', minimum: -1 },
  },
  ChainTip: {
    description: 'Hash of the newest block of that chain; empty before the first block.',
    required: true,
    schema: { type: 'string' },
  },
  ETag: { description: 'Identifies the bytes of the answer.', required: true, schema: { type: 'string' } },
  CacheControl: {
    description: 'no-cache, or a day for an answer that does not change any more.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'The limit that the client has exceeded, what is left of it (r), and the seconds until it is reset (t).',
    schema: { type: 'string' },
    example: '"requests";r=0;t=12',
  },
  RateLimitPolicy: {
    description: 'That limit: the requests (q) per window of seconds (w).',
    schema: { type: 'string' },
    example: '"requests";q=100;w=60',
  },
  RetryAfter: {
    description: 'Seconds after which the client may retry.',
    schema: { type: 'integer', minimum: 0 },
  },
}

const CACHE_HEADERS: Json = {
  ...STATE_HEADERS,
  etag: { $ref: '#/components/headers/ETag' },
  'cache-control': { $ref: '#/components/headers/CacheControl' },
}

function operationOf(
  read: Read,
  components: Components,
  { examples, hasToken }: Pick<Described, 'examples' | 'hasToken'>,
): Json {
  const { name, method, about, args, answer, fresh, needsToken } = read
  const example = examples[name]
  const isOfChain = fresh !== 'outside'
  const isPost = method === 'POST'
  const parameters = Object.entries(isPost ? {} : args).map(([argument, schema]) => {
    return parameterOf(read, argument, schema, components, example?.args[argument])
  })
  const headers = (isPost ? ['MinChainHeight'] : ['MinChainHeight', 'IfNoneMatch']).map((each) => ({
    $ref: `#/components/parameters/${each}`,
  }))
  return {
    operationId: name,
    summary: about,
    parameters: isOfChain ? [...parameters, ...headers] : parameters,
    ...(isPost ? { requestBody: bodyOf(args, components, example?.args) } : {}),
    ...(needsToken === true ? { security: hasToken ? [{ token: [] }] : [{}, { token: [] }] } : {}),
    responses: {
      200: {
        description: 'The answer.',
        ...(isOfChain ? { headers: CACHE_HEADERS } : {}),
        content: {
          'application/json': {
            schema: components.of(answer),
            ...(example === undefined ? {} : { example: example.answer }),
          },
        },
      },
      ...(isOfChain && !isPost
        ? { 304: { description: 'The answer of the client is still valid.', headers: CACHE_HEADERS } }
        : {}),
      ...errorsOf(read, hasToken),
    },
  }
}

function parameterOf(
  { path }: Pick<Read, 'path'>,
  name: string,
  declared: TSchema,
  components: Components,
  example: unknown,
): Json {
  const { description: about = '', ...schema } = components.of(declared)
  const isInPath = path.split('/').includes(`:${name}`)
  return {
    name,
    in: isInPath ? 'path' : 'query',
    required: isInPath || !('default' in declared || KindGuard.IsOptional(declared)),
    description: `${sentence(String(about))}: ${rangeOf(declared)}.`,
    schema,
    ...(example === undefined ? {} : { example }),
  }
}

/** Returns the body of a POST request: a JSON object with the arguments. */
function bodyOf(args: Read['args'], components: Components, example?: Json): Json {
  const properties = Object.entries(args).map(([name, declared]): [string, Json] => {
    const { description = '', ...schema } = components.of(declared)
    return [name, { ...schema, description: `${String(description)}: ${rangeOf(declared)}` }]
  })
  const required = Object.entries(args).filter(
    ([, each]) => !('default' in each || KindGuard.IsOptional(each)),
  )
  return {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: required.map(([name]) => name),
          properties: Object.fromEntries(properties),
        },
        ...(example === undefined ? {} : { example }),
      },
    },
  }
}

/** Returns the path of the command that broadcasts a transaction. */
function broadcasting(components: Components, examples: Examples): Json {
  const { name, about, path, args, answer } = sendTransaction
  const example = examples[name]
  const post = {
    operationId: name,
    summary: about,
    requestBody: broadcastBody(components, example?.args),
    responses: {
      200: {
        description: 'The transaction is in the mempool of the node, or in the chain.',
        content: {
          'application/json': {
            schema: components.of(answer),
            ...(example === undefined ? {} : { example: example.answer }),
          },
        },
      },
      ...commandErrors(args),
    },
  }
  return { [pathOf(path)]: { post } }
}

/** Returns the body of a transaction: a JSON object, or its serialisation as text. */
function broadcastBody(components: Components, example?: Json): Json {
  const { required, content } = bodyOf(sendTransaction.args, components, example) as {
    required: Json
    content: Readonly<Record<string, Json>>
  }
  const { description, pattern, maxLength } = sendTransaction.args.hex
  const schema = { type: 'string', description, pattern, maxLength }
  return { required, content: { ...content, 'text/plain': { schema } } }
}

/** Returns the path of the history of an address as a file. */
function historyFile(components: Components): Json {
  const { name, about, path, args } = addressHistoryCsv
  const get = {
    operationId: name,
    summary: about,
    parameters: [
      parameterOf({ path }, 'address', args.address, components, undefined),
      { $ref: '#/components/parameters/MinChainHeight' },
    ],
    responses: {
      200: {
        description: 'The file. Its last line is an error if it could not be completed.',
        headers: STATE_HEADERS,
        content: { 'text/csv': { schema: { type: 'string' } } },
      },
      ...errorsOf({ args, fresh: 'objects' }, false),
    },
  }
  return { [pathOf(path)]: { get } }
}

/** Returns the paths that are not reads. */
function services(components: Components): Json {
  const json = (description: string, schema: TSchema): Json => ({
    description,
    content: { 'application/json': { schema: components.of(schema) } },
  })
  const document = (operationId: string, summary: string): Json => ({
    get: {
      operationId,
      summary,
      security: [],
      responses: {
        200: {
          ...json('The document.', Type.Object({})),
          headers: { etag: { $ref: '#/components/headers/ETag' } },
        },
      },
    },
  })
  return {
    '/health': {
      get: {
        operationId: 'health',
        summary: 'Whether the explorer can answer, and what it follows.',
        responses: {
          200: json('The explorer can answer.', Health),
          503: json('The database is unreachable, or the explorer is not ready yet.', Health),
        },
      },
    },
    '/metrics': {
      get: {
        operationId: 'metrics',
        summary: 'Metrics in the text format of Prometheus.',
        responses: {
          200: { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
        },
      },
    },
    '/openapi.json': document('openapi', 'This document.'),
    '/asyncapi.json': document('asyncapi', 'The description of the feed of events, in AsyncAPI 3.0.'),
  }
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
