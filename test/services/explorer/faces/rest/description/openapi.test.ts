import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { parseTx } from '../../../../../../pipelines/chain/transaction.js'
import { type ClientError, HTTP_STATUS } from '../../../../../../pipelines/errors.js'
import {
  DATABASE_UNAVAILABLE,
  type Failure,
  NODE_UNAVAILABLE,
  NOT_READY,
  OVERLOADED,
  overLimit,
  UNAUTHORIZED,
} from '../../../../../../services/explorer/core/answering/failure.js'
import { asyncApi } from '../../../../../../services/explorer/faces/rest/description/asyncapi.js'
import { readExamples } from '../../../../../../services/explorer/faces/rest/description/examples.js'
import { openApi } from '../../../../../../services/explorer/faces/rest/description/openapi.js'
import { ADDRESS, CHANNELS } from '../../../../../../services/explorer/core/feed/channels.js'
import { Feed } from '../../../../../../services/explorer/core/feed/feed.js'
import { failureAnswer } from '../../../../../../services/explorer/http/answer.js'
import { READS } from '../../../../../../services/explorer/core/reads/index.js'
import { nameOf, SHAPES, type ShapeName } from '../../../../../../services/explorer/core/reads/shape-names.js'
import { isInUrl, isRequired } from '../../../edges.js'
import { FakeSocket } from '../../websocket/fake-socket.js'

/* eslint-disable @typescript-eslint/no-explicit-any -- documents, read as their users do */

const describeWith = (hasToken: boolean, hasBroadcast = false): any =>
  openApi({ reads: READS, examples: readExamples(), hasDilithium: true, hasToken, hasBroadcast })
const openapi = describeWith(false)
const asyncapi: any = asyncApi(true)
const operationOf = (name: string, document = openapi): any =>
  Object.values<any>(document.paths)
    .flatMap((path) => Object.values<any>(path))
    .find(({ operationId }) => operationId === name)

/** Returns the arguments in the body of a POST request. */
function argumentsInBody({ requestBody }: any): { name: string; required: boolean; description: string }[] {
  const { required, properties } = requestBody.content['application/json'].schema
  return Object.entries<any>(properties).map(([name, { description }]) => ({
    name,
    required: required.includes(name) as boolean,
    description: `${String(description).replace(/^./, (first) => first.toUpperCase())}.`,
  }))
}

