import type { Chunk } from '../index/chunk.js'
import type { Embeds } from '../model/model.js'

/** The share of the titles in the vector of a chunk. Decision 30 has the measurements. */
const HEADING_SHARE = 0.2

/**
 * Returns the vector of a chunk, of length 1: its text's vector moved towards the vector of its titles, which name its subject.
 * @throws ModelLost
 */
export async function embedChunk(embedder: Embeds, { text, heading }: Chunk): Promise<Float32Array> {
  if (heading === '' || heading === text) return embedder.passage(text)
  const [passage, title] = await Promise.all([embedder.passage(text), embedder.passage(heading)])
  const sum = passage.map((value, at) => (1 - HEADING_SHARE) * value + HEADING_SHARE * (title[at] ?? 0))
  const length = Math.hypot(...sum)
  return sum.map((value) => value / length)
}
