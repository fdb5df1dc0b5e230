/** The number of dimensions of the vectors of all-MiniLM-L6-v2. */
export const DIMENSIONS = 384

/** The options with which the model's thread is started. */
export interface ThreadOptions {
  readonly onnx: string
  readonly tokenizer: string
  /** The number of cores that it may use. */
  readonly threads: number
}
