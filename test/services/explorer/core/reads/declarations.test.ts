import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Value } from '@sinclair/typebox/value'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import { NO_BLOCK, type Read } from '../../../../../services/explorer/core/reads/read.js'
import { startRecordedNode } from '../../../../../services/recorded-node/node.js'
import { writeExpectation } from '../../../../harness/expectation.js'
import { getAnswer, Pipeline } from '../../../../harness/pipeline.js'
import { addReplaced } from '../../../../harness/replaced-transaction.js'
import { readFrames, TIMELINE } from '../../../../harness/recording.js'
import { until } from '../../../../harness/until.js'
import { edgesOf, isInPath, isInUrl, isRequired, pathOf } from '../../edges.js'
import '../../../../harness/formats.js'

const FRAME = 728
const frame = readFrames()[FRAME]
if (frame === undefined) throw new Error('the recording is another one')
const HEIGHT = frame.chaininfo.blocks

/** The answer of a read to a random text of the right form; undefined if the text names something. */
function errorOf({ notFound }: Read, name: string, text: string): object | undefined {
  const malformed = { status: 400, body: { error: expect.stringContaining(`${name} must be `) as string } }
  const missing = { status: 404, body: { error: notFound?.[0] } }
  switch (name) {
    case 'heightOrHash':
    case 'q':
      // A list may be empty.
      if (notFound === undefined) return undefined
      if (text.length > 100) return malformed
      return /^\d{1,10}$/.test(text.trim()) && Number(text) <= HEIGHT ? undefined : missing
    case 'slug':
      return text === 'unknown' ? undefined : missing
    case 'txid':
      return missing
    case 'address':
      // Any bytes are a script, but only those of an output are known.
      if (/^(?:[\da-f]{2})+$/i.test(text))
        return notFound === undefined || notFound[0] === NO_BLOCK ? undefined : missing
      return malformed
    case 'cursor':
    case 'from':
    case 'to':
      // A checksum, and a date, are not valid by chance.
      return malformed
    default:
      return undefined
  }
}

/** The reads that take another value than that of the argument's name. */
const OTHERS: Readonly<Record<string, string>> = {
  transactionOpReturns: 'carrying',
  replacedTransaction: 'replaced',
}
const URL_READS = READS.filter(isInUrl)
const argumentsOf = URL_READS.flatMap((read) => Object.keys(read.args).map((name) => [read, name] as const))

describe('a declared read', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  /** Values by an argument's name that lead to an answer. */
  const known: Record<string, string> = {}
  const labels = join(tmpdir(), `headwater-declared-labels-${String(process.pid)}.jsonl`)

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    await writeFile(labels, '')
    const explorer = { definitions: { labels } }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    const tip = frame.chaininfo.bestblockhash
    await pipeline.level({ tip, mempoolSize: frame.mempoolinfo.size })
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    Object.assign(known, {
      heightOrHash: tip,
      txid: paying.txid as string,
      address: paying.outputs[0].addresses[0].address as string,
      q: tip,
      feeRate: '2.5',
      carrying: (await pipeline.get('/op-returns')).body.items[0].txid as string,
      replaced: await addReplaced(
        { log: pipeline.log, get: (path) => pipeline.get(path) },
        paying.txid as string,
      ),
    })
    await writeExpectation(pipeline, frame.chaininfo.blocks, tip)
    const { address = '' } = known
    await writeFile(labels, JSON.stringify({ address, label: 'A', category: 'exchange', url: null }))
    await until('the label is there', async () => (await pipeline.get(`/label/${address}`)).status === 200)
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await rm(labels)
  })

  const required = (read: Read): Record<string, string> =>
    Object.fromEntries(
      Object.keys(read.args)
        .filter((name) => isRequired(read, name))
        .map((name) => [name, known[OTHERS[read.name] ?? name] ?? 'not known']),
    )
  const ask = (read: Read, more: Record<string, string> = {}) =>
    getAnswer(`${pipeline.url}${pathOf(read, { ...required(read), ...more })}`)
  const expectInShape = (read: Read, answer: Awaited<ReturnType<typeof ask>>, what: string): void => {
    expect(answer.status, `${what}: ${JSON.stringify(answer.body)}`).toBe(200)
    expect(Value.Errors(read.answer, answer.body).First(), what).toBeUndefined()
  }

  it.each(URL_READS.map((read) => [read.path, read] as const))(
    '%s answers in its shape',
    async (path, read) => {
      expectInShape(read, await ask(read), path)
    },
  )

  it.each(argumentsOf.map(([read, name]) => [read.path, name, read] as const))(
    '%s accepts %s as declared, and names the argument in its error otherwise',
    async (path, name, read) => {
      const { inside, plausible, outside } = edgesOf(read, name)
      const answersTo = async (texts: readonly string[]) => {
        const answers = await Promise.all(texts.map((text) => ask(read, { [name]: text })))
        return texts.map((text, index) => [text, answers[index] as (typeof answers)[number]] as const)
      }
      for (const [text, answer] of await answersTo(inside)) {
        // As of a block before the object, or of a block yet to come.
        if (name === 'at' && answer.status === 404) expect(read.notFound).toContain(answer.body.error)
        else expectInShape(read, answer, `${path} ${name}=${text}`)
      }
      for (const [text, answer] of await answersTo(plausible)) {
        const what = `${path} ${name}=${text}`
        const error = errorOf(read, name, text)
        if (error === undefined) expectInShape(read, answer, what)
        else expect(answer, what).toMatchObject(error)
      }
      // Nothing between two slashes is another route; so is a path after a client has resolved its dots.
      const refused = outside.filter((text) => !(isInPath(read, name) && text === ''))
      for (const [text, answer] of await answersTo(refused)) {
        expect(answer.status, `${path} ${name}=${text}`).toBe(400)
        expect(answer.body.error, `${path} ${name}=${text}`).toMatch(new RegExp(`^${name} must be `))
      }
    },
  )
})
