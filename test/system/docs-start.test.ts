import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { generatedPage } from '../harness/generated-text.js'
import { freePort } from '../../services/process/ports.js'
import { Disk } from '../chaos/disk.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const PAGES = 24
/** The number of times that the processes are killed while they parse. */
const ROUNDS = IS_WHOLE ? 2 : 1

let folder: string
let content: string
let started: ServiceProcess[]
let disk: Disk | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-docs-start-'))
  content = join(folder, 'content')
  await mkdir(content)
  for (let page = 0; page < PAGES; page++)
    await writeFile(join(content, `page-${String(page)}.md`), generatedPage(page, 20))
  started = []
})

afterEach(async () => {
  for (const each of started) await each.kill()
  disk?.unmount()
  disk = undefined
  await rm(folder, { recursive: true, force: true })
})

interface Started {
  readonly docs: ServiceProcess
  readonly retrieval: ServiceProcess
  readonly url: string
}

/** Starts docs and retrieval on a data folder. */
async function start(dataDir: string): Promise<Started> {
  const [http, grpc] = [await freePort(), await freePort()]
  const env = {
    CONTENT_DIR: content,
    DATA_DIR: dataDir,
    DOCS_PORT: String(http),
    RETRIEVAL_GRPC_PORT: String(grpc),
    EMBEDDING_MODEL_DIR: join(folder, 'no-model'),
  }
  const service = (name: string): ServiceProcess => {
    const made = new ServiceProcess(name, env, join(folder, `${name}.log`)).start()
    started.push(made)
    return made
  }
  return {
    retrieval: service('retrieval'),
    docs: service('docs'),
    url: `http://127.0.0.1:${String(http)}`,
  }
}

const body = async (url: string): Promise<string | undefined> => {
  const answer = await fetch(url)
  const text = await answer.text()
  return answer.ok ? text : undefined
}

const everything = (url: string): Promise<string> =>
  until('all pages are read', () => body(`${url}/llms-full.txt`))

const entries = async (dataDir: string): Promise<string[]> =>
  (await readdir(join(dataDir, 'docs-pages')).catch(() => [])).filter((name) => name.endsWith('.json'))

describe('a start of docs and retrieval', () => {
  it('opens the port before the pages are read; the next one parses nothing', async () => {
    const data = join(folder, 'data')
    const first = await start(data)
    const health = await until('the port is open', async () => {
      const text = await body(`${first.url}/health`)
      return text === undefined ? undefined : (JSON.parse(text) as { pages: number; reading?: object })
    })
    expect(health).toMatchObject({ reading: { total: expect.toSatisfy((total) => total <= PAGES) } })
    expect((await fetch(`${first.url}/no-such-page`)).status).toBe(503)
    const pages = await everything(first.url)
    await until('searches are answered', () => body(`${first.url}/api/search?query=block`))
    expect((await fetch(`${first.url}/no-such-page`)).status).toBe(404)
    expect(await entries(data)).toHaveLength(PAGES)
    for (const each of started) await each.kill('SIGTERM')
    const written = async () =>
      Promise.all(
        (await entries(data)).map(async (name) => (await stat(join(data, 'docs-pages', name))).mtimeMs),
      )
    const before = await written()
    const second = await start(data)
    expect(await everything(second.url)).toBe(pages)
    await until('searches are answered', () => body(`${second.url}/api/search?query=block`))
    expect(await written()).toEqual(before)
  })

  it('has all pages, however often the processes are killed while they parse and write', async () => {
    const [data, clean] = [join(folder, 'data'), join(folder, 'clean')]
    for (let round = 0; round < ROUNDS; round++) {
      const { docs, retrieval } = await start(data)
      const enough = (PAGES / 4) * (round + 1)
      await until('some are parsed', async () => (await entries(data)).length >= enough)
      await Promise.all([docs.kill(), retrieval.kill()])
    }
    const { url } = await start(data)
    const pages = await everything(url)
    expect(pages).toBe(await everything((await start(clean)).url))
    expect(await entries(data)).toHaveLength(PAGES)
  })

  it('takes over what another process was parsing when it was killed or stopped', async () => {
    const data = join(folder, 'data')
    const { docs, retrieval, url } = await start(data)
    await until('both parse', async () => {
      const names = await readdir(join(data, 'docs-pages'))
      return names.filter((name) => name.endsWith('.claim')).length === 2
    })
    retrieval.signal('SIGSTOP')
    await everything(url)
    expect(docs.alive).toBe(true)
  })
})

describe('a full disk', () => {
  it('is logged once by each process, and costs only the work at the next start', async () => {
    const data = join(folder, 'disk')
    disk = Disk.mount(data, 64)
    if (disk === undefined) {
      process.stderr.write('SKIPPED a full disk: no file system may be mounted\n')
      return
    }
    // A file system without a byte in use would be resized to 0, which means without a limit.
    await writeFile(join(data, 'filler'), 'x')
    disk.fill(0)
    const { url } = await start(data)
    const pages = await everything(url)
    await until('searches are answered', () => body(`${url}/api/search?query=block`))
    expect(await entries(data)).toEqual([])
    for (const name of ['docs', 'retrieval']) {
      const log = await readFile(join(folder, `${name}.log`), 'utf8')
      expect(log.match(/parsed pages cannot be stored/g), name).toHaveLength(1)
      expect(log, name).toContain('ENOSPC')
    }
    disk.free()
    await writeFile(join(content, 'page-0.md'), '# Changed\n\nNew.')
    await until('the change is served', async () => (await everything(url)).includes('# Changed'))
    await until('it is stored', async () => (await entries(data)).length === 1)
    expect(pages).not.toContain('# Changed')
  })
})
