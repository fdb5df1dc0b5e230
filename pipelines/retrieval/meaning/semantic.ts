import { setImmediate as turn } from 'node:timers/promises'
import type { Chunk } from '../index/chunk.js'
import { Neighbours } from './neighbours.js'
import type { Ranked } from '../ranking.js'

/** Vectors added before others get their turn: about ten milliseconds. */
const ADDED_AT_ONCE = 16
/** A graph with more removed than this share of its vectors is made anew: it is larger and slower for nothing. */
const MOST_REMOVED = 0.3
const REMOVED_ANYWAY = 200

/** Takes every chunk. */
const everything = (_chunk: number): boolean => true

/** The chunks of one snapshot in the graph. */
export class SemanticView {
  constructor(
    readonly graph: Neighbours,
    /** Of each chunk, by its number in the snapshot. */
    readonly labels: readonly number[],
  ) {
    this.#chunks = new Map(labels.map((label, chunk) => [label, chunk]))
  }

  readonly #chunks: ReadonlyMap<number, number>

  /** The cosine with a chunk; undefined where another snapshot has taken its place meanwhile. */
  similarity(vector: Float32Array, chunk: number): number | undefined {
    return this.graph.similarity(this.labels[chunk] ?? -1, vector)
  }

  /** The nearest chunks by cosine. The graph may have others too, of the snapshot before or the next: they are left out. */
  near(vector: Float32Array, most: number, accept = everything): Ranked[] {
    const isOurs = (label: number): boolean => {
      const chunk = this.#chunks.get(label)
      return chunk !== undefined && accept(chunk)
    }
    // A filter is called for each candidate: only where it is needed.
    const filter = this.graph.size > this.#chunks.size || accept !== everything ? isOurs : undefined
    return this.graph.near(vector, most, filter).flatMap(({ label, similarity }) => {
      const chunk = this.#chunks.get(label)
      return chunk === undefined ? [] : [{ document: chunk, score: similarity }]
    })
  }
}

/**
 * Vectors by the hash of their text, and the graph of them. One at a time changes it: `prepare` adds what a next snapshot
 * needs, which searches in the present one do not see; `settle` takes away what is of no use after the switch.
 */
export class SemanticIndex {
  /** By the hash of the text. */
  readonly #vectors: Map<string, Float32Array>
  #graph: Neighbours
  /** In the graph, by the chunk's id. */
  #labels: Map<string, number>

  constructor(
    kept: {
      vectors: ReadonlyMap<string, Float32Array>
      graph: Neighbours
      labels: ReadonlyMap<string, number>
    } = {
      vectors: new Map(),
      graph: new Neighbours(),
      labels: new Map(),
    },
  ) {
    this.#vectors = new Map(kept.vectors)
    this.#graph = kept.graph
    this.#labels = new Map(kept.labels)
  }

  /** Chunks whose text has no vector yet, each text once. */
  missing(chunks: readonly Chunk[]): Chunk[] {
    const wanted = new Map<string, Chunk>()
    for (const chunk of chunks) if (!this.#vectors.has(chunk.hash)) wanted.set(chunk.hash, chunk)
    return [...wanted.values()]
  }

  /** Keeps the vector of a chunk's text. */
  keep({ hash }: Chunk, vector: Float32Array): void {
    this.#vectors.set(hash, vector)
  }

  /** A view of exactly these chunks, none of which may be missing. */
  async prepare(chunks: readonly Chunk[]): Promise<SemanticView> {
    if (this.#graph.removed > Math.max(REMOVED_ANYWAY, MOST_REMOVED * this.#graph.size)) {
      this.#graph = new Neighbours()
      this.#labels = new Map()
    }
    let added = 0
    for (const { id, hash } of chunks) {
      if (this.#labels.has(id)) continue
      const vector = this.#vectors.get(hash)
      if (vector === undefined) throw new Error(`a chunk of ${id} has no vector`)
      this.#labels.set(id, this.#graph.add(vector))
      if (++added % ADDED_AT_ONCE === 0) await turn()
    }
    return new SemanticView(
      this.#graph,
      chunks.map(({ id }) => this.#labels.get(id) ?? -1),
    )
  }

  /** Takes away what none of these chunks needs. */
  settle(chunks: readonly Chunk[]): void {
    const ids = new Set(chunks.map(({ id }) => id))
    for (const [id, label] of this.#labels) {
      if (ids.has(id)) continue
      this.#graph.remove(label)
      this.#labels.delete(id)
    }
    const hashes = new Set(chunks.map(({ hash }) => hash))
    for (const hash of this.#vectors.keys()) if (!hashes.has(hash)) this.#vectors.delete(hash)
  }
}
