import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  Hit_Kind,
  Ranking,
  RetrievalService,
  StatusResponse_Semantic,
} from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { freePort } from '../../../services/process/ports.js'
import { rpcClient, type RpcClient } from '../../../services/rpc/client.js'
import { ServiceProcess } from '../../harness/processes.js'
import { until } from '../../harness/until.js'

/** The worker without a model, accessed over gRPC. */
let folder: string
let content: string
let worker: ServiceProcess
let client: RpcClient<typeof RetrievalService>
let metricsUrl: string

const page = (title: string, body: string, more = ''): string =>
  `---\ntitle: ${title}\n${more}---\n\n${body}\n`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-worker-'))
  content = join(folder, 'content')
  await mkdir(join(content, 'api'), { recursive: true })
  await writeFile(join(content, 'index.md'), page('Home', 'Where all begins.'))
  const limits =
    'Clients are counted.\n\n## How many\n\nSet `RATE_LIMIT_PER_MINUTE`:\n\n```sh\nRATE_LIMIT_PER_MINUTE=5 npm start\n```'
  await writeFile(join(content, 'api/limits.md'), page('Rate limits', limits, 'tags: [operator]\n'))
  await writeFile(
    join(content, 'api/blocks.md'),
    page('Blocks', 'Ask `/api/v1/block/:hash` for a block. No limit here.', 'tags: [reader]\n'),
  )
  const [port, metricsPort] = [await freePort(), await freePort()]
  metricsUrl = `http://127.0.0.1:${String(metricsPort)}`
  const env = {
    CONTENT_DIR: content,
    DATA_DIR: join(folder, 'data'),
    EMBEDDING_MODEL_DIR: join(folder, 'no-model'),
    RETRIEVAL_GRPC_PORT: String(port),
    RETRIEVAL_METRICS_PORT: String(metricsPort),
  }
  worker = new ServiceProcess('retrieval', env, join(folder, 'log')).start()
  client = rpcClient(RetrievalService, `127.0.0.1:${String(port)}`)
  await until('it answers', async () => (await client.status({})).pages === 3)
})

afterAll(async () => {
  client.close()
  await worker.kill('SIGTERM')
  await rm(folder, { recursive: true, force: true })
})

const urls = async (query: string): Promise<string[]> =>
  (await client.search({ query })).pages.map(({ url }) => url)

