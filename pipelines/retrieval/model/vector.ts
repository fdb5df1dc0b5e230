import { DIMENSIONS } from './embedding-messages.js'

/** Returns whether a vector has the model's dimensions, length 1 and no NaN. HNSW accepts any vector without an error. */
export function isUnit(vector: Float32Array): boolean {
  if (vector.length !== DIMENSIONS) return false
  let square = 0
  for (const value of vector) square += value * value
  // The comparison with NaN is false.
  return Math.abs(square - 1) < 1e-3
}
