import type { Readable } from 'node:stream'
import { assertOneChain, chainOfTables } from '../materialize/one-chain.js'
import { lostHead } from '../materialize/rebuild/repair.js'
import type { EventLog } from '../log/port.js'
import type { Database } from '../tables/clickhouse.js'
import { latestHead } from '../tables/head.js'
import { ownSchema, SchemaMismatch, tablesOf } from '../tables/schema-version.js'
import { SHOWN_HEADS } from '../tables/writers.js'
import {
  CannotSnapshot,
  type Manifest,
  MANIFEST,
  newManifest,
  parseManifest,
  UNFINISHED,
} from './manifest.js'
import { hasHead, HEADS_PART, nextKey, type Part, PARTS, rowsBetween } from './parts.js'
import type { Place } from './place.js'
import { recordsFile, SNAPSHOT_TOPICS } from './records.js'

/** The size of the rows of a file, about; a file is smaller, because it is compressed. */
export const FILE_BYTES = 128 * 2 ** 20

/** Queries of a snapshot wait for those of readers and of the materializer. */
const SETTINGS = { priority: '2', low_priority_query_wait_time_ms: 50, max_threads: 2 }

export interface SaveOptions {
  /** The database that serves. */
  readonly db: Database
  readonly log: EventLog
  /** True to include the log. */
  readonly hasLog: boolean
  readonly place: Place
  /** The network in `CHAIN`, undefined for any. */
  readonly chain: string | undefined
  readonly fileBytes?: number
  /** Called after each file with the number of rows of its table that are copied, and of all. */
  readonly progress: (table: string, done: number, total: number) => void
  /** Called with a message for the operator. */
  readonly report: (message: string) => void
}

/**
 * Copies the index of the newest head, and the log, while all processes continue. If it was interrupted, continues after the last file
 * that is complete. Writes the manifest last.
 * @throws CannotSnapshot; SchemaMismatch; WrongChainError; DatabaseUnavailable; errors of the place.
 */
export async function saveSnapshot(options: SaveOptions): Promise<Manifest> {
  const { place } = options
  if ((await place.read(MANIFEST)) !== undefined)
    throw new CannotSnapshot(`${place.name} contains a complete snapshot already: name another folder`)
  const db = options.db.sibling(options.db.name, SETTINGS)
  try {
    return await new Saving({ ...options, db }).run()
  } finally {
    await db.close()
  }
}

class Saving {
  readonly #options: SaveOptions
  #manifest: Manifest | undefined

  constructor(options: SaveOptions) {
    this.#options = options
  }

  async run(): Promise<Manifest> {
    const { db, log, hasLog, place, chain } = this.#options
    const tables = await tablesOf(db)
    if (tables instanceof SchemaMismatch) throw tables
    await assertOneChain({ db, log }, chain)
    const first = hasLog ? await log.first('chain') : 0
    if (first > 0)
      throw new CannotSnapshot(
        `the log begins at position ${String(first)}: a snapshot contains it from its first event, which LOG_BLOCKS has dropped`,
      )
    this.#manifest = (await this.#continued()) ?? (await this.#begun())
    for (const part of PARTS) await this.#saveTable(part)
    // After the tables: it contains the events of all blocks that have rows in them.
    if (hasLog) for (const topic of SNAPSHOT_TOPICS) await this.#saveTopic(topic)
    await this.#saveTable(HEADS_PART, headsUpTo(this.#known.head))
    const { floorBefore } = this.#known
    const manifest = { ...this.#known, balancesAbove: await highestFloor(db, floorBefore) }
    await place.writeText(MANIFEST, `${JSON.stringify(manifest, undefined, 1)}\n`)
    return manifest
  }

  get #known(): Manifest {
    if (this.#manifest === undefined) throw new Error('the manifest is not begun yet')
    return this.#manifest
  }

  /** Returns the manifest of a new snapshot, of the newest head. */
  async #begun(): Promise<Manifest> {
    const { db, log, hasLog } = this.#options
    // Before the head: balances above a floor are those of all blocks of a later head.
    const floorBefore = await newestFloor(db)
    const [head, chain] = [await latestHead(db), await chainOfTables(db)]
    if (head === undefined || chain === undefined || head.tipHeight < 0)
      throw new CannotSnapshot(`nothing is indexed in ${db.name} yet`)
    const lost = await lostHead(log, head)
    if (lost !== undefined)
      throw new CannotSnapshot(`the log is being repaired: ${lost.message}; try again later`)
    const { version, checksum } = await ownSchema()
    return {
      ...newManifest(),
      schema: { version, checksum },
      network: { name: chain.name, genesisHash: chain.genesisHash },
      database: db.name,
      head: {
        position: head.position,
        writtenAt: head.writtenAt,
        height: head.tipHeight,
        hash: head.tipHash,
        epoch: head.epoch,
        sequence: String(head.sequence),
      },
      hasLog,
      ...(floorBefore === undefined ? {} : { floorBefore }),
    }
  }

