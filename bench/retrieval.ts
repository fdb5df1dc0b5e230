import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readArtefact } from '../pipelines/retrieval/disk/artefact.js'
import { Embedder } from '../pipelines/retrieval/model/embedder.js'
import { type ModelFiles, modelIn } from '../pipelines/retrieval/model/files.js'
import { indexFolder } from '../pipelines/retrieval/retrieval.js'
import {
  RetrievalService,
  StatusResponse_Semantic,
} from '../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { freePort } from '../services/process/ports.js'
import { rpcClient, type RpcClient } from '../services/rpc/client.js'
import { modelFolder } from '../test/harness/model.js'
import type { ServiceProcess } from '../test/harness/processes.js'
import { judgedAnswers } from '../test/retrieval/answers.js'
import { answerFigures, askJudged } from '../test/retrieval/outcomes.js'
import { ownCollection, readCollection } from './collection.js'
import { generatedPage, generatedQuestions } from '../test/harness/generated-text.js'
import { settled, withProcesses } from './processes.js'
import { nearest, rankingQuality, shareFound } from './ranking-quality.js'
import { comparison, percentile, repeated } from './repetitions.js'
import type { Figure } from './report.js'

const CRANFIELD = '../shared/eval/cranfield'
const JUDGEMENTS = 'test/retrieval/judgements.jsonl'
const CHUNKS_A_PAGE = 40
const CLIENTS = 16

export interface RetrievalOptions {
  readonly chunks: number
  /** Seconds of each measured period. */
  readonly seconds: number
  readonly repetitions: number
  /** A folder with a collection: then only that is ranked. */
  readonly collection: string | undefined
}

/**
 * Measures quality on judged collections (the project's own, Cranfield) and of answers without a key, in process; then speed and memory of the
 * real worker over gRPC on generated text, compared with the bare embedding call with as many callers.
 */
export async function retrieval(options: RetrievalOptions): Promise<Figure[]> {
  const folder = await modelFolder()
  if (folder === undefined) throw new Error('the embedding model is not available')
  const model = await modelIn(folder)
  const figures: Figure[] = []
  const embedder = await Embedder.start(model)
  try {
    figures.push(...(await quality(options, embedder)))
    if (options.collection === undefined) figures.push(...(await speed(options, folder, model, embedder)))
  } finally {
    await embedder.close()
  }
  return figures
}

async function quality({ collection }: RetrievalOptions, embedder: Embedder): Promise<Figure[]> {
  if (collection !== undefined)
    return rankingQuality(await readCollection(collection, 'collection'), embedder)
  const figures: Figure[] = []
  if (existsSync(JUDGEMENTS))
    figures.push(...(await rankingQuality(await ownCollection('content', JUDGEMENTS), embedder)))
  else skipped(JUDGEMENTS)
  if (existsSync(CRANFIELD))
    figures.push(...(await rankingQuality(await readCollection(CRANFIELD), embedder)))
  else skipped(CRANFIELD)
  const sets = { answers: judgedAnswers(), held_out_answers: judgedAnswers('answers-held-out.jsonl') }
  const outcomes = await askJudged(Object.values(sets).flat(), embedder)
  for (const [name, judged] of Object.entries(sets))
    figures.push(
      ...answerFigures(
        name,
        judged.flatMap((each) => outcomes.get(each) ?? []),
      ),
    )
  return figures
}

function skipped(what: string): void {
  process.stderr.write(`bench retrieval: ${what} does not exist: not measured\n`)
}

type Client = RpcClient<typeof RetrievalService>

