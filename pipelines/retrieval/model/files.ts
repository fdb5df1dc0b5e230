import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { coded } from '../../errors.js'

/** A model in a folder: the network as ONNX, and the tokenizer as Hugging Face's tokenizer.json. */
export interface ModelFiles {
  readonly onnx: string
  readonly tokenizer: string
  /** SHA-256 over both: vectors of one model are no use to another. */
  readonly checksum: string
}

/** There is no model (yet): the message tells why. */
export class ModelUnavailable extends coded('HW_MODEL_MISSING') {}

/** Where model repositories keep the network; the first that is there is taken. */
const NETWORKS = ['model.onnx', 'onnx/model.onnx', 'onnx/model_quantized.onnx', 'model_quantized.onnx']

/** The model in a folder laid out as model repositories are. @throws ModelAway naming what is missing. */
export async function modelIn(folder: string): Promise<ModelFiles> {
  const onnx = await firstFile(NETWORKS.map((name) => join(folder, name)))
  if (onnx === undefined) throw new ModelUnavailable(`${folder} has no model.onnx`)
  const tokenizer = await firstFile([join(folder, 'tokenizer.json')])
  if (tokenizer === undefined) throw new ModelUnavailable(`${folder} has no tokenizer.json`)
  const sums = await Promise.all([onnx, tokenizer].map(checksumOf))
  return { onnx, tokenizer, checksum: createHash('sha256').update(sums.join('\n')).digest('hex') }
}

/** SHA-256 of a file's content, in hex. */
export async function checksumOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

async function firstFile(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const found = await stat(file).catch(() => undefined)
    if (found?.isFile() === true) return file
  }
  return undefined
}
