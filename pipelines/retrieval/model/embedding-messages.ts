/** Of all-MiniLM-L6-v2. */
export const DIMENSIONS = 384

/** What the model's thread is started with. */
export interface ThreadOptions {
  readonly onnx: string
  readonly tokenizer: string
  /** Cores that it may use. */
  readonly threads: number
}
