/** The number of positions per generation: more than any log has events. 8,192 generations fit into safe integers. */
const GENERATION = 2 ** 40

/**
 * Returns the position of an event in heads and in events of the mempool. It grows even if the log was replaced by a shorter log,
 * because the new log has a higher generation.
 * @param offset position in topic `chain` of the current log; -1 for before the first event.
 */
export function positionOf(generation: number, offset: number): number {
  return generation * GENERATION + offset
}

/** Returns the offset in topic `chain` of a position, -1 for before the first event. */
export function offsetOf(position: number): number {
  return position < 0 ? position : position % GENERATION
}

/** Returns the generation of the log of a position. */
export function generationOf(position: number): number {
  return position < 0 ? 0 : Math.floor(position / GENERATION)
}

/**
 * Returns the generation of an event that will be appended.
 * @param newest the newest generation in the log.
 * @param above a position, below the position that the event gets.
 * @param offset of the event.
 */
export function generationAbove(newest: number, above: number, offset: number): number {
  const generation = Math.max(newest, generationOf(above))
  return positionOf(generation, offset) > above ? generation : generation + 1
}
