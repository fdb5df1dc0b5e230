import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DIMENSIONS } from '../../../../pipelines/retrieval/model/embedding-messages.js'
import { Neighbours } from '../../../../pipelines/retrieval/meaning/neighbours.js'
import { wordVector } from '../fake-model.js'

/** Pseudo-random directions, so that no two are equally near to a third. */
function direction(seed: number): Float32Array {
  let state = seed + 1
  const vector = Float32Array.from({ length: DIMENSIONS }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647 - 0.5
  })
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

const vectors = Array.from({ length: 1200 }, (_, at) => direction(at))

function nearest(vector: Float32Array): number[] {
  const cosine = (other: Float32Array): number =>
    other.reduce((sum, value, at) => sum + value * vector[at]!, 0)
  return vectors
    .map((other, at) => ({ at, score: cosine(other) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, 10)
    .map(({ at }) => at)
}

describe('Neighbours', () => {
  it('finds nearly all of the ten exact nearest, beyond its initial capacity', () => {
    const graph = new Neighbours()
    for (const vector of vectors) graph.add(vector)
    let found = 0
    for (let at = 0; at < 100; at++) {
      const vector = direction(50_000 + at)
      const near = new Set(graph.near(vector, 10).map(({ label }) => label))
      found += nearest(vector).filter((label) => near.has(label)).length
    }
    // Random directions are the hardest case: nothing is near anything.
    expect(found / 1000).toBeGreaterThan(0.95)
  })

  it.each([
    ['too short', new Float32Array(DIMENSIONS - 1).fill(DIMENSIONS ** -0.5)],
    ['too long', new Float32Array(DIMENSIONS + 1).fill(DIMENSIONS ** -0.5)],
    ['not a number', new Float32Array(DIMENSIONS).fill(Number.NaN)],
    ['of length 0', new Float32Array(DIMENSIONS)],
  ])('refuses a vector that is %s', (_, vector) => {
    const graph = new Neighbours()
    expect(() => graph.add(vector)).toThrow(RangeError)
    graph.add(wordVector('one'))
    expect(() => graph.near(vector, 1)).toThrow(RangeError)
  })

  it('returns all vectors if more are requested, and none from an empty index', () => {
    const graph = new Neighbours()
    expect(graph.near(wordVector('one'), 10)).toEqual([])
    graph.add(wordVector('one'))
    const near = graph.near(wordVector('one'), 10)
    expect(near.map(({ label }) => label)).toEqual([0])
    expect(near[0]?.similarity).toBeCloseTo(1)
  })

  it('omits removed vectors, and never reuses a label', () => {
    const graph = new Neighbours()
    for (const vector of vectors.slice(0, 20)) graph.add(vector)
    graph.remove(3)
    expect(graph.size).toBe(19)
    expect(graph.near(vectors[3]!, 20).map(({ label }) => label)).not.toContain(3)
    expect(graph.add(vectors[3]!)).toBe(20)
    expect(graph.near(vectors[3]!, 1)[0]?.label).toBe(20)
  })

  it('accepts more vectors after it was read from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-graph-'))
    try {
      const graph = new Neighbours()
      for (const vector of vectors.slice(0, 1050)) graph.add(vector)
      graph.remove(7)
      const path = join(folder, 'graph')
      await graph.write(path)
      const read = new Neighbours({ path, nextLabel: graph.nextLabel, removed: graph.removed })
      expect(read.size).toBe(1049)
      expect(read.vector(11)).toEqual(vectors[11])
      expect(read.vector(99_999)).toBeUndefined()
      for (const vector of vectors.slice(1050)) read.add(vector)
      expect(read.near(vectors[1199]!, 1)[0]?.label).toBe(1199)
      expect(read.near(vectors[7]!, 3).map(({ label }) => label)).not.toContain(7)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
