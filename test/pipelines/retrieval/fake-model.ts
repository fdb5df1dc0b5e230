import { analyse } from '../../../pipelines/retrieval/words/analysis.js'
import { ModelLost } from '../../../pipelines/retrieval/model/embedder.js'
import { DIMENSIONS } from '../../../pipelines/retrieval/model/embedding-messages.js'
import type { Embeds, LoadedModel, ModelSource } from '../../../pipelines/retrieval/model/model.js'

/** Returns a vector of length 1 that depends only on the words: texts that share words are near each other. */
export function wordVector(text: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS)
  for (const { term } of analyse(text)) {
    let hash = 7
    for (const letter of term) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003
    for (let at = 0; at < 5; at++) {
      hash = (hash * 48_271) % 2_147_483_647
      const dimension = hash % DIMENSIONS
      vector[dimension] = (vector[dimension] ?? 0) + 1
    }
  }
  if (vector.every((value) => value === 0)) vector[0] = 1
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

/** A model that a test makes available and unavailable, and that counts what it embeds. */
export class FakeModel implements ModelSource {
  loaded: LoadedModel | undefined
  reason = ''
  onLoaded: () => void = () => undefined
  /** The texts of chunks. Titles, which are embedded by themselves too, are not listed: they have no line break. */
  readonly passages: string[] = []
  /** Embedding of passages waits for this promise. */
  gate: Promise<void> = Promise.resolve()

  come(checksum = 'one'): void {
    const lost = (): boolean => this.loaded?.embedder !== embedder
    const embedder: Embeds = {
      question: async (text) => {
        if (lost()) throw new ModelLost('away')
        return wordVector(text)
      },
      passage: async (text) => {
        await this.gate
        if (lost()) throw new ModelLost('away')
        if (text.includes('\n')) this.passages.push(text)
        return wordVector(text)
      },
    }
    this.loaded = { embedder, checksum }
    this.reason = ''
    this.onLoaded()
  }

  go(): void {
    this.loaded = undefined
    this.reason = 'gone for a test'
  }
}