async function speed(
  options: RetrievalOptions,
  modelDir: string,
  model: ModelFiles,
  embedder: Embedder,
): Promise<Figure[]> {
  return withProcesses(async (start, folder) => {
    const content = join(folder, 'content')
    await mkdir(content)
    for (let page = 0; page < options.chunks / CHUNKS_A_PAGE; page++)
      await writeFile(join(content, `page-${String(page)}.md`), generatedPage(page, CHUNKS_A_PAGE))
    const port = await freePort()
    const env = {
      CONTENT_DIR: content,
      EMBEDDING_MODEL_DIR: modelDir,
      RETRIEVAL_GRPC_PORT: String(port),
      LOG_LEVEL: 'warn',
    }
    const worker = start('retrieval', env)
    const client = rpcClient(RetrievalService, `127.0.0.1:${String(port)}`)
    try {
      const build = await buildTime(client)
      const load = await underLoad(options, client, worker, embedder)
      const changes = await repeated(options.repetitions, async (repetition) => [
        { name: 'one_page_change', value: await changeTime(client, content, repetition), unit: 's', most: 2 },
      ])
      const { graph, chunks } = (await readArtefact(indexFolder(folder), model.checksum)) ?? unbuilt()
      const hashOf = new Map(chunks.map(({ label, hash }) => [label, hash]))
      // Each text once.
      const labels = [...new Map(chunks.map(({ label, hash }) => [hash, label])).values()]
      const hashes = labels.map((label) => hashOf.get(label))
      const vectors = labels.map((label) => graph.vector(label) ?? new Float32Array())
      let found = 0
      const requested = generatedQuestions(50)
      for (const text of requested) {
        const vector = await embedder.question(text)
        const near = graph.near(vector, 10).map(({ label }) => hashes.indexOf(hashOf.get(label)))
        found += shareFound(near, nearest(vectors, vector))
      }
      return [
        { name: 'index_build', value: chunks.length / build, unit: 'chunks/s' },
        ...load,
        ...changes,
        { name: 'generated_hnsw_recall10', value: found / requested.length, unit: 'share of the exact ten' },
        { name: 'worker_peak_rss', value: worker.peakMb, unit: 'MB', most: 500 },
      ]
    } finally {
      client.close()
    }
  })
}

function unbuilt(): never {
  throw new Error('the worker has kept no index')
}

/** @returns seconds from the worker's first answer until every chunk is in the index. */
async function buildTime(client: Client): Promise<number> {
  await settled(async () => (await client.status({})).pages > 0, 120_000)
  const from = performance.now()
  await settled(async () => (await client.status({})).semantic === StatusResponse_Semantic.READY, 3_600_000)
  return (performance.now() - from) / 1000
}

async function underLoad(
  { seconds, repetitions }: RetrievalOptions,
  client: Client,
  worker: ServiceProcess,
  embedder: Embedder,
): Promise<Figure[]> {
  const questions = generatedQuestions(2000)
  let next = 0
  const question = (): string => questions[next++ % questions.length] ?? ''
  const search = async (): Promise<void> => void (await client.search({ query: question() }))
  const embed = async (): Promise<void> => void (await embedder.question(question()))
  await repeat(search, 1, 1)
  // Alternating, so that other load on the machine affects both.
  return repeated(repetitions, async () => {
    const single = await repeat(search, 1, seconds)
    const embeddings = (await repeat(embed, CLIENTS, seconds)).length
    const searches = (await repeat(search, CLIENTS, seconds)).length
    worker.rssMb()
    return [
      { name: 'search_p50', value: percentile(single, 0.5), unit: 'ms' },
      { name: 'search_p99', value: percentile(single, 0.99), unit: 'ms', most: 30 },
      comparison(
        `searches_per_second_${String(CLIENTS)}_clients`,
        'searches/s',
        searches / seconds,
        embeddings / seconds,
      ),
    ]
  })
}

/**
 * Makes calls one after the other in each of this number of loops.
 * @returns the duration of each, milliseconds.
 */
async function repeat(call: () => Promise<void>, loops: number, seconds: number): Promise<number[]> {
  const took: number[] = []
  const end = performance.now() + seconds * 1000
  const loop = async (): Promise<void> => {
    while (performance.now() < end) {
      const from = performance.now()
      await call()
      took.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: loops }, loop))
  return took
}

/** @returns seconds from a page's change until it is found by its new text, with a new index. */
async function changeTime(client: Client, content: string, repetition: number): Promise<number> {
  const from = performance.now()
  const word = `zeppelin${String(repetition)}`
  await writeFile(
    join(content, 'page-7.md'),
    `${generatedPage(7, CHUNKS_A_PAGE)}\n\n## Zeppelin\n\nA ${word} was seen over the chain.\n`,
  )
  for (;;) {
    const [{ pages }, { semantic, indexStale }] = [
      await client.search({ query: word, limit: 1 }),
      await client.status({}),
    ]
    if (pages[0]?.url === '/page-7' && semantic === StatusResponse_Semantic.READY && !indexStale)
      return (performance.now() - from) / 1000
    if (performance.now() - from > 60_000) throw new Error('a changed page was not found within a minute')
  }
}
