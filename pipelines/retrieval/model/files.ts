import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checksumOf } from '../../download.js'
import { coded } from '../../errors.js'

/** The files of a model: the network as ONNX, and the tokenizer as Hugging Face's tokenizer.json. */
export interface ModelFiles {
  readonly onnx: string
  readonly tokenizer: string
  /** SHA-256 over both files. Vectors of different models cannot be compared. */
  readonly checksum: string
}

/** Thrown if there is no model, or not yet; the message contains the reason. */
export class ModelUnavailable extends coded('HW_MODEL_MISSING') {}

/** Paths of the network in model repositories; the first existing path is used. */
const NETWORKS = ['model.onnx', 'onnx/model.onnx', 'onnx/model_quantized.onnx', 'model_quantized.onnx']

/** Returns the model in a folder with the layout of model repositories. @throws ModelUnavailable naming the file that is missing. */
export async function modelIn(folder: string): Promise<ModelFiles> {
  const onnx = await firstFile(NETWORKS.map((name) => join(folder, name)))
  if (onnx === undefined) throw new ModelUnavailable(`${folder} has no model.onnx`)
  const tokenizer = await firstFile([join(folder, 'tokenizer.json')])
  if (tokenizer === undefined) throw new ModelUnavailable(`${folder} has no tokenizer.json`)
  const sums = await Promise.all([onnx, tokenizer].map(checksumOf))
  return { onnx, tokenizer, checksum: createHash('sha256').update(sums.join('\n')).digest('hex') }
}

async function firstFile(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const stats = await stat(file).catch(() => undefined)
    if (stats?.isFile() === true) return file
  }
  return undefined
}
