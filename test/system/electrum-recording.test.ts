import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type RecordedNode, startRecordedNode } from '../../services/recorded-node/node.js'
import { ElectrumClient } from '../harness/electrum-client.js'
import {
  ELECTRUM_RECORDING,
  readElectrumRecording,
  type RecordedCall,
  sortedUnspent,
  withoutSpent,
} from '../harness/electrum-recording.js'
import { Pipeline } from '../harness/pipeline.js'
import { readFrames, timelineOf } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { IS_WHOLE, sampledByKind } from '../harness/whole.js'

const engineUrl = inject('engineUrl')

/** CI compares one in so many calls of each kind. */
const ONE_IN = 8

describe('the answers of the Electrum face', () => {
  const recorded = readElectrumRecording()
  let node: RecordedNode
  let pipeline: Pipeline

  beforeAll(async () => {
    const frames = readFrames(ELECTRUM_RECORDING)
    const last = frames.at(-1)
    if (last === undefined) throw new Error('the recording is empty')
    node = await startRecordedNode({ timeline: timelineOf(ELECTRUM_RECORDING) })
    node.step(frames.length - 1)
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl,
      explorer: { electrumPort: 0, broadcast: true },
    })
    await pipeline.level({ tip: last.chaininfo.bestblockhash, mempoolSize: last.mempoolinfo.size })
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it.each(['1.4', '1.6'])(
    'are those of ElectrumX in version %s, except for named differences',
    async (version) => {
      const client = await ElectrumClient.connect(pipeline.electrumAddress)
      const ofVersion = recorded
        .filter((each) => 'method' in each)
        .filter(({ protocol }) => protocol === version)
      const calls = sampledByKind(ofVersion, ONE_IN, kindOf)
      const differing: string[] = []
      let compared = 0
      for (const each of calls) {
        const { method, params, result, error } = each
        const own = await client.call(method, params)
        const name = `${method} ${JSON.stringify(params)}`
        if (isDifferent(each)) continue
        compared++
        const isSame =
          error === undefined || error === null
            ? same(shown(method, own.result), shown(method, result))
            : own.error?.code === error.code && sameText(own.error.message, error.message)
        if (!isSame)
          differing.push(
            `${name}\n  ${JSON.stringify(own.error ?? own.result)?.slice(0, 300)}\n  ${JSON.stringify(error ?? result)?.slice(0, 300)}`,
          )
      }
      expect(differing).toEqual([])
      expect(compared).toBeGreaterThan(IS_WHOLE ? 1_200 : 350)
      client.close()
    },
  )

  it('to bytes on the wire are those of ElectrumX, except for named differences', async () => {
    const differing: string[] = []
    let compared = 0
    for (const each of recorded) {
      if (!('case' in each) || (each.send ?? each.send_hex) === undefined) continue
      const name = `${each.case}${each.handshake ? '' : ` ${String(each.send)}`}`
      if (DIFFERENT_BYTES.some((pattern) => pattern.test(name))) continue
      const client = await ElectrumClient.connect(pipeline.electrumAddress)
      if (each.handshake) {
        client.send(
          `${each.handshake_line ?? JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'server.version', params: ['rec', each.protocol] })}\n`,
        )
        await until('the version is negotiated', () => client.others.length === 1)
        client.others.pop()
      }
      if (each.send_hex !== undefined) client.send(Buffer.from(each.send_hex, 'hex'))
      for (const part of [each.send ?? []].flat()) client.send(part)
      const expected = each.receive.map((line) => withoutName(JSON.parse(line)))
      if (each.closed) await soon(() => client.isClosed)
      else {
        await client.call('server.ping')
        await soon(() => client.others.length >= expected.length)
      }
      compared++
      if (client.isClosed !== each.closed || !sameSet(client.others.map(withoutName), expected))
        differing.push(
          `${name}\n  ${JSON.stringify(client.others).slice(0, 400)}\n  ${JSON.stringify(expected).slice(0, 400)}`,
        )
      client.close()
    }
    expect(differing).toEqual([])
    expect(compared).toBeGreaterThan(150)
  })
})

