import { Value } from '@sinclair/typebox/value'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { READS } from '../../../services/explorer/reads/index.js'
import type { Read } from '../../../services/explorer/reads/read.js'
import { startRecordedNode } from '../../../services/recorded-node/node.js'
import { getAnswer, Pipeline } from '../../harness/pipeline.js'
import { readFrames, TIMELINE } from '../../harness/recording.js'
import { edgesOf, isInPath, isRequired, pathOf } from './edges.js'

const FRAME = 728

const argumentsOf = READS.flatMap((read) => Object.keys(read.args).map((name) => [read, name] as const))

describe('what is declared of a read', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  /** Values by an argument's name with which there is something to be found. */
  const known: Record<string, string> = {}

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl') })
    const frame = readFrames()[FRAME]
    const tip = frame?.chaininfo.bestblockhash ?? ''
    await pipeline.level({ tip, poolSize: frame?.mempoolinfo.size ?? 0 })
    const { items } = (await pipeline.get('/txs/recent?limit=50')).body
    const paying = items.find((tx: { is_coinbase: boolean }) => !tx.is_coinbase)
    Object.assign(known, {
      heightOrHash: tip,
      txid: paying.txid as string,
      address: paying.outputs[0].addresses[0].address as string,
      q: tip,
    })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  const required = (read: Read): Record<string, string> =>
    Object.fromEntries(
      Object.keys(read.args)
        .filter((name) => isRequired(read, name))
        .map((name) => [name, known[name] ?? edgesOf(read, name).plausible[0] ?? 'x']),
    )
  const ask = (read: Read, more: Record<string, string> = {}) =>
    getAnswer(`${pipeline.url}${pathOf(read, { ...required(read), ...more })}`)
  const expectInShape = (read: Read, answer: Awaited<ReturnType<typeof ask>>, what: string): void => {
    expect([200, 404], `${what}: ${JSON.stringify(answer.body)}`).toContain(answer.status)
    if (answer.status === 200) expect(Value.Errors(read.answer, answer.body).First(), what).toBeUndefined()
    else expect(answer.body, what).toHaveProperty('error')
  }

  it.each(READS.map((read) => [read.path, read] as const))('%s answers in its shape', async (path, read) => {
    expectInShape(read, await ask(read), path)
  })

  it.each(argumentsOf.map(([read, name]) => [read.path, name, read] as const))(
    '%s takes %s as it is declared, and names it where it is not',
    async (path, name, read) => {
      const { inside, plausible, outside } = edgesOf(read, name)
      for (const text of inside)
        expectInShape(read, await ask(read, { [name]: text }), `${path} ${name}=${text}`)
      for (const text of plausible) {
        const answer = await ask(read, { [name]: text })
        if (answer.status === 400) expect(answer.body.error).toContain(name)
        else expectInShape(read, answer, `${path} ${name}=${text}`)
      }
      for (const text of outside) {
        // Nothing between two slashes is another route; so is what a client makes of a dot.
        if (isInPath(read, name) && text === '') continue
        const answer = await ask(read, { [name]: text })
        expect(answer.status, `${path} ${name}=${text}`).toBe(400)
        expect(answer.body.error, `${path} ${name}=${text}`).toMatch(new RegExp(`^${name} must be `))
      }
    },
  )
})
