import { randomInt } from 'node:crypto'
import { coded, StartRefused } from '../errors.js'
import { type Database, DatabaseUnavailable } from './clickhouse.js'
import { EncodedRows } from './rowbinary.js'
import { WRITERS } from './schema.js'

/** Thrown if another materializer has taken over: this one must stop. */
export class Superseded extends coded('HW_SUPERSEDED', StartRefused) {
  constructor(
    message: string,
    /** The database that has replaced this one, undefined if none has. */
    readonly successor?: string,
  ) {
    super(message)
  }
}

/** The number of random bits in a writer's number, so that the numbers of two simultaneous claims differ. */
const CHANCE_BITS = 19n
/** The bit above the random bits: of two simultaneous claims, a claim that hands over to another database wins. */
const HAND_OVER_BIT = 1n << CHANCE_BITS

/** Returns the condition by which heads beyond the claim of a later writer are hidden. @param claims SQL of the claims that count. */
const exceptHiddenBy = (claims: string): string =>
  `NOT arrayExists(claim -> claim.1 > heads.writer AND claim.2 < heads.position,
  (SELECT groupArray((writer, position)) FROM ${claims}))`

/**
 * SQL condition for rows of `heads`: the materializer that wrote the head did not write it beyond the position at which a later
 * materializer took over. Heads of a superseded materializer, for example after a pause, are therefore never visible.
 */
export const SHOWN_HEADS = exceptHiddenBy('writers')

/**
 * SQL condition for rows of `heads` up to the position of a state that a reader has: `SHOWN_HEADS`, except that a hand-over to another
 * database hides none. A head that was written at the moment of the hand-over is not valid, but a reader that has read it before
 * answers from its state until the other database shows its position.
 */
export const HEADS_OF_STATE = exceptHiddenBy("writers WHERE successor = ''")

/**
 * Takes over as the only writer: heads of earlier writers are valid only up to the newest head.
 * @param position of the newest head, -1 for none.
 * @param replaces during a build: the name of the database that this one will replace.
 * @returns the writer's number.
 * @throws DatabaseUnavailable; Superseded if another database has replaced this one.
 */
export async function claimWriting(db: Database, position: number, replaces = ''): Promise<bigint> {
  const { newest, successor } = await newestClaim(db)
  if (successor !== '') throw replacedBy(db, successor)
  const writer = numberAfter(newest)
  const row = claim(writer, position, { replaces })
  await db.guarded(HAS_NO_SUCCESSOR, (condition) => db.insert(row, condition))
  return writer
}

/**
 * Hands over from a database to another one, atomically: from this position on no head of the first database is valid, its writer
 * is superseded, and its readers find the successor.
 * @param head the newest head of the first database, undefined if it has none. If a newer one exists by then, nothing happens.
 * @returns whether it was handed over.
 * @throws Superseded if it has another successor already; DatabaseUnavailable if the result is unknown, because the engine lost
 *   writes.
 */
export async function handOver(
  db: Database,
  successor: string,
  head: { readonly position: number; readonly writtenAt: number } | undefined,
): Promise<boolean> {
  await db.pinEngineRun()
  const { newest: last, successor: other } = await newestClaim(db)
  if (other !== '') throw replacedBy(db, other)
  const heads =
    head === undefined
      ? `(SELECT count() FROM heads) = 0`
      : `(SELECT max((heads.position, toUnixTimestamp64Milli(written_at))) FROM heads WHERE ${SHOWN_HEADS})
    = (${String(head.position)}, ${String(head.writtenAt)})`
  const row = claim(numberAfter(last) | HAND_OVER_BIT, head?.position ?? -1, { successor })
  return db.guarded(`${heads} AND ${whileNewest(last)}`, async (condition) => {
    // The table shows whether the row was written: the response may have been lost.
    const refused = await db.insert(row, condition).catch((error: unknown) => error)
    const now = await newestClaim(db)
    if (now.successor === '' && refused instanceof Error && !(refused instanceof DatabaseUnavailable))
      throw refused
    if (now.successor !== '' && now.successor !== successor) throw replacedBy(db, now.successor)
    return now.successor !== ''
  })
}

