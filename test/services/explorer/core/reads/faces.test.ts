import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type ClientError, HTTP_STATUS } from '../../../../../pipelines/errors.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import type { Read } from '../../../../../services/explorer/core/reads/read.js'
import { startRecordedNode } from '../../../../../services/recorded-node/node.js'
import { type RpcClient, rpcClient } from '../../../../../services/rpc/client.js'
import { Code, type RpcError } from '../../../../../services/rpc/error.js'
import { ReadsService } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { Pipeline } from '../../../../harness/pipeline.js'
import { addReplaced } from '../../../../harness/replaced-transaction.js'
import { readFrames, TIMELINE } from '../../../../harness/recording.js'
import { until } from '../../../../harness/until.js'
import { IS_WHOLE } from '../../../../harness/whole.js'
import { edgesOf, isInPath, isRequired, requestRead } from '../../edges.js'
import { client as typedClient, type Face, graphql, grpc, rest, type Texts } from './faces.js'

const FRAME = 728
/** CI sends so many texts of the right form for an argument, the first two of the others, and one in so many of the rest, which differ by read. */
const MAX_PLAUSIBLE = IS_WHOLE ? Number.POSITIVE_INFINITY : 3
const ONE_IN = IS_WHOLE ? 1 : 4
const FACES = ['gRPC', 'GraphQL', 'client']