  /** Returns the manifest of an unfinished snapshot, with the files up to the first that is missing; undefined if there is none. */
  async #continued(): Promise<Manifest | undefined> {
    const { db, place, hasLog, report } = this.#options
    const text = await place.read(UNFINISHED)
    if (text === undefined) return undefined
    const manifest = parseManifest(text, `${place.name}/${UNFINISHED}`)
    const { checksum } = await ownSchema()
    const isSame =
      manifest.database === db.name && manifest.schema.checksum === checksum && manifest.hasLog === hasLog
    if (!isSame || !(await hasHead(db, manifest.head))) {
      report(`${place.name} is of another database or version: starting over`)
      return undefined
    }
    const files: Manifest['files'] = []
    for (const file of manifest.files) {
      if ((await place.sizeOf(file.name)) !== file.bytes) break
      files.push(file)
    }
    const now = (await latestHead(db))?.tipHeight ?? -1
    const { height } = manifest.head
    const later =
      now > height ? `; a restored machine reads the ${String(now - height)} blocks since from the log` : ''
    report(`continuing the snapshot of block ${String(height)} after ${String(files.length)} files${later}`)
    return { ...manifest, files }
  }

  async #saveTable(part: Part, extra = ''): Promise<void> {
    const { db, progress, fileBytes = FILE_BYTES } = this.#options
    const { table } = part
    const total = await rowCount(db, part, extra)
    for (;;) {
      const last = this.#filesOf(table).at(-1)
      if (last !== undefined && last.upTo === undefined) return
      const upTo = await nextKey(db, part, last?.upTo, fileBytes, extra)
      const sql = `${rowsBetween(part, last?.upTo, upTo)}${extra === '' ? '' : ` AND ${extra}`}`
      const { rows, stream } = await db.exportRows(sql)
      await this.#add(
        { of: table, rows, suffix: 'native.zst', ...(upTo === undefined ? {} : { upTo }) },
        stream,
      )
      const done = this.#filesOf(table).reduce((sum, file) => sum + file.rows, 0)
      progress(table, upTo === undefined ? Math.max(done, total) : done, Math.max(done, total))
    }
  }

  /** Copies the records of a topic up to its last one. */
  async #saveTopic(topic: (typeof SNAPSHOT_TOPICS)[number]): Promise<void> {
    const { log, progress, fileBytes = FILE_BYTES } = this.#options
    const to = await log.last(topic)
    for (;;) {
      const from = Number(this.#filesOf(topic).at(-1)?.upTo?.[0] ?? -1) + 1
      if (from > to) return
      const { content, written } = recordsFile(log, topic, { from, to, fileBytes })
      await this.#add(
        () => ({ of: topic, rows: written.rows, suffix: 'records.gz', upTo: [String(written.last)] }),
        content,
      )
      progress(topic, written.last + 1, to + 1)
    }
  }

  #filesOf(table: string): Manifest['files'] {
    return this.#known.files.filter(({ of }) => of === table)
  }

  /** Stores a file and records it. @param file what is known of it, when it is stored. */
  async #add(file: NewFile | (() => NewFile), content: Readable): Promise<void> {
    const { place } = this.#options
    const { files } = this.#known
    const { of, suffix } = typeof file === 'function' ? file() : file
    const name = `${of}.${String(this.#filesOf(of).length)}.${suffix}`
    const pinned = await place.write(name, content)
    const { rows, upTo } = typeof file === 'function' ? file() : file
    files.push({ name, of, rows, ...pinned, ...(upTo === undefined ? {} : { upTo }) })
    await place.writeText(UNFINISHED, JSON.stringify(this.#known))
  }
}

interface NewFile {
  readonly of: string
  readonly suffix: 'native.zst' | 'records.gz'
  readonly rows: number
  readonly upTo?: string[]
}

/** Returns an SQL condition for the heads of a snapshot: those that are valid, up to its own. */
function headsUpTo({ position, writtenAt }: Manifest['head']): string {
  const own = `(${String(position)}, ${String(writtenAt)})`
  return `(heads.position, toUnixTimestamp64Milli(heads.written_at)) <= ${own} AND ${SHOWN_HEADS}`
}

/** Returns the number of rows of a part, about. */
async function rowCount(db: Database, { table }: Part, extra: string): Promise<number> {
  // Point tables cannot be counted without being read.
  const counted = table === 'txs' ? 'block_txs' : table === 'scripts' ? 'address_order' : table
  const sql = `SELECT count() AS rows FROM ${counted}${extra === '' ? '' : ` WHERE ${extra}`}`
  return Number((await db.query<{ rows: string }>(sql))[0]?.rows ?? 0)
}

/** Returns writer and time of the newest row of `balance_floors`, undefined if there is none. */
async function newestFloor(db: Database): Promise<[string, string] | undefined> {
  const sql = `SELECT toString(writer) AS by, toString(noted_at) AS at FROM balance_floors ORDER BY writer DESC, noted_at DESC LIMIT 1`
  const [row] = await db.query<{ by: string; at: string }>(sql)
  return row && [row.by, row.at]
}

/**
 * Returns the highest floor since the copying of `script_balances` began, -1 for none: above it, no row was dropped, and none was
 * missing.
 */
async function highestFloor(db: Database, before: readonly [string, string] | undefined): Promise<number> {
  const since =
    before === undefined
      ? ''
      : `WHERE (writer, noted_at) >= (${before[0]}, toDateTime64('${before[1]}', 6, 'UTC'))`
  const sql = `SELECT if(count() = 0, -1, toInt64(max(above))) AS floor FROM balance_floors ${since}`
  return Number((await db.query<{ floor: string }>(sql))[0]?.floor ?? -1)
}
