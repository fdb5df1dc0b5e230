import { createHash } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { WrongContent } from '../download.js'
import type { EventLog } from '../log/port.js'
import { assertNamed } from '../materialize/one-chain.js'
import { lostHead } from '../materialize/rebuild/repair.js'
import type { Database } from '../tables/clickhouse.js'
import { setBalanceFloor } from '../tables/lists/balance-floor.js'
import { postponeMerges, resumeMerges } from '../tables/merges.js'
import { createTables, ownSchema, SchemaMismatch } from '../tables/schema-version.js'
import { assertNewestWriter, claimWriting, newestClaim, whileNewest } from '../tables/writers.js'
import {
  CannotSnapshot,
  type Manifest,
  MANIFEST,
  parseManifest,
  type SnapshotFile,
  UNFINISHED,
} from './manifest.js'
import { hasHead, HEADS_PART, PARTS } from './parts.js'
import { contentOf, type Place } from './place.js'
import { appendRecords, SNAPSHOT_TOPICS } from './records.js'

export interface RestoreOptions {
  /** The database to fill; it need not exist. */
  readonly db: Database
  readonly log: EventLog
  /** True if the log is embedded, so that it is restored, too; false if the topics are on Kafka. */
  readonly restoresLog: boolean
  readonly place: Place
  /** The network in `CHAIN`, undefined for any. */
  readonly chain: string | undefined
  /** The file in which the progress is recorded; see `forgetProgress`. */
  readonly progressFile: string
  /** Called after each file with the number of files that are restored, and of all. */
  readonly progress: (done: number, total: number) => void
  /** Called with a message for the operator. */
  readonly report: (message: string) => void
}

/** The progress of the restore of a snapshot. */
interface Restored {
  /** SHA-256 of the manifest. */
  readonly manifest: string
  readonly database: string
  /** The number under which the heads are written: if another writer takes over, the database is no longer one that is restored. */
  readonly writer: string
  /** The number of files, in the order of the manifest. */
  readonly done: number
}

/**
 * Returns the manifest of a snapshot and its SHA-256.
 * @throws CannotSnapshot without a manifest, or with one of another format; SchemaMismatch; WrongChainError.
 */
export async function readManifest(
  place: Place,
  chain: string | undefined,
): Promise<{ readonly manifest: Manifest; readonly id: string }> {
  const text = await place.read(MANIFEST)
  if (text === undefined) {
    const isBegun = (await place.read(UNFINISHED)) !== undefined
    throw new CannotSnapshot(
      isBegun
        ? `the snapshot in ${place.name} is not complete: run the command that makes it again`
        : `${place.name} has no ${MANIFEST}: it is not a snapshot`,
    )
  }
  const manifest = parseManifest(text, `${place.name}/${MANIFEST}`)
  const { version, checksum } = await ownSchema()
  const { schema, network } = manifest
  if (schema.version !== version || schema.checksum !== checksum)
    throw new SchemaMismatch(
      `${place.name} has schema version ${String(schema.version)}, this version of Headwater has ${String(version)}${
        schema.version === version ? ' with other tables' : ''
      }: restore it with the version that made it, then run npm run reindex with this one`,
    )
  assertNamed({ where: place.name, ...network }, chain)
  const known = new Set<string>([...PARTS, HEADS_PART].map(({ table }) => table).concat(SNAPSHOT_TOPICS))
  const unknown = manifest.files.find(({ of }) => !known.has(of))
  if (unknown !== undefined)
    throw new CannotSnapshot(`${place.name} has a file of ${unknown.of}, which is not known`)
  return { manifest, id: createHash('sha256').update(text).digest('hex') }
}

/**
 * Fills an empty database, and an empty embedded log, with a snapshot. Each file is verified before its rows are inserted, and heads
 * are last, so that nothing serves before everything is there. If it was interrupted, continues after the last file. Delivery: at
 * least once, and idempotent.
 * @returns the manifest.
 * @throws CannotSnapshot; WrongContent for a file that is missing or damaged; SchemaMismatch; WrongChainError; DatabaseUnavailable.
 */
export async function restoreSnapshot(options: RestoreOptions): Promise<Manifest> {
  const { place, chain, db, restoresLog } = options
  const { manifest, id } = await readManifest(place, chain)
  if (restoresLog && !manifest.hasLog)
    throw new CannotSnapshot(
      `${place.name} has no log: set LOG_URL to the Kafka of which it was made, or to a mirror`,
    )
  for (const { name, bytes } of manifest.files) {
    const size = await place.sizeOf(name)
    if (size === undefined) throw new WrongContent(`${place.name}: ${name} is missing`)
    if (size !== bytes)
      throw new WrongContent(`${place.name}: ${name} has ${String(size)} bytes, not ${String(bytes)}`)
  }
  await createTables(db)
  await db.pinEngineRun()
  let state = await begin(options, id)
  if (state.done < manifest.files.length) await postponeMerges(db)
  for (const file of manifest.files.slice(state.done)) {
    if (file.of === HEADS_PART.table) await complete(options, manifest, BigInt(state.writer))
    if (restoresLog || !isTopic(file.of)) await restoreFile(options, file, BigInt(state.writer))
    state = { ...state, done: state.done + 1 }
    await note(options.progressFile, state)
    options.progress(state.done, manifest.files.length)
  }
  await resumeMerges(db)
  if (!(await hasHead(db, manifest.head)))
    throw new CannotSnapshot(`${db.name} does not show block ${manifest.head.hash} after the restore`)
  return manifest
}

