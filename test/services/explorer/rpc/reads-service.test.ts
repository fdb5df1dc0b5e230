import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DescMethod, type Message, ScalarType } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ReadsService } from '../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { READS } from '../../../../services/explorer/reads/index.js'
import type { Read } from '../../../../services/explorer/reads/read.js'
import { startRecordedNode } from '../../../../services/recorded-node/node.js'
import { type RpcClient, rpcClient } from '../../../../services/rpc/client.js'
import { Code, type RpcError } from '../../../../services/rpc/error.js'
import { until } from '../../../harness/until.js'
import { getAnswer, Pipeline } from '../../../harness/pipeline.js'
import { readFrames, TIMELINE } from '../../../harness/recording.js'
import { edgesOf, isInPath, isInUrl, isRequired, pathOf } from '../edges.js'
import { restJson } from './rest-json.js'

const FRAME = 728

type Texts = Readonly<Record<string, string>>
interface Reply {
  readonly status: Code
  readonly said: unknown
  readonly headers: Readonly<Record<string, string>>
}

const methodOf = (read: Read): DescMethod =>
  ReadsService.methods.find(({ name }) => name.toLowerCase() === read.name.toLowerCase())!

describe('every read over gRPC', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let client: RpcClient<typeof ReadsService>
  /** Values by an argument's name that lead to an answer. */
  let known: Texts
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
    client = rpcClient(ReadsService, pipeline.grpcAddress)
    const frame = readFrames()[FRAME]
    const tip = frame?.chaininfo.bestblockhash ?? ''
    await pipeline.level({ tip, mempoolSize: frame?.mempoolinfo.size ?? 0 })
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    const { address } = paying.outputs[0].addresses[0]
    known = { heightOrHash: tip, txid: paying.txid, address, q: tip }
    const label = { address, label: 'Somebody', category: 'person', url: null, verified: false }
    await writeFile(labels, JSON.stringify(label))
    await until('the label is known', async () => (await pipeline.get(`/label/${address}`)).status === 200)
  })
  afterAll(async () => {
    client.close()
    await pipeline.close()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  const required = (read: Read): Texts =>
    Object.fromEntries(
      Object.keys(read.args)
        .filter((name) => isRequired(read, name))
        .map((name) => [name, known[name] ?? 'x']),
    )

  /**
   * Builds the request as any client would: by the field that reads.proto has for the argument. Undefined if the
   * field cannot hold the text.
   */
  async function askRpc(read: Read, texts: Texts): Promise<Reply | undefined> {
    const method = methodOf(read)
    const request: Record<string, unknown> = {}
    for (const [name, text] of Object.entries(texts)) {
      const field = method.input.fields.find(({ jsonName }) => jsonName === name)!
      const value = valueOf(field, text)
      if (value === undefined) return undefined
      request[field.localName] = value
    }
    let headers: Readonly<Record<string, string>> = {}
    const ask = client[method.localName as 'blocks'] as (request: object, options: object) => Promise<Message>
    return ask(request, { onHeaders: (reported: Texts) => (headers = reported) }).then(
      (response) => ({ status: Code.OK, said: restJson(read, method, response), headers }),
      (error: unknown) => {
        const { status, details, trailers } = error as RpcError
        return { status, said: details, headers: trailers }
      },
    )
  }

  const CODES: Readonly<Record<number, Code>> = {
    200: Code.OK,
    400: Code.INVALID_ARGUMENT,
    404: Code.NOT_FOUND,
  }

  /**
   * Compares both answers.
   * @returns whether the texts can be sent over gRPC at all.
   */
  async function expectSame(read: Read, texts: Texts): Promise<boolean> {
    const all = { ...required(read), ...texts }
    const what = `${read.name} ${JSON.stringify(all)}`
    const [rpc, rest] = await Promise.all([
      askRpc(read, all),
      getAnswer(`${pipeline.url}${pathOf(read, all)}`),
    ])
    if (rpc === undefined) return false
    expect(rpc.status, `${what}: ${JSON.stringify(rpc.said)}`).toBe(CODES[rest.status])
    expect(rpc.said, what).toStrictEqual(rest.status === 200 ? rest.body : rest.body.error)
    for (const name of ['x-chain-height', 'x-chain-tip'])
      expect(rpc.headers[name], `${what} ${name}`).toBe(rest.headers.get(name) ?? undefined)
    return true
  }

  it.each(READS.filter(isInUrl).map((read) => [read.name, read] as const))(
    '%s returns what REST returns',
    async (_, read) => {
      expect(await expectSame(read, {})).toBe(true)
    },
  )

  it('compares answers that are not empty', async () => {
    const empty: string[] = []
    for (const read of READS.filter(isInUrl)) {
      const { body } = await getAnswer(`${pipeline.url}${pathOf(read, required(read))}`)
      if (body.items?.length === 0 || 'error' in body) empty.push(read.name)
    }
    // The index has seen no reorganisation, and the recorded chain has no transactions of the default amount; with minValue=0 there
    // are some.
    expect(empty).toEqual(['reorgs', 'whaleAlerts'])
    expect((await pipeline.get('/whale-alerts?minValue=0')).body.items).not.toEqual([])
    expect(
      await expectSame(
        READS.find(({ name }) => name === 'whaleAlerts')!,
        { minValue: '0' },
      ),
    ).toBe(true)
  })

  const argumentsOf = READS.filter(isInUrl).flatMap((read) =>
    Object.keys(read.args).map((name) => [read, name] as const),
  )

  it.each(argumentsOf.map(([read, name]) => [read.name, name, read] as const))(
    '%s accepts %s, or refuses it with the same text as REST',
    async (_, name, read) => {
      const { inside, plausible, outside } = edgesOf(read, name)
      // Nothing between two slashes is another route of REST.
      const texts = [...inside, ...plausible, ...outside].filter(
        (text) => !(isInPath(read, name) && text === ''),
      )
      const requested = await Promise.all(texts.map((text) => expectSame(read, { [name]: text })))
      expect(requested.filter(Boolean).length).toBeGreaterThan(1)
    },
  )

  it('refuses a missing argument, and an invalid name, with the same texts', async () => {
    const missing = await client.search({}).catch((error: unknown) => error as RpcError)
    const rest = await pipeline.get('/search')
    expect(missing).toMatchObject({ status: Code.INVALID_ARGUMENT, details: rest.body.error })
    const strange = await client
      .addressTransactions({ address: known['address']!, sort: 7 as never })
      .catch((error: unknown) => error as RpcError)
    const { body } = await pipeline.get(`/address/${known['address']!}/txs?sort=7`)
    expect(strange).toMatchObject({ status: Code.INVALID_ARGUMENT, details: body.error })
  })
})

/** The value that a client puts into a field for this text. */
function valueOf(field: DescMethod['input']['fields'][number], text: string): unknown {
  if (field.enum !== undefined)
    return field.enum.values.find(({ localName }) => localName.toLowerCase() === text)?.number
  switch (field.scalar) {
    case ScalarType.INT64:
      return /^-?\d{1,18}$/.test(text) ? BigInt(text) : undefined
    case ScalarType.BOOL:
      return text === 'true' ? true : text === 'false' ? false : undefined
    default:
      return text
  }
}
