import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openContent } from '../pipelines/content/store.js'
import { Embedder } from '../pipelines/retrieval/model/embedder.js'
import { modelIn } from '../pipelines/retrieval/model/files.js'
import { chunksOf } from '../pipelines/retrieval/index/chunk.js'
import { freePort } from '../services/process/ports.js'
import { modelFolder } from '../test/harness/model.js'
import { settled, type Start, withProcesses } from './processes.js'
import { comparison, median } from './repetitions.js'
import type { Figure } from './report.js'

export interface DocsStartOptions {
  /** The folder of pages. */
  readonly content: string
  /** The number of starts of each kind. */
  readonly repetitions: number
}

const LOOK_EVERY_MS = 10
const MINUTE_MS = 60_000

/** The times of a start in seconds, from the creation of the processes. */
interface Times {
  /** The first search that is answered. */
  readonly answer: number
  /** The first search that is also ranked by meaning. */
  readonly hybrid: number
}

/**
 * Measures the first start of docs and retrieval on a folder of pages, and starts without a change, compared with starts on an
 * empty folder; and the rate of the first start, compared with embedding the same passages alone.
 */
export async function docsStart({ content, repetitions }: DocsStartOptions): Promise<Figure[]> {
  const model = await modelFolder()
  if (model === undefined) throw new Error('the embedding model is not available')
  const alone = await embeddingAlone(content, model)
  return withProcesses(async (start, folder) => {
    const data = join(folder, 'pages')
    const empty = join(folder, 'no-pages')
    await mkdir(empty)
    const started = (dataDir: string, contentDir: string): Promise<Times> =>
      startOnce(start, { DATA_DIR: dataDir, CONTENT_DIR: contentDir, EMBEDDING_MODEL_DIR: model })
    const first = await started(data, resolve(content))
    const restarts: Times[] = []
    const empties: Times[] = []
    // Alternating, so that other load on the machine affects both.
    for (let round = 0; round < repetitions; round++) {
      empties.push(await started(join(folder, `empty-${String(round)}`), empty))
      restarts.push(await started(data, resolve(content)))
    }
    const of = (times: readonly Times[], what: keyof Times): number => median(times.map((each) => each[what]))
    const [answer, hybrid] = [of(restarts, 'answer'), of(restarts, 'hybrid')]
    const [emptyAnswer, emptyHybrid] = [of(empties, 'answer'), of(empties, 'hybrid')]
    const bare = alone.chunks / alone.seconds
    return [
      { name: 'embedding_alone', value: bare, unit: 'chunks/s' },
      comparison('first_start', 'chunks/s', alone.chunks / first.hybrid, bare),
      { name: 'first_start_first_answer', value: first.answer, unit: 's' },
      { name: 'empty_start', value: emptyAnswer, unit: 's' },
      { name: 'restart', value: answer, unit: 's' },
      { name: 'restart_by_empty_start', value: answer / emptyAnswer, unit: 'times', most: 1.5 },
      { name: 'restart_by_empty_start_with_meaning', value: hybrid / emptyHybrid, unit: 'times', most: 1.5 },
    ]
  })
}

/** @returns the number of passages of a folder, and the seconds to embed them in the order of the index. */
async function embeddingAlone(content: string, model: string): Promise<{ chunks: number; seconds: number }> {
  const quiet = (): void => undefined
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const opened = await openContent(content, { logger })
  opened.close()
  const texts = [...new Set(opened.pages().flatMap((page) => chunksOf(page).map(({ text }) => text)))]
  texts.sort((a, b) => b.length - a.length)
  const embedder = await Embedder.start(await modelIn(model))
  const began = performance.now()
  await Promise.all(texts.map((text) => embedder.passage(text)))
  const seconds = (performance.now() - began) / 1000
  await embedder.close()
  return { chunks: texts.length, seconds }
}

/** Starts docs and retrieval, and stops them when they answer by words and meaning and the index is on disk. */
async function startOnce(start: Start, settings: Record<string, string>): Promise<Times> {
  const [http, grpc] = [await freePort(), await freePort()]
  const env = {
    ...settings,
    DOCS_PORT: String(http),
    RETRIEVAL_GRPC_PORT: String(grpc),
    LOG_LEVEL: 'info',
  }
  const began = performance.now()
  const processes = [start('retrieval', env), start('docs', env)]
  const url = `http://127.0.0.1:${String(http)}/api/search?query=stream+text`
  const when = async (isGood: (answer: Response) => boolean): Promise<number> => {
    for (;;) {
      const answer = await fetch(url).catch(() => undefined)
      await answer?.arrayBuffer()
      if (answer !== undefined && isGood(answer)) return (performance.now() - began) / 1000
      if (performance.now() - began > 60 * MINUTE_MS) throw new Error('the documentation does not start')
      await sleep(LOOK_EVERY_MS)
    }
  }
  const answer = await when(({ ok }) => ok)
  const hybrid = await when(({ ok, headers }) => ok && !headers.has('x-retrieval'))
  const health = `http://127.0.0.1:${String(http)}/health`
  await settled(async () => {
    const { index } = (await (await fetch(health)).json()) as { index: { stale: boolean } }
    return !index.stale
  }, MINUTE_MS)
  for (const each of processes.reverse()) await each.kill('SIGTERM')
  return { answer, hybrid }
}