/** Forgets the progress of a restore: it is complete. */
export async function forgetProgress({ progressFile }: Pick<RestoreOptions, 'progressFile'>): Promise<void> {
  await rm(progressFile, { force: true })
}

const isTopic = (of: string): of is (typeof SNAPSHOT_TOPICS)[number] =>
  (SNAPSHOT_TOPICS as readonly string[]).includes(of)

/** Returns the progress of this restore, or begins it. @throws CannotSnapshot if there is data of anything else. */
async function begin(
  { db, log, restoresLog, progressFile, report }: RestoreOptions,
  manifest: string,
): Promise<Restored> {
  const before = await progressIn(progressFile)
  if (before !== undefined) {
    if (before.manifest !== manifest || before.database !== db.name)
      throw new CannotSnapshot(
        `${progressFile} is of an unfinished restore of another snapshot: continue that one, or remove the file, the database and the log`,
      )
    if (String((await newestClaim(db)).newest) !== before.writer)
      throw new CannotSnapshot(
        `a materializer has started on ${db.name} before the restore was complete: remove ${progressFile}, the database and the log, and start over`,
      )
    report(`continuing after ${String(before.done)} files`)
    return before
  }
  for (const { table } of [...PARTS, HEADS_PART])
    if ((await db.query(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0)
      throw new CannotSnapshot(
        `database ${db.name} has rows in ${table}: a snapshot is restored into an empty database; set another CLICKHOUSE_DATABASE or DATA_DIR`,
      )
  if (restoresLog)
    for (const topic of SNAPSHOT_TOPICS)
      if ((await log.last(topic)) >= 0)
        throw new CannotSnapshot(
          `the log has records in topic ${topic}: a snapshot is restored into an empty log; set another DATA_DIR`,
        )
  const state = { manifest, database: db.name, writer: String(await claimWriting(db, -1)), done: 0 }
  await note(progressFile, state)
  return state
}

/** Records the progress; the file is complete at any moment. */
async function note(file: string, state: Restored): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state))
  await rename(`${file}.new`, file)
}

async function progressIn(file: string): Promise<Restored | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    const { manifest, database, writer, done } = JSON.parse(text) as Restored
    if (typeof done === 'number' && /^\d+$/.test(writer)) return { manifest, database, writer, done }
  } catch {
    // Something else has written to it.
  }
  throw new CannotSnapshot(`${file} is damaged: remove it, the database and the log, and start over`)
}

async function restoreFile(options: RestoreOptions, file: SnapshotFile, writer: bigint): Promise<void> {
  const { db, log, place } = options
  if (file.rows === 0) return
  const path = await place.local(file.name, file)
  if (isTopic(file.of)) await appendRecords(log, file.of, path, Number(file.upTo?.[0]) - file.rows + 1)
  else if (file.of === HEADS_PART.table) await insertHeads(db, file.rows, path, writer)
  else await db.importRows(`INSERT INTO ${file.of}`, file.rows, contentOf(path))
  await db.assertNoLostWrites()
  await place.release(file.name)
}

/** Writes what heads depend on and no file contains, and checks that the log leads to the newest one. Repeatable. */
async function complete({ db, log }: RestoreOptions, manifest: Manifest, writer: bigint): Promise<void> {
  const { head, balancesAbove = -1 } = manifest
  const event = {
    ...head,
    tipHeight: head.height,
    tipHash: head.hash,
    sequence: BigInt(head.sequence),
  }
  const lost = await lostHead(log, event)
  if (lost !== undefined) throw new CannotSnapshot(`the snapshot is of another log: ${lost.message}`)
  await db.command('INSERT INTO block_heights SELECT DISTINCT hash, height FROM blocks')
  if (balancesAbove >= 0) await setBalanceFloor(db, balancesAbove, writer)
}

/** Inserts heads under a writer's number, unless another writer has taken over. */
async function insertHeads(db: Database, rows: number, path: string, writer: bigint): Promise<void> {
  await assertNewestWriter(db, writer)
  const columns = await db.query<{ name: string; type: string }>(
    "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = 'heads' ORDER BY position",
  )
  const structure = columns.map(({ name, type }) => `${name} ${type.replaceAll("'", "\\'")}`).join(', ')
  const values = columns.map(({ name }) => (name === 'writer' ? `toUInt64(${String(writer)})` : name))
  await db.guarded(whileNewest(writer), (condition) =>
    db.importRows(
      `INSERT INTO heads SELECT ${values.join(', ')} FROM input('${structure}') WHERE ${condition}`,
      rows,
      contentOf(path),
    ),
  )
}
