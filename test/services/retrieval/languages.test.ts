import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { RetrievalService } from '../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { freePort } from '../../../services/process/ports.js'
import { rpcClient, type RpcClient } from '../../../services/rpc/client.js'
import { ServiceProcess } from '../../harness/processes.js'
import { until } from '../../harness/until.js'

const FILES: Readonly<Record<string, string>> = {
  'index.md': '# Home\n\nThe zebra lives here.',
  'a.md': '# A\n\nThe zebra eats.',
  'hidden.md': '---\npagefind: false\n---\n\nThe zebra sleeps.',
  'secret.md': '---\nunlisted: true\n---\n\nThe zebra runs.',
  'de/index.md': '# Start\n\nDas zebra lebt hier.',
  'de/a.md': '# A\n\nDas zebra isst.',
}

let folder: string
let worker: ServiceProcess
let client: RpcClient<typeof RetrievalService>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-languages-'))
  for (const [file, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, 'content', file)), { recursive: true })
    await writeFile(join(folder, 'content', file), text)
  }
  const [port, metricsPort] = [await freePort(), await freePort()]
  const env = {
    CONTENT_DIR: join(folder, 'content'),
    DATA_DIR: join(folder, 'data'),
    EMBEDDING_MODEL_DIR: join(folder, 'no-model'),
    RETRIEVAL_GRPC_PORT: String(port),
    RETRIEVAL_METRICS_PORT: String(metricsPort),
  }
  worker = new ServiceProcess('retrieval', env, join(folder, 'log')).start()
  client = rpcClient(RetrievalService, `127.0.0.1:${String(port)}`)
  await until('it answers', async () => (await client.status({})).pages === 4)
})

afterAll(async () => {
  client.close()
  await worker.kill('SIGTERM')
  await rm(folder, { recursive: true, force: true })
})

it.each([
  ['', ['/', '/a']],
  ['de', ['/de', '/de/a']],
  ['*', ['/', '/a', '/de', '/de/a']],
  ['fr', []],
])(
  'search and passages for the language %j are those of %j, and of no page that leaves search out',
  async (lang, urls) => {
    const { pages } = await client.search({ query: 'zebra', lang })
    expect(pages.map(({ url }) => url).sort()).toEqual(urls)
    const { passages } = await client.passages({ query: 'zebra', lang })
    expect(passages.map(({ pageUrl }) => pageUrl).sort()).toEqual(urls)
  },
)
