/** Of all-MiniLM-L6-v2. */
export const DIMENSIONS = 384

/** What the model's thread is started with. */
export interface ThreadOptions {
  readonly onnx: string
  readonly tokenizer: string
  /** Cores that it may use. */
  readonly threads: number
}

export interface EmbeddingJob {
  readonly id: number
  readonly texts: readonly string[]
}

/** `vectors` has those of the job's texts, one after the other; a reply with neither vectors nor error says that the model is loaded. */
export interface EmbeddingReply {
  readonly id: number
  readonly vectors?: Float32Array<ArrayBuffer>
  readonly error?: string
}
