/**
 * The model's own thread: word pieces, the network, mean pooling and length 1. A job is texts, the reply their vectors, one
 * after the other. The only place that knows the runtime and the tokenizer.
 */
import { readFileSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { Tokenizer } from '@huggingface/tokenizers'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { answerJobs } from '../../worker-thread.js'
import { DIMENSIONS, type ThreadOptions } from './embedding-messages.js'

/** As far as the model was trained to read, its first and last sign included. */
const MOST_PIECES = 256
/** No text of so many word pieces is longer; the tokenizer need not read on. */
const MOST_CHARACTERS = 8_000
/** Texts go through the network together where the shorter ones are at least this share of the longest: padding costs as much as words. */
const ALIKE = 0.7

const { onnx, tokenizer: tokenizerFile, threads } = workerData as ThreadOptions
const session = await InferenceSession.create(onnx, {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  // Both would keep as much memory as the longest texts took, for ever, and lengths differ from run to run: 50 MB and no slower.
  enableCpuMemArena: false,
  enableMemPattern: false,
})
const tokenizer = new Tokenizer(JSON.parse(readFileSync(tokenizerFile, 'utf8')) as object, {})

answerJobs(embed, ({ buffer }) => [buffer])

async function embed(texts: readonly string[]): Promise<Float32Array<ArrayBuffer>> {
  const vectors = new Float32Array(texts.length * DIMENSIONS)
  const rows = texts
    .map((text, row) => ({ row, ids: pieces(text) }))
    .sort((a, b) => a.ids.length - b.ids.length)
  for (let from = 0; from < rows.length;) {
    let to = from + 1
    while (to < rows.length && (rows[from]?.ids.length ?? 0) >= ALIKE * (rows[to]?.ids.length ?? 0)) to++
    await run(rows.slice(from, to), vectors)
    from = to
  }
  return vectors
}

function pieces(text: string): readonly number[] {
  const { ids } = tokenizer.encode(text.slice(0, MOST_CHARACTERS))
  const end = ids.at(-1)
  return ids.length <= MOST_PIECES || end === undefined ? ids : [...ids.slice(0, MOST_PIECES - 1), end]
}

interface Row {
  /** Where its vector goes. */
  readonly row: number
  readonly ids: readonly number[]
}

async function run(rows: readonly Row[], vectors: Float32Array): Promise<void> {
  const width = rows.at(-1)?.ids.length ?? 0
  const size = rows.length * width
  const ids = new BigInt64Array(size)
  const mask = new BigInt64Array(size)
  for (const [index, row] of rows.entries()) {
    for (const [at, id] of row.ids.entries()) {
      ids[index * width + at] = BigInt(id)
      mask[index * width + at] = 1n
    }
  }
  const shape = [rows.length, width]
  const output = await session.run({
    input_ids: new Tensor('int64', ids, shape),
    attention_mask: new Tensor('int64', mask, shape),
    token_type_ids: new Tensor('int64', new BigInt64Array(size), shape),
  })
  const states = output['last_hidden_state']?.data
  if (!(states instanceof Float32Array) || states.length !== size * DIMENSIONS)
    throw new Error(
      `the model does not return ${String(DIMENSIONS)} dimensions a word piece as last_hidden_state`,
    )
  for (const [index, { row, ids: own }] of rows.entries())
    pool(
      states.subarray(index * width * DIMENSIONS),
      own.length,
      vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS),
    )
}

/** The mean of the first `count` states, at length 1. */
function pool(states: Float32Array, count: number, vector: Float32Array): void {
  for (let at = 0; at < count * DIMENSIONS; at++) {
    const dimension = at % DIMENSIONS
    vector[dimension] = (vector[dimension] ?? 0) + (states[at] ?? 0)
  }
  const length = Math.hypot(...vector)
  for (let dimension = 0; dimension < DIMENSIONS; dimension++)
    vector[dimension] = (vector[dimension] ?? 0) / length
}
