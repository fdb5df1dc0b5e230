/** More events than any log holds; 8,192 generations keep positions exact as numbers. */
const GENERATION = 2 ** 40

/**
 * Returns the position of an event as heads and the mempool's events name it. It grows also where a log was replaced by one that
 * ends lower: the later one has a larger generation.
 * @param offset position in topic `chain` of the log as it is; -1 for before the first.
 */
export function positionOf(generation: number, offset: number): number {
  return generation * GENERATION + offset
}

/** Returns where in topic `chain` the event of a position is, -1 for before the first. */
export function offsetOf(position: number): number {
  return position < 0 ? position : position % GENERATION
}

/** Returns the generation of the log that a position is of. */
export function generationOf(position: number): number {
  return position < 0 ? 0 : Math.floor(position / GENERATION)
}

/**
 * Returns the generation of an event that is to be appended.
 * @param newest of the log.
 * @param above a position that the event's must be larger than.
 */
export function generationAbove(newest: number, above: number, offset: number): number {
  const generation = Math.max(newest, generationOf(above))
  return positionOf(generation, offset) > above ? generation : generation + 1
}
