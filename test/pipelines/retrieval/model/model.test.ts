import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Embedder } from '../../../../pipelines/retrieval/model/embedder.js'
import { modelIn } from '../../../../pipelines/retrieval/model/files.js'
import { Model } from '../../../../pipelines/retrieval/model/model.js'
import { modelFolder } from '../../../harness/model.js'
import { until } from '../../../harness/until.js'

const quiet = (): void => undefined
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const MODEL = await modelFolder()

const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * b[at]!, 0)

describe.skipIf(MODEL === undefined)('Embedder', () => {
  let embedder: Embedder

  beforeAll(async () => {
    embedder = await Embedder.start(await modelIn(MODEL!))
  })

  afterAll(() => embedder.close())

  it('returns the vectors of sentence-transformers for all-MiniLM-L6-v2', async () => {
    const [first, second] = await Promise.all([
      embedder.question('That is a happy person'),
      embedder.question('Today is a sunny day'),
    ])
    expect(first).toHaveLength(384)
    expect(cosine(first, first)).toBeCloseTo(1, 4)
    // With the original weights, computed independently of this project; the model card has .257 too.
    expect(Math.abs(cosine(first, second) - 0.2569)).toBeLessThan(0.02)
    const original = [-0.0339, 0.0919, 0.0487, -0.0349, -0.0648, -0.0267]
    for (const [at, value] of original.entries()) expect(Math.abs(first[at]! - value)).toBeLessThan(0.01)
  })

  it('finds texts of the same meaning without a word in common', async () => {
    const question = await embedder.question('How do I throttle greedy visitors?')
    const limit = await embedder.passage('Clients may send at most a hundred requests per minute.')
    const other = await embedder.passage('A transaction spends outputs and creates new ones.')
    expect(cosine(question, limit)).toBeGreaterThan(cosine(question, other) + 0.1)
  })

  it('reads no more than 256 word pieces', async () => {
    const words = (count: number, then = ''): string => `${'block '.repeat(count)}${then}`
    // The two markers around the text take two pieces.
    const full = await embedder.passage(words(254))
    expect(cosine(await embedder.passage(words(254, 'zeppelin banana violin')), full)).toBeCloseTo(1, 5)
    expect(cosine(await embedder.passage(words(250, 'zeppelin banana violin')), full)).toBeLessThan(0.999)
  })

  it('returns the same vector in any batch', async () => {
    const text = 'a reorganisation replaces blocks'
    const alone = await embedder.question(text)
    const texts = [text, ...Array.from({ length: 40 }, (_, at) => 'word '.repeat(1 + at))]
    const [together] = await Promise.all(texts.map((each) => embedder.question(each)))
    expect(cosine(alone, together!)).toBeCloseTo(1, 5)
  })

  it('accepts any text', async () => {
    for (const text of ['', ' ', '\u0000', '🙂'.repeat(5000), 'x'.repeat(100_000), '\ud800', '中文'])
      expect(cosine(await embedder.question(text), await embedder.passage(text))).toBeCloseTo(1, 4)
  })

  it('embeds questions before passages', async () => {
    const order: string[] = []
    const passages = Array.from({ length: 12 }, () =>
      embedder.passage('long '.repeat(200)).then(() => order.push('passage')),
    )
    await Promise.all([
      ...passages.slice(0, 1),
      embedder.question('short').then(() => order.push('question')),
    ])
    await Promise.all(passages)
    expect(order.indexOf('question')).toBeLessThan(3)
  })
})

describe.skipIf(MODEL === undefined)('Model', () => {
  it('is unavailable while its folder is empty, becomes available without a restart, and survives the death of its thread', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-model-'))
    const options = { folder, cache: folder, routes: [], logger, backoff: { firstMs: 10, maxMs: 50 } }
    const model = new Model(options)
    let loads = 0
    model.onLoaded = () => loads++
    try {
      model.start()
      await until('it says why', () => model.reason.includes('has no model.onnx'))
      const files = await modelIn(MODEL!)
      await symlink(files.onnx, join(folder, 'model.onnx'))
      await until('it says what else is missing', () => model.reason.includes('has no tokenizer.json'))
      await symlink(files.tokenizer, join(folder, 'tokenizer.json'))
      await until('it is loaded', () => model.loaded !== undefined)
      expect([loads, model.reason, model.loaded?.checksum]).toEqual([1, '', files.checksum])
      const { embedder } = model.loaded!
      if (!(embedder instanceof Embedder)) throw new Error('the model is another one')
      await embedder.close()
      await until('it is loaded again', () => loads === 2 && model.loaded !== undefined)
      expect(await model.loaded!.embedder.question('word')).toHaveLength(384)
    } finally {
      await model.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('Model', () => {
  it('reports the error of every source, and closes while it waits', async () => {
    const none = { bytes: 1, sha256: '0' }
    const route = {
      name: 'nowhere',
      files: { 'model.onnx': none, 'tokenizer.json': none },
      fetch: () => Promise.reject(new Error('no network')),
    }
    const model = new Model({
      folder: undefined,
      cache: join(tmpdir(), 'headwater-no-model'),
      routes: [route],
      logger,
    })
    model.start()
    await until('it says why', () => model.reason === 'the model could not be fetched (nowhere: no network)')
    await model.close()
    expect(model.loaded).toBeUndefined()
  })
})
