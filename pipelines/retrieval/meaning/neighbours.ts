import hnswlib from 'hnswlib-node'
import { DIMENSIONS } from '../model/embedding-messages.js'
import { isUnit } from '../model/vector.js'

/** The label of a vector, and its cosine with the vector of the query. */
export interface Near {
  readonly label: number
  readonly similarity: number
}

/** Links per vector, and candidates while a vector is added: more of either take more time and memory, and find more. */
const LINKS = 24
const EF_CONSTRUCTION = 200
/** Candidates of a search, at least as many as a ranking has places. Decision 0017 has the measurements. */
const EF_SEARCH = 128
const FIRST_CAPACITY = 1024

/** A graph (HNSW) that finds nearest neighbours among vectors of length 1. Its calls are short and synchronous. */
export class Neighbours {
  readonly #graph = new hnswlib.HierarchicalNSW('ip', DIMENSIONS)
  #nextLabel = 0
  #removed = 0

  constructor(file?: { readonly path: string; readonly nextLabel: number; readonly removed: number }) {
    if (file === undefined) this.#graph.initIndex(FIRST_CAPACITY, LINKS, EF_CONSTRUCTION)
    else {
      this.#graph.readIndexSync(file.path)
      this.#nextLabel = file.nextLabel
      this.#removed = file.removed
      // A graph that was read from a file has no capacity for another vector.
      this.#graph.resizeIndex(Math.max(FIRST_CAPACITY, this.#graph.getCurrentCount() + 1))
    }
    this.#graph.setEf(EF_SEARCH)
  }

  get size(): number {
    return this.#graph.getCurrentCount() - this.#removed
  }

  get removed(): number {
    return this.#removed
  }

  get nextLabel(): number {
    return this.#nextLabel
  }

  /** Adds a vector. @returns its label, which is never used again. @throws RangeError if it is not a vector of length 1. */
  add(vector: Float32Array): number {
    if (!isUnit(vector)) throw new RangeError('not a vector of length 1 in the dimensions of the model')
    const capacity = this.#graph.getMaxElements()
    if (this.#graph.getCurrentCount() >= capacity) this.#graph.resizeIndex(capacity * 2)
    const label = this.#nextLabel++
    this.#graph.addPoint(Array.from(vector), label)
    return label
  }

  remove(label: number): void {
    this.#graph.markDelete(label)
    this.#removed++
  }

  /** Returns the vector of a label; undefined if it was removed, or never existed. */
  vector(label: number): Float32Array | undefined {
    try {
      return new Float32Array(this.#graph.getPoint(label))
    } catch {
      return undefined
    }
  }

  /** Returns whether a label was given to a vector. */
  has(label: number): boolean {
    return Number.isInteger(label) && label >= 0 && label < this.#nextLabel
  }

  /** Returns the cosine with the vector of a label; undefined if there is none. */
  similarity(label: number, vector: Float32Array): number | undefined {
    return this.vector(label)?.reduce((sum, value, at) => sum + value * (vector[at] ?? 0), 0)
  }

  /** Returns the `most` nearest vectors, nearest first. @throws RangeError if it is not a vector of length 1. */
  near(vector: Float32Array, most: number, accept?: (label: number) => boolean): Near[] {
    if (!isUnit(vector)) throw new RangeError('not a vector of length 1 in the dimensions of the model')
    const count = Math.min(most, this.size)
    if (count === 0) return []
    const { neighbors, distances } = this.#graph.searchKnn(Array.from(vector), count, accept)
    return neighbors.map((label, at) => ({ label, similarity: 1 - (distances[at] ?? 1) }))
  }

  /** Writes the graph to a file. Nothing may be added or removed meanwhile. */
  async write(path: string): Promise<void> {
    await this.#graph.writeIndex(path)
  }
}
