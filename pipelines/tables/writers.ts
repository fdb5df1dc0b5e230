import { randomInt } from 'node:crypto'
import { coded, StartRefused } from '../errors.js'
import { WRITERS } from './chain-tables.js'
import { type Database, DatabaseUnavailable } from './clickhouse.js'
import { EncodedRows } from './rowbinary.js'

/** Another materializer has taken over: this one must stop. */
export class Superseded extends coded('HW_SUPERSEDED', StartRefused) {
  constructor(
    message: string,
    /** The database that has taken the place of this one, where that is what happened. */
    readonly successor?: string,
  ) {
    super(message)
  }
}

/** Two that claim in the same moment differ in these bits, so that one of them is the later one. */
const CHANCE_BITS = 19n
/** Above them: of two that claim in the same moment one that gives the database's place away is the later one. */
const GIVES_WAY = 1n << CHANCE_BITS

/**
 * A condition for rows of `heads`: not written by a materializer beyond the position at which a later one took over. So what
 * a second one writes, or one that wakes from the dead, is not visible, whenever it comes.
 */
export const SHOWN_HEADS = `NOT arrayExists(claim -> claim.1 > heads.writer AND claim.2 < heads.position,
  (SELECT groupArray((writer, position)) FROM writers))`

/**
 * Takes over as the one writer, from the newest head on: the heads of all before count up to it only.
 * @param position of the newest head, -1 for none.
 * @param replaces of a database that is being built: the one whose place it is to take.
 * @returns the writer's number.
 * @throws Superseded where another database has taken the place of this one.
 */
export async function claimWriting(db: Database, position: number, replaces = ''): Promise<bigint> {
  const { newest, successor } = await newestClaim(db)
  if (successor !== '') throw replacedBy(db, successor)
  const writer = numberAfter(newest)
  await db.insert(claim(writer, position, { replaces }), HAS_NO_SUCCESSOR)
  await db.assertNoLostWrites()
  return writer
}

/**
 * Gives a database's place to another one, in one step: from this position on no head of it counts, whoever writes it is
 * superseded, and whoever reads it finds the successor.
 * @param head its newest: where it has one that is newer by then, nothing happens.
 * @returns whether it is done.
 * @throws Superseded where it has a successor already; DatabaseUnavailable where it may be done, in a run that lost rows.
 */
export async function handOver(
  db: Database,
  successor: string,
  head: { readonly position: number; readonly writtenAt: number },
): Promise<boolean> {
  await db.pinEngineRun()
  const { newest: last, successor: other } = await newestClaim(db)
  if (other !== '') throw replacedBy(db, other)
  const isNewest = `(SELECT max((heads.position, toUnixTimestamp64Milli(written_at))) FROM heads WHERE ${SHOWN_HEADS})
    = (${String(head.position)}, ${String(head.writtenAt)}) AND ${whileNewest(last)} AND ${db.whileNothingLost}`
  // The table tells whether the row was written: the response may have been lost.
  const refused = await db
    .insert(claim(numberAfter(last) | GIVES_WAY, head.position, { successor }), isNewest)
    .catch((error: unknown) => error)
  const now = await newestClaim(db)
  if (now.successor === '') {
    if (refused instanceof Error && !(refused instanceof DatabaseUnavailable)) throw refused
    return false
  }
  if (now.successor !== successor) throw replacedBy(db, now.successor)
  await db.assertNoLostWrites()
  return true
}

/** Returns a number for the next one that takes over, larger than that of the last one. */
export const numberAfter = (last: bigint): bigint =>
  (((last >> (CHANCE_BITS + 1n)) + 1n) << (CHANCE_BITS + 1n)) + BigInt(randomInt(1 << Number(CHANCE_BITS)))

/**
 * Takes over from itself, under the next number: whoever read under the last one reads again. Only the newest writer can.
 * @param position of the newest head.
 * @throws DatabaseUnavailable where another has taken over, or where it may be done.
 */
export async function claimAgain(
  db: Database,
  numbers: { readonly last: bigint; readonly next: bigint },
  position: number,
): Promise<void> {
  await db.insert(
    claim(numbers.next, position, {}),
    `${whileNewest(numbers.last)} AND ${db.whileNothingLost}`,
  )
  await db.assertNoLostWrites()
}

/**
 * Looks up the number that every read is checked by. A writer that begins, and one that is about to write rows at or below a
 * final height that it has shown, takes over first. So what was read between two looks with the same result is of one state,
 * if its head was read after the first one. One that gives its place away writes nothing, and is not counted.
 */
export const FENCE = "SELECT maxIf(writer, successor = '') AS fence FROM writers"

/** Returns the number that `FENCE` looks up. */
export async function newestFence(db: Database): Promise<bigint> {
  return BigInt((await db.query<{ fence: string }>(FENCE))[0]?.fence ?? 0)
}

function claim(
  writer: bigint,
  position: number,
  { successor = '', replaces = '' },
): EncodedRows<typeof WRITERS.columns> {
  const row = { writer, position, claimed_at: Date.now(), successor, replaces }
  return new EncodedRows(WRITERS, [row])
}

const replacedBy = (db: Database, successor: string): Superseded =>
  new Superseded(`database ${successor} has replaced ${db.name}`, successor)

/** @throws Superseded where another has taken over since. */
export async function assertNewestWriter(db: Database, writer: bigint): Promise<void> {
  const { newest, successor } = await newestClaim(db)
  if (successor !== '') throw replacedBy(db, successor)
  if (newest > writer)
    throw new Superseded(
      `another materializer has taken over (writer ${String(newest)}, this is ${String(writer)}); only one may write to a database`,
    )
}

/**
 * The database that has taken this one's place, empty for none. Whoever claims in the moment of the switch may have looked
 * before it and be written after it, under any number: the place is given away all the same.
 */
export const SUCCESSOR = "argMaxIf(successor, writer, successor != '')"

const HAS_NO_SUCCESSOR = `(SELECT ${SUCCESSOR} FROM writers) = ''`

/** A condition for an insert: nobody has taken over. The server looks when the rows arrive, however long ago they were sent. */
export function whileNewest(writer: bigint): string {
  return `(SELECT (max(writer), ${SUCCESSOR}) FROM writers) = (${String(writer)}, '')`
}

/** The number of the last one that took over, 0 for none. */
export async function newestWriter(db: Database): Promise<bigint> {
  return (await newestClaim(db)).newest
}

/** Returns the number of the last one that took over and whose place its database is to take, and what has taken its own place. */
export async function newestClaim(
  db: Database,
): Promise<{ readonly newest: bigint; readonly successor: string; readonly replaces: string }> {
  const [row] = await db.query<{ newest: string; next: string; built: string }>(
    `SELECT max(writer) AS newest, ${SUCCESSOR} AS next, argMax(replaces, writer) AS built FROM writers`,
  )
  return { newest: BigInt(row?.newest ?? 0), successor: row?.next ?? '', replaces: row?.built ?? '' }
}