/** Returns the kind of a call: its method, the form of its parameters, its error, and whether its result is empty. */
function kindOf({ method, params, result, error }: RecordedCall): string {
  const form = JSON.stringify(params)
    .replaceAll(/[0-9a-f]{64}/g, 'hash')
    .replaceAll(/\b\d+\b/g, 'n')
  const isEmpty = result === null || (Array.isArray(result) && result.length === 0)
  return [method, form, error?.code, isEmpty].join(' ')
}

/** Waits a moment for a condition, which the caller checks. */
async function soon(isDone: () => boolean): Promise<void> {
  for (let tries = 0; tries < 100 && !isDone(); tries++) await sleep(10)
}

const GENESIS = '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b'

/** Returns whether an answer differs by intent; content/explorer-api/electrum.md has the reasons. */
function isDifferent({ method, params, error }: RecordedCall): boolean {
  const [first, second] = Array.isArray(params) ? (params as unknown[]) : []
  switch (method) {
    // The recorded node makes no estimates.
    case 'blockchain.estimatefee':
      return error === undefined
    case 'server.banner':
      return error === undefined
    case 'blockchain.transaction.get':
      return first === GENESIS
    case 'blockchain.transaction.get_merkle':
      return first === GENESIS && second === 0
    case 'blockchain.transaction.id_from_pos':
      return first === 0 && second === 0
    default:
      return typeof first === 'string' && first.startsWith(' ')
  }
}

/** Bytes whose answers differ by intent. */
const DIFFERENT_BYTES: readonly RegExp[] = [
  /^invalid: NaN|^id 1\.0|^id 1180591620717411303424/,
  /^(?:batch(?:, one)? without jsonrpc|no jsonrpc|jsonrpc (?:1\.0|3\.0|number|null)|batch of an empty object)/,
  /^whole connection with jsonrpc 1\.0: (?:batch|empty batch|no params|by name)/,
  /^first message is(?: not server\.version| a notification)|^server\.version as a notification/,
  /^two lines in one write: a header and server\.version|^batch: a ping, then server\.version/,
]

const same = (one: unknown, other: unknown): boolean =>
  JSON.stringify(ordered(one)) === JSON.stringify(ordered(other))

/** Returns a value with the keys of its objects in the order of the alphabet. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, ordered(each)]),
  )
}

/** Returns an answer without what differs by intent. */
function shown(method: string, result: unknown): unknown {
  if (method === 'blockchain.scripthash.listunspent') return sortedUnspent(result)
  if (method === 'blockchain.transaction.get' && typeof result === 'object') return withoutSpent(result)
  return withoutName(result)
}

/** Compares texts of errors: the reference server spells values as Python does. */
function sameText(own: string, reference: string): boolean {
  const spelled = reference
    .replace(/db error: DBError\('block ([\d,]+) not on disk .*/, 'height $1 out of range')
    .replace(/daemon error: DaemonError\(\{'code': -5, 'message': '(.*)'\}\)/, '$1')
    .replace(/(?<=\d),(?=\d{3})/g, '')
    .replace(/\bNone\b/, 'null')
    .replace(/\bTrue\b/, 'true')
    .replaceAll("'", '"')
    .replace(/\{"(\w+)": /, '{"$1":')
  // Numbers beyond 2⁵³ are rounded.
  return own === spelled || /\d{19}/.test(spelled)
}

/** Returns a message without the name of the server, with values as this server spells them. */
function withoutName(message: unknown): unknown {
  const text = JSON.stringify(message) ?? 'null'
  const named = text.replace(/ElectrumX 1\.20\.0|Headwater \(ElectrumX compatible\)/g, 'NAME')
  return JSON.parse(named, (key, value: unknown) =>
    key === 'message' && typeof value === 'string'
      ? value
          .replace(/\bNone\b/, 'null')
          .replace(/\bTrue\b/, 'true')
          .replace(/^(?:invalid|unsupported).*/, (each) =>
            each.replaceAll("'", '"').replace(/(?<=[,:]) /g, ''),
          )
      : value,
  )
}

/** Compares messages that may come in any order. */
function sameSet(one: readonly unknown[], other: readonly unknown[]): boolean {
  const textOf = (message: unknown): string => JSON.stringify(ordered(message))
  const texts = (list: readonly unknown[]): string[] =>
    list.map((each) => textOf(Array.isArray(each) ? each.map(textOf).sort() : each)).sort()
  return same(texts(one), texts(other))
}