/** Returns every reference within a document. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) =>
    key === '$ref' ? [each as string] : referencesIn(each),
  )
}

const targetOf = (document: any, reference: string): unknown =>
  reference
    .replace(/^#\//, '')
    .split('/')
    .reduce((at: any, part) => at?.[part], document)

describe.each([
  ['OpenAPI', openapi],
  ['AsyncAPI', asyncapi],
])('the %s document', (_, document) => {
  it('refers to what it contains', () => {
    const references = referencesIn(document)
    expect(references.length).toBeGreaterThan(20)
    expect(references.filter((each) => targetOf(document, each) === undefined)).toEqual([])
  })
})

describe('the OpenAPI document', () => {
  it.each([false, true])('is valid OpenAPI 3.1, with everything configured: %s', async (isOn) => {
    const validator = new Validator()
    expect(await validator.validate(describeWith(isOn, isOn))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect((await validator.validate({ ...openapi, paths: { '/x': { get: 7 } } })).valid).toBe(false)
  })

  it('contains every read, argument, and shape of an answer', () => {
    for (const read of READS) {
      const path = openapi.paths[`/api/v1${read.path.replace(/:(\w+)/g, '{$1}')}`]
      const operation = path?.[isInUrl(read) ? 'get' : 'post']
      expect(operation?.operationId, read.path).toBe(read.name)
      const own = isInUrl(read)
        ? operation.parameters.filter((each: any) => each.$ref === undefined)
        : argumentsInBody(operation)
      expect(own.map((each: any) => each.name)).toEqual(Object.keys(read.args))
      for (const { name, required, description } of own) {
        expect(required, `${read.name} ${String(name)}`).toBe(isRequired(read, name))
        expect(description, `${read.name} ${String(name)}`).toMatch(/^[A-Z].*: .+\.$/)
      }
    }
    // Those of events alone are in the description of the feed.
    const events = new Set([...CHANNELS, ADDRESS].map(({ event }) => nameOf(event)))
    const named = Object.keys(openapi.components.schemas)
    const shapes = Object.keys(SHAPES).filter(
      (name) => named.includes(name) || !events.has(name as ShapeName),
    )
    expect(named.sort()).toEqual(shapes.sort())
  })

  it('gives the range of an argument, and the texts of errors', () => {
    const { parameters, responses } = operationOf('block')
    expect(parameters[0]).toMatchObject({
      in: 'path',
      description: 'Height or hash of the block: a block height or a hash of 64 hexadecimal characters.',
      schema: { type: 'string', pattern: '^([0-9]{1,10}|[0-9a-fA-F]{64})$' },
    })
    expect(operationOf('blocks').parameters[1]).toMatchObject({
      in: 'query',
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    })
    expect(responses['400'].content['application/json'].examples.heightOrHash.value).toEqual({
      error: 'heightOrHash must be a block height or a hash of 64 hexadecimal characters',
      code: 'HW_INVALID_ARGUMENT',
    })
    const { error } = responses['404'].content['application/json'].schema.properties
    expect(error.enum).toEqual(['Block not found'])
    expect(openapi.components.responses.RateLimited.headers).toHaveProperty('retry-after')
  })

  it('requires the token for node health if one is configured', () => {
    expect(operationOf('nodeHealth').security).toEqual([{}, { token: [] }])
    expect(operationOf('nodeHealth').responses).not.toHaveProperty('401')
    const guarded = describeWith(true)
    expect(operationOf('nodeHealth', guarded).security).toEqual([{ token: [] }])
    expect(operationOf('nodeHealth', guarded).responses).toHaveProperty('401')
    expect(operationOf('blocks', guarded).security).toBeUndefined()
  })

  it('contains the command that broadcasts a transaction, if it is enabled', () => {
    const path = '/api/v1/tx/send'
    expect(openapi.paths).not.toHaveProperty([path])
    const { post } = describeWith(false, true).paths[path]
    const { schema, example } = post.requestBody.content['application/json']
    expect(schema.required).toEqual(['hex'])
    const { txid } = post.responses['200'].content['application/json'].example
    expect(parseTx(Buffer.from(example.hex as string, 'hex')).txid).toBe(txid)
    const { examples } = post.responses['400'].content['application/json']
    expect(Object.keys(examples as object)).toEqual(['hex', 'body', 'rejected'])
  })

  it('describes files, and what only some reads have', () => {
    expect(operationOf('addressHistoryCsv').responses['200'].content).toHaveProperty(['text/csv'])
    expect(operationOf('blocks').responses).toHaveProperty('410')
    expect(operationOf('opReturns').responses).not.toHaveProperty('410')
    expect(operationOf('addressSummaries').responses).toHaveProperty('413')
    expect(operationOf('addressSummaries').responses).not.toHaveProperty('304')
  })

  it('describes the bodies of failures as they are sent', () => {
    const ajv = new Ajv2020({ strict: false, logger: false })
    const failures: readonly Failure[] = [
      DATABASE_UNAVAILABLE,
      NODE_UNAVAILABLE,
      NOT_READY,
      OVERLOADED,
      UNAUTHORIZED,
      overLimit(7, { name: '', most: 1, windowMs: 1 }),
      { code: 'HW_SYNCING', message: 'Index is syncing', details: { indexedHeight: -1, nodeHeight: null } },
      { code: 'HW_INVALID_ARGUMENT', message: 'limit must be an integer from 1 to 100' },
      { code: 'HW_URI_TOO_LONG', message: 'URI Too Long' },
    ]
    const described = { ...operationOf('nodeHealth', describeWith(true)).responses }
    const unavailable = [described['503'], operationOf('blocks').responses['503']]
    for (const failure of failures) {
      const body = JSON.parse(failureAnswer(failure).body.toString())
      const status = HTTP_STATUS[failure.code]
      const schemas = (status === 503 ? unavailable : [described[status]]).map(
        (each) =>
          (each.$ref === undefined ? each : (targetOf(openapi, each.$ref) as any)).content['application/json']
            .schema,
      )
      expect(schemas.filter((schema) => ajv.validate(schema, body)).length, failure.code).toBe(1)
      const other = { ...body, error: 7 }
      expect(
        schemas.some((schema) => ajv.validate(schema, other)),
        failure.code,
      ).toBe(false)
    }
    const codes = new Set(failures.map(({ code }): ClientError => code))
    expect(codes.size).toBe(failures.length)
  })
})

describe('the AsyncAPI document', () => {
  const ajv = new Ajv({
    strict: false,
    logger: false,
    formats: { uri: true, 'uri-reference': true, email: true },
  })
  const schema = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json') as object
  const isValid = ajv.compile(schema)

  it('is valid AsyncAPI 3.0', () => {
    isValid(asyncapi)
    expect(isValid.errors).toBeNull()
    expect(isValid({ ...asyncapi, operations: { x: { action: 'shout' } } })).toBe(false)
  })

  /** Returns whether a message is as the document describes it. */
  const isMessage = (name: string, message: unknown): boolean =>
    new Ajv({ strict: false, logger: false }).validate(
      { ...asyncapi.components.messages[name].payload, components: asyncapi.components },
      message,
    )

  it('describes the messages of clients, and the replies to them', () => {
    const client = new FakeSocket(new Feed(() => undefined))
    for (const channel of [...CHANNELS.map(({ name }) => name), 'address:abc']) {
      const requests = [
        ['subscribe', { type: 'subscribe', channel }],
        ['subscribe', { type: 'subscribe', channel, since: 0 }],
        ['unsubscribe', { type: 'unsubscribe', channel }],
        ['ping', { type: 'ping' }],
      ] as const
      for (const [name, request] of requests) {
        expect(isMessage(name, request), name).toBe(true)
        const replies = client.say(request) as any[]
        expect(replies.length).toBeGreaterThan(0)
        for (const reply of replies) expect(isMessage(reply.type, reply), reply.type).toBe(true)
      }
    }
    for (const wrong of [{ type: 'subscribe', channel: 'x' }, { type: 'subscribe' }, 7]) {
      expect(isMessage('subscribe', wrong)).toBe(false)
      expect(isMessage('error', client.say(wrong)[0])).toBe(true)
    }
  })
})