describe('every read', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let reference: ReturnType<typeof rest>
  let faces: ReadonlyMap<string, Face>
  /** Values by an argument's name that lead to an answer. */
  let known: Texts
  /** The txid of a replaced transaction. */
  let replaced: string
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    const labels = join(folder, 'labels.jsonl')
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { grpcPort: 0, definitions: { labels } },
    })
    const ask = rest(pipeline.url)
    const answers = new Map<string, ReturnType<typeof ask>>()
    // The index does not change: a request with arguments is sent once, for all faces. The others may be about the present time.
    reference = (read, texts) => {
      if (Object.keys(texts).length === 0 || read.name === 'statsSummary') return ask(read, texts)
      const key = `${read.name} ${JSON.stringify(texts)}`
      const answer = answers.get(key) ?? ask(read, texts)
      answers.set(key, answer)
      return answer
    }
    faces = new Map(
      [grpc(pipeline.grpcAddress), graphql(pipeline.url), typedClient(pipeline.url)].map((face) => [
        face.name,
        face,
      ]),
    )
    const frame = readFrames()[FRAME]
    const tip = frame?.chaininfo.bestblockhash ?? ''
    await pipeline.level({ tip, mempoolSize: frame?.mempoolinfo.size ?? 0 })
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    const { address } = paying.outputs[0].addresses[0]
    known = {
      heightOrHash: tip,
      txid: paying.txid,
      address,
      addresses: `${String(address)} abc`,
      descriptor: `addr(${String(address)})`,
      q: tip,
      feeRate: '2.5',
    }
    replaced = await addReplaced({ log: pipeline.log, get: (path) => pipeline.get(path) }, paying.txid)
    const label = { address, label: 'Somebody', category: 'person', url: null, verified: false }
    await writeFile(labels, JSON.stringify(label))
    await until('the label is known', async () => (await pipeline.get(`/label/${address}`)).status === 200)
  })
  afterAll(async () => {
    for (const face of faces.values()) face.close()
    await pipeline.close()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  const required = (read: Read): Texts =>
    Object.fromEntries(
      Object.keys(read.args)
        .filter((name) => isRequired(read, name))
        .map((name) => [name, (read.name === 'replacedTransaction' ? replaced : known[name]) ?? 'x']),
    )

  /**
   * Compares the replies of REST and another face: the same data, or the same error.
   * @returns whether the texts can be sent over that face at all.
   */
  async function expectSame(name: string, read: Read, texts: Texts): Promise<boolean> {
    const all = { ...required(read), ...texts }
    const what = `${read.name} ${JSON.stringify(all)} by ${name}`
    const [expected, reply] = await Promise.all([reference(read, all), faces.get(name)?.ask(read, all)])
    if (reply === undefined) return false
    // What does not exist is null in GraphQL.
    if (reply.content === null) {
      expect(expected.status, what).toBe(404)
      return true
    }
    expect(reply.content, what).toStrictEqual(expected.content)
    const status = reply.code === undefined ? 200 : HTTP_STATUS[reply.code as ClientError]
    expect(status, `${what}: ${String(reply.code)}`).toBe(expected.status)
    if (expected.code !== undefined) expect(reply.code, what).toBe(expected.code)
    // The errors of the client have no state, and operations of GraphQL always have one.
    // It is that of the newest block, even if a field is as of an earlier one.
    const isOutside = name === 'GraphQL' && (expected.height === undefined || 'at' in texts)
    if ((name !== 'client' || status === 200) && !isOutside) {
      const { height, tip } = expected
      expect({ height: reply.height, tip: reply.tip }, what).toEqual({ height, tip })
    }
    return true
  }

  const byFace = FACES.flatMap((face) => READS.map((read) => [read.name, face, read] as const))

  it.each(byFace)('%s returns by %s what REST returns', async (_, face, read) => {
    expect(await expectSame(face, read, {})).toBe(true)
  })

  it('is compared by answers that are not empty', async () => {
    const empty: string[] = []
    for (const read of READS) {
      const { body } = await requestRead(pipeline.url, read, required(read))
      if (body.items?.length === 0 || 'error' in body) empty.push(read.name)
    }
    // The index has seen no reorganisation, and the recorded chain has no transactions of the default amount; with minValue=0 there
    // are some.
    // test/system/mempool-history.test.ts compares those of the mempool's history.
    const OF_HISTORY = ['expectedBlock', 'expectedBlocks', 'mempoolHistory']
    expect(empty).toEqual([...OF_HISTORY, 'reorgs', 'whaleAlerts'])
    expect((await pipeline.get('/whale-alerts?minValue=0')).body.items).not.toEqual([])
    const whaleAlerts = READS.find(({ name }) => name === 'whaleAlerts')!
    for (const face of FACES) expect(await expectSame(face, whaleAlerts, { minValue: '0' })).toBe(true)
  })

  const byArgument = byFace.flatMap(([name, face, read]) =>
    Object.keys(read.args).map((argument) => [name, face, argument, read] as const),
  )

  it.each(byArgument)('%s by %s accepts %s, or refuses it as REST does', async (_, face, name, read) => {
    const { inside, plausible, outside } = edgesOf(read, name)
    const others = outside.filter((__, at) => at < 2 || (at + READS.indexOf(read)) % ONE_IN === 0)
    // Nothing between two slashes is another route of REST.
    const texts = [...inside, ...plausible.slice(0, MAX_PLAUSIBLE), ...others].filter(
      (text) => !(isInPath(read, name) && text === ''),
    )
    const requested = await Promise.all(texts.map((text) => expectSame(face, read, { [name]: text })))
    // Fields that are enums cannot have other values.
    const least = Math.min(2, inside.length + plausible.length)
    expect(requested.filter(Boolean).length).toBeGreaterThanOrEqual(least)
  })

  it('refuses over gRPC a missing argument, and an invalid name, with the texts of REST', async () => {
    const client: RpcClient<typeof ReadsService> = rpcClient(ReadsService, pipeline.grpcAddress)
    const missing = await client.search({}).catch((error: unknown) => error as RpcError)
    const answer = await pipeline.get('/search')
    expect(missing).toMatchObject({ status: Code.INVALID_ARGUMENT, details: answer.body.error })
    const strange = await client
      .addressTransactions({ address: known['address']!, sort: 7 as never })
      .catch((error: unknown) => error as RpcError)
    const { body } = await pipeline.get(`/address/${known['address']!}/txs?sort=7`)
    expect(strange).toMatchObject({ status: Code.INVALID_ARGUMENT, details: body.error })
    client.close()
  })
})