/** Returns a number for the next writer, higher than the number of the last writer. */
export const numberAfter = (last: bigint): bigint =>
  (((last >> (CHANCE_BITS + 1n)) + 1n) << (CHANCE_BITS + 1n)) + BigInt(randomInt(1 << Number(CHANCE_BITS)))

/**
 * Takes over from itself under the next number, so that readers that read under the last number read again. Only the newest writer
 * can do so.
 * @param position of the newest head.
 * @throws DatabaseUnavailable if another writer has taken over, or if the result is unknown.
 */
export async function claimAgain(
  db: Database,
  numbers: { readonly last: bigint; readonly next: bigint },
  position: number,
): Promise<void> {
  const row = claim(numbers.next, position, {})
  await db.guarded(whileNewest(numbers.last), (condition) => db.insert(row, condition))
}

/**
 * Inserts a row that says that others are complete, unless another writer has taken over or rows were lost.
 * @param db its `pinEngineRun` must have been called.
 * @param row SQL of the insert, up to the values that it selects.
 * @throws DatabaseUnavailable, QueryRefused; Superseded if there is a newer writer.
 */
export async function announce(db: Database, row: string, writer: bigint): Promise<void> {
  await db.guarded(whileNewest(writer), (condition) => db.command(`${row} WHERE ${condition}`))
  await assertNewestWriter(db, writer)
}

/**
 * SQL for the number by which every read is checked. A writer takes over when it starts, and before it writes rows at or below a
 * final height that it has published. Everything that was read between two queries with the same result therefore belongs to one
 * state, provided that its head was read after the first query. A row that hands over to a successor does not count, because no
 * rows follow it.
 */
export const FENCE = "SELECT maxIf(writer, successor = '') AS fence FROM writers"

/** Returns the result of `FENCE`. */
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

/** Checks that a writer is still the newest. @throws Superseded if another one has taken over; DatabaseUnavailable. */
export async function assertNewestWriter(db: Database, writer: bigint): Promise<void> {
  const { newest, successor } = await newestClaim(db)
  if (successor !== '') throw replacedBy(db, successor)
  if (newest > writer)
    throw new Superseded(
      `another materializer has taken over (writer ${String(newest)}, this is ${String(writer)}); only one may write to a database`,
    )
}

/**
 * SQL for the database that has replaced this one, empty for none. A claim during the switch may have been checked before it and
 * written after it, with any number; the switch is valid nevertheless.
 */
export const SUCCESSOR = "argMaxIf(successor, writer, successor != '')"

const HAS_NO_SUCCESSOR = `(SELECT ${SUCCESSOR} FROM writers) = ''`

/** Returns an SQL condition for inserts: no other writer has taken over. The server evaluates it when the rows arrive. */
export function whileNewest(writer: bigint): string {
  return `(SELECT (max(writer), ${SUCCESSOR}) FROM writers) = (${String(writer)}, '')`
}

/** Returns the number of the last writer that took over, 0 for none. */
export async function newestWriter(db: Database): Promise<bigint> {
  return (await newestClaim(db)).newest
}

/**
 * Returns the number of the last writer that took over, the database that has replaced this one, and the database that this one
 * is being built to replace; empty for none.
 */
export async function newestClaim(
  db: Database,
): Promise<{ readonly newest: bigint; readonly successor: string; readonly replaces: string }> {
  const [row] = await db.query<{ newest: string; next: string; built: string }>(
    `SELECT max(writer) AS newest, ${SUCCESSOR} AS next, argMax(replaces, writer) AS built FROM writers`,
  )
  return { newest: BigInt(row?.newest ?? 0), successor: row?.next ?? '', replaces: row?.built ?? '' }
}
