import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { until } from '../../harness/until.js'
import { startDocs, type Docs, type DocsOptions } from '../../../services/docs/docs.js'
import { FakeWorker } from './fake-worker.js'

export const PAGES: Readonly<Record<string, string>> = {
  'index.mdx':
    '---\ntitle: Headwater\ndescription: A chain, readable.\n---\n\nWelcome.\n\n## What it is\n\nAn indexer.\n',
  'guide/index.md': '# Guide\n\nHow to use it.\n',
  'guide/start.md':
    '---\ntitle: Getting started\ntags: [begin]\n---\n\nBefore.\n\n## First [#one]\n\nRun `npm start`.\n\n```sh\nnpm start\n```\n',
  'guide/blocks & more.md': '---\ntitle: Blocks & "more"\ndescription: All of <them>\n---\n\nText.\n',
}

export interface BareDocs {
  readonly url: string
  readonly folder: string
  readonly worker: FakeWorker
  readonly docs: Docs
  get(path: string, headers?: Record<string, string>): Promise<Response>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  write(file: string, text: string): Promise<void>
  close(): Promise<void>
}

/** Parsed pages, for all tests of this process: loading the parsers takes a second of processor time at each start. */
const PARSED = mkdtempSync(join(tmpdir(), 'headwater-docs-parsed-'))
process.once('exit', () => {
  rmSync(PARSED, { recursive: true, force: true })
})

/** Starts the docs service with a folder of its own and a worker whose results the test sets. */
export async function startBareDocs(
  over: Partial<DocsOptions> = {},
  pages: Readonly<Record<string, string>> = PAGES,
  /** True to wait until all pages are read. */
  waits = true,
): Promise<BareDocs> {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-docs-'))
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  for (const [file, text] of Object.entries(pages)) await write(file, text)
  const worker = new FakeWorker()
  const retrievalAddress = await worker.start()
  const logger = pino({ level: 'silent' })
  const docs = await startDocs({
    host: '127.0.0.1',
    port: 0,
    contentDir: folder,
    cacheFolder: PARSED,
    retrievalAddress,
    logger,
    scanEveryMs: 20,
    ...over,
  })
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(docs.url + path, { headers, redirect: 'manual' })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(docs.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const close = async (): Promise<void> => {
    await docs.close()
    await worker.close()
    await rm(folder, { recursive: true, force: true })
  }
  if (waits) await until('all pages are read', async () => (await get('/api/docs')).ok)
  return { url: docs.url, folder, worker, docs, get, post, write, close }
}
