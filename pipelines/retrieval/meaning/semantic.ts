import { setImmediate as turn } from 'node:timers/promises'
import type { Chunk } from '../index/chunk.js'
import { Neighbours } from './neighbours.js'
import type { Ranked } from '../ranking.js'

/** The number of vectors that are added in one turn of the event loop: about ten milliseconds. */
const ADDED_AT_ONCE = 16
/** The ratio of removed vectors to remaining vectors from which a graph is built again: removed vectors make it larger and slower. */
const MAX_REMOVED = 0.3
/** The number of removed vectors that is always accepted. */
const REMOVED_ANYWAY = 200

/** A graph of vectors, and the chunks whose vectors it contains. */
export interface EmbeddedChunks {
  readonly chunks: readonly EmbeddedChunk[]
  readonly graph: Neighbours
}

interface EmbeddedChunk {
  readonly id: string
  /** Hash of its text. */
  readonly hash: string
  /** Label of its vector in the graph. */
  readonly label: number
}

/** Accepts every chunk. */
const everything = (_chunk: number): boolean => true

/** The chunks of one snapshot in the graph. */
export class SemanticView {
  constructor(
    readonly graph: Neighbours,
    /** Labels of the chunks, by number in the snapshot. */
    readonly labels: readonly number[],
  ) {
    this.#chunks = new Map(labels.map((label, chunk) => [label, chunk]))
  }

  readonly #chunks: ReadonlyMap<number, number>

  /** Returns the cosine with a chunk; undefined if its vector was removed, because another snapshot is in use. */
  similarity(vector: Float32Array, chunk: number): number | undefined {
    return this.graph.similarity(this.labels[chunk] ?? -1, vector)
  }

  /** Returns the nearest chunks by cosine. The graph may also contain chunks of the previous or next snapshot, which are left out. */
  near(vector: Float32Array, most: number, accept = everything): Ranked[] {
    const isOurs = (label: number): boolean => {
      const chunk = this.#chunks.get(label)
      return chunk !== undefined && accept(chunk)
    }
    // A filter is called for each candidate, so it is set only if needed.
    const filter = this.graph.size > this.#chunks.size || accept !== everything ? isOurs : undefined
    return this.graph.near(vector, most, filter).flatMap(({ label, similarity }) => {
      const chunk = this.#chunks.get(label)
      return chunk === undefined ? [] : [{ document: chunk, score: similarity }]
    })
  }
}

/**
 * Vectors, each in the graph or not yet. Only one caller at a time may change it: `prepare` adds the vectors of the next snapshot,
 * which searches in the current one do not find; `settle` removes what is not needed after the switch.
 */
export class SemanticIndex {
  /** Vectors that are not in the graph, by the hash of their text. */
  readonly #outside: Map<string, Float32Array>
  #graph: Neighbours
  /** Labels in the graph by the id of the chunk. */
  #labels: Map<string, number>
  /** The label of a chunk with this text, by the hash of the text. */
  #labelOfText: Map<string, number>

  /**
   * @param outside vectors by the hash of their text.
   * @param initial the graph to begin with.
   */
  constructor(
    outside: ReadonlyMap<string, Float32Array> = new Map(),
    initial: EmbeddedChunks = { graph: new Neighbours(), chunks: [] },
  ) {
    this.#outside = new Map(outside)
    this.#graph = initial.graph
    this.#labels = new Map(initial.chunks.map(({ id, label }) => [id, label]))
    this.#labelOfText = new Map(initial.chunks.map(({ hash, label }) => [hash, label]))
  }

  /** Returns the chunks whose text has no vector yet, each text once. */
  missing(chunks: readonly Chunk[]): Chunk[] {
    const chunkOfHash = new Map<string, Chunk>()
    for (const chunk of chunks)
      if (!this.#outside.has(chunk.hash) && !this.#labelOfText.has(chunk.hash))
        chunkOfHash.set(chunk.hash, chunk)
    return [...chunkOfHash.values()]
  }

  /** Stores the vector of a chunk's text. */
  keep({ hash }: Chunk, vector: Float32Array): void {
    this.#outside.set(hash, vector)
  }

  /** Returns a view of exactly these chunks, all of which must have vectors. */
  async prepare(chunks: readonly Chunk[]): Promise<SemanticView> {
    const [before, labelBefore] = [this.#graph, this.#labelOfText]
    if (before.removed > Math.max(REMOVED_ANYWAY, MAX_REMOVED * before.size)) {
      this.#graph = new Neighbours()
      this.#labels = new Map()
      this.#labelOfText = new Map()
    }
    let added = 0
    for (const { id, hash } of chunks) {
      if (this.#labels.has(id)) continue
      const vector = this.#outside.get(hash) ?? before.vector(labelBefore.get(hash) ?? -1)
      if (vector === undefined) throw new Error(`chunk ${id} has no vector`)
      const label = this.#graph.add(vector)
      this.#labels.set(id, label)
      this.#labelOfText.set(hash, label)
      if (++added % ADDED_AT_ONCE === 0) await turn()
    }
    return new SemanticView(
      this.#graph,
      chunks.map(({ id }) => this.#labels.get(id) ?? -1),
    )
  }

  /** Removes what none of these chunks needs. */
  settle(chunks: readonly Chunk[]): void {
    const ids = new Set(chunks.map(({ id }) => id))
    for (const [id, label] of this.#labels) {
      if (ids.has(id)) continue
      this.#graph.remove(label)
      this.#labels.delete(id)
    }
    this.#labelOfText = new Map(chunks.map(({ id, hash }) => [hash, this.#labels.get(id) ?? -1]))
    // The graph contains the vectors of all chunks; vectors outside of it are not needed any more.
    this.#outside.clear()
  }
}
