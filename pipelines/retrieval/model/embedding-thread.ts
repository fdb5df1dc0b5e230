/**
 * The thread of the model: word pieces, the network, mean pooling, and normalisation to length 1. A job is a list of texts; its
 * reply is their vectors, concatenated. Only this file imports the runtime and the tokenizer.
 */
import { readFileSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { Tokenizer } from '@huggingface/tokenizers'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { answerJobs } from '../../worker-thread.js'
import { DIMENSIONS, type ThreadOptions } from './embedding-messages.js'

/** The number of word pieces that the model was trained to read, including the first and last special token. */
const MAX_PIECES = 256
/** The number of characters that the tokenizer reads. No text of MAX_PIECES word pieces is longer. */
const MAX_CHARACTERS = 8_000
/** The minimum length of a text relative to the longest one of its batch: padding takes as much time as words. */
const ALIKE = 0.7

const { onnx, tokenizer: tokenizerFile, threads } = workerData as ThreadOptions
const session = await InferenceSession.create(onnx, {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  // Both would retain the memory of the longest texts indefinitely. Without them it takes 50 MB less and is no slower, as lengths vary.
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
  const { ids } = tokenizer.encode(text.slice(0, MAX_CHARACTERS))
  const end = ids.at(-1)
  return ids.length <= MAX_PIECES || end === undefined ? ids : [...ids.slice(0, MAX_PIECES - 1), end]
}

interface Row {
  /** Number of the text, and of its vector in the reply. */
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
      `the model does not return ${String(DIMENSIONS)} dimensions per word piece as last_hidden_state`,
    )
  for (const [index, { row, ids: own }] of rows.entries())
    meanPool(
      states.subarray(index * width * DIMENSIONS),
      own.length,
      vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS),
    )
}

/** Writes the mean of the first `count` states, normalised to length 1, to `vector`. */
function meanPool(states: Float32Array, count: number, vector: Float32Array): void {
  for (let at = 0; at < count * DIMENSIONS; at++) {
    const dimension = at % DIMENSIONS
    vector[dimension] = (vector[dimension] ?? 0) + (states[at] ?? 0)
  }
  const length = Math.hypot(...vector)
  for (let dimension = 0; dimension < DIMENSIONS; dimension++)
    vector[dimension] = (vector[dimension] ?? 0) / length
}
