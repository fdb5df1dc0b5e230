import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { generatedPage } from '../harness/generated-text.js'
import { readArtefact } from '../../pipelines/retrieval/disk/artefact.js'
import { modelIn } from '../../pipelines/retrieval/model/files.js'
import { indexFolder } from '../../pipelines/retrieval/retrieval.js'
import {
  Ranking,
  RetrievalService,
  StatusResponse_Semantic,
} from '../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { freePort } from '../../services/process/ports.js'
import { rpcClient, type RpcClient } from '../../services/rpc/client.js'
import { modelFolder } from '../harness/model.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const MODEL = await modelFolder()
const MINUTE = 60_000
/** Pages with ten passages each, each of which takes the model a tenth of a second. */
const PAGES = IS_WHOLE ? 10 : 4

/** The worker with the real model; skipped with a message if that is not available. */
describe.skipIf(MODEL === undefined)('the retrieval worker with its model', () => {
  let folder: string
  let content: string
  let modelDir: string
  const started: ServiceProcess[] = []
  const clients: RpcClient<typeof RetrievalService>[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-retrieval-'))
    content = join(folder, 'content')
    modelDir = join(folder, 'model')
    await mkdir(content)
    await mkdir(modelDir)
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close()
    for (const each of started.splice(0)) await each.kill()
    await rm(folder, { recursive: true, force: true })
  })

  async function start(
    args: string[] = [],
  ): Promise<{ worker: ServiceProcess; client: RpcClient<typeof RetrievalService> }> {
    const port = await freePort()
    const env = {
      CONTENT_DIR: content,
      DATA_DIR: folder,
      EMBEDDING_MODEL_DIR: modelDir,
      RETRIEVAL_GRPC_PORT: String(port),
    }
    const worker = new ServiceProcess('retrieval', env, join(folder, 'log'), args).start()
    const client = rpcClient(RetrievalService, `127.0.0.1:${String(port)}`)
    started.push(worker)
    clients.push(client)
    return { worker, client }
  }

  async function bringModel(): Promise<void> {
    const { onnx, tokenizer } = await modelIn(MODEL!)
    await symlink(onnx, join(modelDir, 'model.onnx'))
    await symlink(tokenizer, join(modelDir, 'tokenizer.json'))
  }

  const write = (name: string, title: string, text: string): Promise<void> =>
    writeFile(join(content, `${name}.md`), `---\ntitle: ${title}\n---\n\n${text}\n`)

  const ready = (client: RpcClient<typeof RetrievalService>, chunks: number): Promise<boolean> =>
    until(
      'the index is whole',
      async () => {
        const status = await client.status({})
        return status.semantic === StatusResponse_Semantic.READY && status.chunks === chunks
      },
      5 * MINUTE,
    )

  it('uses the model when it is available, and then finds texts by meaning that share no word', async () => {
    await write('limits', 'Rate limits', 'Clients may send at most a hundred requests per minute.')
    await write('spending', 'Transactions', 'A transaction consumes outputs and creates new ones.')
    await write('forks', 'Reorganisations', 'Blocks of the losing branch are taken back.')
    const { client } = await start()
    await until('it answers', async () => (await client.status({})).pages === 3, MINUTE)
    const requested = { query: 'throttling greedy visitors' }
    expect(await client.search(requested)).toMatchObject({ pages: [], ranking: Ranking.LEXICAL })
    await bringModel()
    await ready(client, 3)
    const { pages, ranking } = await client.search(requested)
    expect([ranking, pages[0]?.url]).toEqual([Ranking.HYBRID, '/limits'])
    const { passages } = await client.passages(requested)
    expect(passages[0]!.pageUrl).toBe('/limits')
    expect(passages[0]!.similarity).toBeGreaterThan(0.2)
    // It covers words of the query in other words.
    expect(passages[0]!.coverage).toBeGreaterThan(0)
  })

  it('keeps its old index when it is killed while it builds a new one, and continues the build', async () => {
    await bringModel()
    await write('limits', 'Rate limits', 'Clients may send at most a hundred requests per minute.')
    const first = await start()
    await ready(first.client, 1)
    const { checksum } = await modelIn(MODEL!)
    const kept = await until('it is on disk', () => readArtefact(indexFolder(folder), checksum))
    for (let page = 0; page < PAGES; page++)
      await writeFile(join(content, `page-${String(page)}.md`), generatedPage(page, 10))
    await until('it makes the new one', async () => (await first.client.status({})).indexStale)
    expect((await first.client.search({ query: 'greedy clients' })).pages[0]?.url).toBe('/limits')
    await first.worker.kill()
    expect((await readArtefact(indexFolder(folder), checksum))?.content).toBe(kept.content)
    const second = await start()
    await ready(second.client, 10 * PAGES + 1)
    const grown = await until('it is on disk', async () => {
      const artefact = await readArtefact(indexFolder(folder), checksum)
      return artefact?.content === kept.content ? undefined : artefact
    })
    expect(grown.chunks).toHaveLength(10 * PAGES + 1)
  })

  it('never finds a half-written index, however often it is killed', async () => {
    await bringModel()
    const { checksum } = await modelIn(MODEL!)
    for (let round = 0; round < (IS_WHOLE ? 3 : 2); round++) {
      await write('page', 'Page', `Text of round ${String(round)}.`)
      const before = await readFile(join(indexFolder(folder), 'current'), 'utf8').catch(() => '')
      const { worker, client } = await start()
      await ready(client, 1)
      // Killed at any point: while it writes, syncs or renames, or after it is done.
      await worker.kill()
      const artefact = await readArtefact(indexFolder(folder), checksum)
      if (before !== '') expect(artefact).toBeDefined()
    }
  })

  it('npm run docs:index builds the index and exits', async () => {
    await bringModel()
    await write('limits', 'Rate limits', 'Clients may send at most a hundred requests per minute.')
    const { worker } = await start(['--index'])
    await until('it has ended', () => !worker.alive, MINUTE)
    const { checksum } = await modelIn(MODEL!)
    expect((await readArtefact(indexFolder(folder), checksum))?.chunks).toHaveLength(1)
  })
})
