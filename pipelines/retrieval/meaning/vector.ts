import { DIMENSIONS } from '../model/embedding-messages.js'

/** Whether it has the model's dimensions, is of length 1 and nothing in it is not a number: HNSW would take anything in silence. */
export function isUnit(vector: Float32Array): boolean {
  if (vector.length !== DIMENSIONS) return false
  let square = 0
  for (const value of vector) square += value * value
  // Not a number is near nothing.
  return Math.abs(square - 1) < 1e-3
}