describe('the retrieval worker', () => {
  it('returns pages with their hits, marked', async () => {
    const { pages, ranking } = await client.search({ query: 'rate_limit_per_minute' })
    expect(ranking).toBe(Ranking.LEXICAL)
    const [best] = pages
    expect(best).toMatchObject({ url: '/api/limits', title: 'Rate limits' })
    expect(best!.hits[0]).toMatchObject({ kind: Hit_Kind.TEXT, headingId: 'how-many' })
    const { text, marks } = best!.hits[0]!
    expect(marks.map(({ start, end }) => text.slice(start, end))).toContain('RATE_LIMIT_PER_MINUTE')
  })

  it('marks titles and headings', async () => {
    const { pages } = await client.search({ query: 'how many limits' })
    expect(pages[0]!.titleMarks.map(({ start, end }) => pages[0]!.title.slice(start, end))).toEqual([
      'limits',
    ])
    const heading = (await client.search({ query: 'many', limit: 10 })).pages[0]!.hits[0]
    expect(heading).toMatchObject({ kind: Hit_Kind.HEADING, text: 'How many', headingId: 'how-many' })
  })

  it('respects the limit, counting pages and hits, and the tag', async () => {
    const count = async (limit: number): Promise<number> =>
      (await client.search({ query: 'limit', limit })).pages.reduce(
        (sum, { hits }) => sum + 1 + hits.length,
        0,
      )
    expect([await count(1), await count(2), await count(3)]).toEqual([1, 2, 3])
    expect((await client.search({ query: 'limit', tag: 'reader' })).pages.map(({ url }) => url)).toEqual([
      '/api/blocks',
    ])
    expect((await client.search({ query: 'limit', tag: 'nobody' })).pages).toEqual([])
    expect((await client.search({ query: '' })).pages).toEqual([])
  })

  it('returns passages with their code, and how much of the question each covers', async () => {
    const { passages, ranking } = await client.passages({
      query: 'what does RATE_LIMIT_PER_MINUTE do',
      limit: 2,
    })
    expect(ranking).toBe(Ranking.LEXICAL)
    expect(passages[0]).toMatchObject({
      pageUrl: '/api/limits',
      pageTitle: 'Rate limits',
      headingId: 'how-many',
      headingPath: ['How many'],
      coverage: 1,
    })
    expect(passages[0]!.markdown).toContain('```sh\nRATE_LIMIT_PER_MINUTE=5 npm start\n```')
    expect(passages[0]!.similarity).toBeUndefined()
    expect((await client.passages({ query: 'what does RATE_LIMIT_PER_HOUR limit' })).unknownNames).toEqual([
      'RATE_LIMIT_PER_HOUR',
    ])
    expect((await client.passages({ query: 'zeppelin' })).passages).toEqual([])
  })

  it('reports its contents and why it searches by words alone', async () => {
    const status = await client.status({})
    expect(status).toMatchObject({
      pages: 3,
      semantic: StatusResponse_Semantic.UNAVAILABLE,
      indexStale: false,
    })
    expect(status.semanticReason).toContain('has no model.onnx')
    expect(Date.now() - Number(status.indexBuiltMs)).toBeLessThan(600_000)
    const health = (await (await fetch(`${metricsUrl}/health`)).json()) as {
      semantic: string
      index: { stale: boolean }
    }
    expect(health).toMatchObject({ semantic: 'unavailable', pages: 3, index: { stale: false } })
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text()
    expect(metrics).toMatch(/headwater_retrieval_pages 3\n/)
    expect(metrics).toMatch(/headwater_retrieval_index_age_seconds \d+/)
    expect(metrics).toMatch(/headwater_retrieval_index_stale 0\n/)
    expect(metrics).toMatch(/duration_seconds_count\{method="search",ranking="lexical"\} \d+/)
    expect((await fetch(`${metricsUrl}/else`)).status).toBe(404)
  })

  it('follows its content while clients search, without an error', async () => {
    let over = false
    let answers = 0
    const ask = async (): Promise<void> => {
      while (!over) {
        const { pages } = await client.search({ query: 'limit of zeppelins' })
        for (const { url, hits } of pages) {
          expect(url).toMatch(/^\//)
          for (const { text, marks } of hits)
            for (const { end } of marks) expect(end).toBeLessThanOrEqual(text.length)
        }
        answers++
      }
    }
    const clients = [ask(), ask(), ask()]
    const file = join(content, 'zeppelin.md')
    await writeFile(file, page('Airships', 'A zeppelin flies.'))
    await until('the page is found', async () => (await urls('zeppelin')).join() === '/zeppelin')
    await writeFile(file, page('Airships', 'A balloon flies.'))
    await until(
      'its old words are not',
      async () => (await urls('zeppelin')).length === 0 && (await urls('balloon')).length === 1,
    )
    await rename(file, join(content, 'balloon.md'))
    await until('it is found at its new place', async () => (await urls('balloon')).join() === '/balloon')
    await rm(join(content, 'balloon.md'))
    await until('it no longer exists', async () => (await urls('balloon')).length === 0)
    over = true
    await Promise.all(clients)
    expect(answers).toBeGreaterThan(10)
  })

  it('answers any query', async () => {
    for (const query of [
      '\u0000',
      ' '.repeat(5000),
      'a'.repeat(50_000),
      '🙂',
      '(((',
      '../../etc/passwd',
      '__proto__',
      'constructor',
    ])
      expect((await client.search({ query })).ranking).toBe(Ranking.LEXICAL)
    expect(worker.alive).toBe(true)
  })
})
