import { join } from 'node:path'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { CHANNELS } from '../../../../../../services/explorer/core/feed/channels.js'
import { READS } from '../../../../../../services/explorer/core/reads/index.js'
import type { Read } from '../../../../../../services/explorer/core/reads/read.js'
import { startRecordedNode } from '../../../../../../services/recorded-node/node.js'
import { writeExpectation } from '../../../../../harness/expectation.js'
import { getAnswer, Pipeline } from '../../../../../harness/pipeline.js'
import { readFrames, TIMELINE } from '../../../../../harness/recording.js'
import { until } from '../../../../../harness/until.js'
import { isRequired, requestRead } from '../../../edges.js'
import { FeedClient } from '../../../feed-client.js'

/* eslint-disable @typescript-eslint/no-explicit-any -- answers, read as a client does */

const LABELS = join(import.meta.dirname, '../../../../../content/labels.jsonl')
const POOLS = join(import.meta.dirname, '../../../../../../deploy/pools.json')

/** A reorganisation follows this frame. */
const FRAME = 727

describe('the descriptions of the API that an explorer serves', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let openapi: any
  /** Values by an argument's name that lead to an answer. */
  const known: Record<string, string> = {}

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    const explorer = { definitions: { labels: LABELS, pools: POOLS } }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    const frame = readFrames()[FRAME]
    const tip = frame?.chaininfo.bestblockhash ?? ''
    await pipeline.level({ tip, mempoolSize: frame?.mempoolinfo.size ?? 0 })
    await writeExpectation(pipeline, frame?.chaininfo.blocks ?? 0, tip)
    openapi = (await getAnswer(`${pipeline.url}/openapi.json`)).body
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const [smallest] = items
      .filter((tx: any) => !tx.is_coinbase)
      .sort((one: any, other: any) => JSON.stringify(one).length - JSON.stringify(other).length)
    const labelled = await until('the labels are there', async () => {
      const [label] = (await pipeline.get('/labels')).body.items
      return label as { address: string } | undefined
    })
    Object.assign(known, {
      heightOrHash: tip,
      txid: smallest.txid,
      address: smallest.outputs[0].addresses[0].address,
      q: smallest.outputs[0].addresses[0].address,
      addresses: smallest.outputs[0].addresses[0].address,
      descriptor: `addr(${String(smallest.outputs[0].addresses[0].address)})`,
      carrying: (await pipeline.get('/op-returns')).body.items[0].txid,
      labelled: labelled.address,
      feeRate: '2.5',
    })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const SPECIAL: Readonly<Record<string, string>> = { transactionOpReturns: 'carrying', label: 'labelled' }

  /** The read of transactions that were replaced, of which there are none here. */
  const WITHOUT_OBJECTS = 'replacedTransaction'

  /** Returns arguments of a read that lead to an answer with items. */
  function argumentsOf(read: Read): Record<string, string> {
    const args: Record<string, string> = read.name === 'whaleAlerts' ? { minValue: '0' } : {}
    for (const name of Object.keys(read.args))
      if (isRequired(read, name)) args[name] = known[SPECIAL[read.name] ?? name] ?? ''
    return args
  }

  it('contain the schema of every answer, and of its examples', async () => {
    const ajv = new Ajv2020({ strict: false, logger: false })
    const check = (schema: object, value: unknown, what: string): void => {
      const isValid = ajv.compile({ ...schema, components: openapi.components })
      isValid(value)
      expect(isValid.errors, what).toBeNull()
    }
    for (const read of READS) {
      const { get, post } = openapi.paths[`/api/v1${read.path.replace(/:(\w+)/g, '{$1}')}`]
      const operation = get ?? post
      const { schema, example } = operation.responses['200'].content['application/json']
      const { status, body, headers } = await requestRead(pipeline.url, read, argumentsOf(read))
      check(schema, example, read.name)
      if (read.name === WITHOUT_OBJECTS) {
        expect(status, read.name).toBe(404)
        continue
      }
      check(schema, body, read.name)
      for (const name of Object.keys((operation.responses['200'].headers ?? {}) as object))
        expect(headers.has(name), `${read.name} ${name}`).toBe(true)
    }
    const { schema } = openapi.paths['/health'].get.responses['200'].content['application/json']
    check(schema, (await pipeline.health()).body, 'health')
    expect(() => check(schema, {}, 'nothing')).toThrow()
  })

  it('are cached by their ETag, and allow HEAD and OPTIONS', async () => {
    for (const path of ['/openapi.json', '/asyncapi.json']) {
      const url = pipeline.url + path
      const first = await fetch(url)
      expect(first.status).toBe(200)
      expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8')
      const etag = first.headers.get('etag') ?? ''
      expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304)
      expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
      expect((await fetch(url, { method: 'OPTIONS' })).status).toBe(204)
      expect((await fetch(url, { method: 'POST' })).status).toBe(405)
    }
  })

  it('contain the events of the feed as they are sent', async () => {
    const { body: asyncapi } = await getAnswer(`${pipeline.url}/asyncapi.json`)
    const ajv = new Ajv({ strict: false, logger: false })
    const client = await FeedClient.connect(pipeline.url, '/ws')
    for (const { name } of CHANNELS) await client.subscribe(name)
    node.step(1)
    await pipeline.level()
    for (const channel of ['blocks', 'reorgs', 'stats']) await client.events(channel, 1)
    const events: any[] = client.messages.filter((message) => 'seq' in message)
    for (const event of events) {
      const { payload } = asyncapi.components.messages[event.channel]
      const isValid = ajv.compile({ ...payload, components: asyncapi.components })
      isValid(event)
      expect(isValid.errors, JSON.stringify(event)).toBeNull()
    }
    await client.close()
  })
})
