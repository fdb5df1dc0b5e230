import { randomInt } from 'node:crypto'
import { WRITERS } from './chain-tables.js'
import type { Database } from './clickhouse.js'

/** Another materializer has taken over: this one must stop. */
export class Superseded extends Error {
  override readonly name = 'Superseded'
}

/** Two that claim in the same moment differ in these bits, so that one of them is the later one. */
const CHANCE_BITS = 20n

/**
 * A condition for rows of `heads`: not written by a materializer beyond the position at which a later one took over. So what
 * a second one writes, or one that wakes from the dead, is not visible, whenever it comes.
 */
export const SHOWN_HEADS = `NOT arrayExists(claim -> claim.1 > heads.writer AND claim.2 < heads.position,
  (SELECT groupArray((writer, position)) FROM writers))`

/**
 * Takes over as the one writer, from the newest head on: the heads of all before count up to it only.
 * @param position of the newest head, -1 for none.
 * @returns the writer's number.
 */
export async function claimWriting(db: Database, position: number): Promise<bigint> {
  const last = await newestWriter(db)
  const writer = (((last >> CHANCE_BITS) + 1n) << CHANCE_BITS) + BigInt(randomInt(1 << Number(CHANCE_BITS)))
  await db.insert(WRITERS, [{ writer, position: BigInt(position), claimed_at: Date.now() }])
  return writer
}

/** @throws Superseded where another has taken over since. */
export async function mustBeNewest(db: Database, writer: bigint): Promise<void> {
  const newest = await newestWriter(db)
  if (newest > writer)
    throw new Superseded(
      `another materializer has taken over (writer ${String(newest)}, this is ${String(writer)}); one writes to a database`,
    )
}

/** A condition for an insert: nobody has taken over. The server looks when the rows arrive, however long ago they were sent. */
export function whileNewest(writer: bigint): string {
  return `(SELECT max(writer) FROM writers) = ${String(writer)}`
}

/** The number of the last one that took over, 0 for none. */
export async function newestWriter(db: Database): Promise<bigint> {
  const [row] = await db.query<{ newest: string }>('SELECT max(writer) AS newest FROM writers')
  return BigInt(row?.newest ?? 0)
}
