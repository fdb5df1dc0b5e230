import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { displayBytes } from '../../../pipelines/chain/hash.js'
import { serializeTx } from '../../../pipelines/chain/transaction.js'
import type { Book } from '../../../pipelines/journal/book.js'
import { DroppedBook } from '../../../pipelines/journal/dropped-book.js'
import { MempoolJournal } from '../../../pipelines/journal/journal.js'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../pipelines/log/port.js'
import type { LeanTx } from '../../../pipelines/mempool/lean-tx.js'
import type { NodeRecord } from '../../../pipelines/mempool/mempool-events.js'
import { Database } from '../../../pipelines/tables/clickhouse.js'
import { creations } from '../../../pipelines/tables/mempool/tables.js'
import { NodeEventSchema, PoolLeft_Reason } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { until } from '../../harness/until.js'

type Payload = NonNullable<MessageInitShape<typeof NodeEventSchema>['event']>

let folder: string
let log: EventLog
let db: Database
let sequence = 0n
let databases = 0

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-journal-'))
  log = await openEmbeddedLog(folder)
  db = new Database({
    url: inject('engineUrl'),
    database: `t_${String(process.pid)}_${String(databases++)}_journal_mempool`,
  })
})
afterEach(async () => {
  await db.command(`DROP DATABASE IF EXISTS ${db.name} SYNC`).catch(() => undefined)
  await db.close()
  await log.close()
  await rm(folder, { recursive: true, force: true })
})

const id = (number: number): string => number.toString(16).padStart(64, '0').split('').reverse().join('')

function append(event: Payload, epoch = 1): Promise<number> {
  const fields = { epoch, sequence: sequence++, chainPosition: 5n, event }
  return log.append('node', [toBinary(NodeEventSchema, create(NodeEventSchema, fields))])
}

const heartbeat = (): Payload => ({
  case: 'heartbeat',
  value: { timeMs: 1n, nodeHeight: 1, nodeHash: Buffer.alloc(32), pollIntervalMs: 1 },
})
/** Returns the bytes of a transaction. */
const rawTx = (number: number): Buffer => {
  const input = { prevTxid: id(number), prevVout: 0, scriptSig: Buffer.alloc(0), sequence: 0, witness: [] }
  return serializeTx({ version: 2, locktime: 0, inputs: [input], outputs: [] }, false)
}

const snapshot = (...numbers: readonly number[]): Payload => ({
  case: 'poolSnapshot',
  value: {
    part: 0,
    parts: 1,
    enteredBefore: 0n,
    entries: numbers.map((number) => {
      return { txid: displayBytes(id(number)), raw: rawTx(number), fee: 1n, firstSeen: number }
    }),
  },
})

interface Removal {
  readonly tx: number
  readonly reason: PoolLeft_Reason
  readonly by?: number
  readonly signalled?: boolean
}

const delta = (snapshotPosition: number, ...left: readonly Removal[]): Payload => ({
  case: 'poolDelta',
  value: {
    snapshotPosition: BigInt(snapshotPosition),
    left: left.map(({ tx, reason, by, signalled }) => ({
      txid: displayBytes(id(tx)),
      reason,
      by: by === undefined ? Buffer.alloc(0) : displayBytes(id(by)),
      fee: BigInt(1000 + tx),
      vsize: 100 + tx,
      firstSeen: 1_700_000_000 + tx,
      raw: reason === PoolLeft_Reason.CONFIRMED ? Buffer.alloc(0) : Buffer.of(1, 2, tx),
      ...(signalled === undefined ? {} : { signalled }),
    })),
  },
})

const { CONFIRMED, REPLACED, EVICTED, EXPIRED } = PoolLeft_Reason

/** Runs a journal until it has reached the end of the log, and stops it. */
async function follow(books: readonly Book[] = [new DroppedBook(db)]): Promise<void> {
  const stop = new AbortController()
  const journal = newJournal({ books })
  const running = journal.run(stop.signal)
  try {
    await until('the journal reaches the end', async () => journal.position === (await log.last('node')))
  } finally {
    stop.abort()
    await running
  }
}

function newJournal(options: Partial<ConstructorParameters<typeof MempoolJournal>[0]>): MempoolJournal {
  return new MempoolJournal({
    db,
    log,
    logger: pino({ level: 'silent' }),
    chain: () => Promise.resolve('btq-regtest'),
    isCluster: () => Promise.resolve(false),
    books: [],
    flushMs: 1,
    recordMs: 1,
    ...options,
  })
}

/** The dropped transactions in the tables, each as a text, as readers see them: copies once. */
async function dropped(): Promise<string[]> {
  const rows = await db.query<{ text: string }>(
    `SELECT DISTINCT concat(toString(position), ' ', toString(item), ' ', lower(hex(txid)), ' ', toString(reason), ' ',
       lower(hex(replaced_by)), ' ', toString(fee), ' ', toString(vsize), ' ', toString(first_seen), ' ',
       toString(signalled), ' ', lower(hex(raw))) AS text
     FROM dropped_txs ORDER BY left_at, position, item`,
  )
  return rows.map(({ text }) => text)
}

const expected = (position: number, item: number, { tx, reason, by, signalled }: Removal): string =>
  [
    position,
    item,
    id(tx),
    reason,
    by === undefined ? '00'.repeat(32) : id(by),
    1000 + tx,
    100 + tx,
    1_700_000_000 + tx,
    signalled === undefined ? 2 : Number(signalled),
    Buffer.of(1, 2, tx).toString('hex'),
  ].join(' ')

describe('the history of the mempool', () => {
  it('contains each transaction that left without a block once, whatever is read again', async () => {
    const first: Removal = { tx: 1, reason: REPLACED, by: 9, signalled: false }
    const others: Removal[] = [
      { tx: 2, reason: REPLACED, by: 9, signalled: true },
      { tx: 3, reason: EVICTED },
      { tx: 4, reason: EXPIRED },
    ]
    const start = await append(snapshot(1, 2, 3))
    const rows = [expected(await append(delta(start, first)), 0, first)]
    await follow()
    expect(await dropped()).toEqual(rows)
    // A new process reads from the snapshot again.
    const position = await append(delta(start, { tx: 7, reason: CONFIRMED, by: 8 }, ...others))
    rows.push(...others.map((other, index) => expected(position, index + 1, other)))
    await follow()
    expect(await dropped()).toEqual(rows)
    // The database is lost: all that the log retains is there again.
    await db.command(`DROP DATABASE ${db.name} SYNC`)
    await follow()
    expect(await dropped()).toEqual(rows)
    const seen = await db.query<{ prefix: string; first_seen: number }>(
      'SELECT lower(hex(txid_prefix)) AS prefix, first_seen FROM first_seen',
    )
    expect(seen).toEqual([{ prefix: id(7).slice(0, 16), first_seen: 1_700_000_007 }])
    const keys = await db.query<{ prefix: string; is_replacer: number }>(
      'SELECT DISTINCT lower(hex(txid_prefix)) AS prefix, is_replacer FROM dropped_keys ORDER BY 1, 2',
    )
    expect(keys).toHaveLength([...[1, 2, 3, 4], 9].length)
    expect(keys.filter((key) => key.is_replacer === 1)).toEqual([
      { prefix: id(9).slice(0, 16), is_replacer: 1 },
    ])
  })

  it('ignores the events of a superseded poller, and events without the fields of this version', async () => {
    const start = await append(snapshot(), 2)
    await append(delta(start, { tx: 1, reason: EVICTED }), 1)
    const old: Payload = {
      case: 'poolDelta',
      value: {
        snapshotPosition: BigInt(start),
        left: [
          { txid: displayBytes(id(5)), reason: REPLACED, by: displayBytes(id(6)), fee: 3n, vsize: 4 },
          { txid: displayBytes(id(7)), reason: CONFIRMED, by: displayBytes(id(6)), fee: 3n, vsize: 4 },
        ],
      },
    }
    const position = await append(old, 2)
    await follow()
    expect(await dropped()).toEqual([`${String(position)} 0 ${id(5)} 2 ${id(6)} 3 4 0 2 `])
    expect(await db.query('SELECT * FROM first_seen')).toEqual([])
  })

  it('starts over with a log that was replaced, and keeps what the old one had', async () => {
    const start = await append(snapshot())
    const [one, two]: [Removal, Removal] = [
      { tx: 1, reason: EVICTED },
      { tx: 2, reason: EXPIRED },
    ]
    const rows = [expected(await append(delta(start, one)), 0, one)]
    await follow()
    await log.close()
    await rm(folder, { recursive: true })
    log = await openEmbeddedLog(folder)
    // The new log is already longer than the position at which the old one was left.
    await append(snapshot())
    await append(heartbeat())
    await append(heartbeat())
    rows.push(expected(await append(delta(0, two)), 0, two))
    await follow()
    expect(await dropped()).toEqual(rows)
  })

  it('gives each book every event from a snapshot on, in order, and says which are written', async () => {
    const text = (event: NodeRecord<LeanTx>): string =>
      event.kind === 'snapshot'
        ? `snapshot ${event.entries.map(({ firstSeen }) => firstSeen).join()}`
        : event.kind === 'delta'
          ? `delta ${String(event.delta.position)}`
          : `heartbeat ${String(event.position)} at ${String(event.seenAt)}`
    const seen: string[] = []
    const book = new (class implements Book {
      bytes = 0
      reset(): void {
        seen.push('reset')
      }
      apply(event: NodeRecord<LeanTx>, isWritten: boolean): void {
        seen.push(`${text(event)}${isWritten ? ' again' : ''}`)
      }
      async flush(): Promise<void> {
        await Promise.resolve()
      }
    })()
    const old = await append(snapshot(1))
    await append(delta(old, { tx: 1, reason: EVICTED }))
    const start = await append(snapshot(2, 3))
    await append(heartbeat())
    await follow([book])
    expect(seen.splice(0)).toEqual(['reset', 'snapshot 1', 'delta 1', 'snapshot 2,3', 'heartbeat 3 at 5'])
    await append(delta(start, { tx: 2, reason: EVICTED }))
    await follow([book])
    expect(seen).toEqual(['reset', 'snapshot 2,3 again', 'heartbeat 3 at 5 again', 'delta 4'])
  })

  it('retries after an error, reports it, and refuses the tables of another network', async () => {
    const start = await append(snapshot())
    const removal: Removal = { tx: 1, reason: EVICTED }
    const position = await append(delta(start, removal))
    const failures: string[] = []
    let left = 2
    const flaky = new Proxy(db, {
      get: (target, name) => {
        if (name === 'insert' && left-- > 0) return () => Promise.reject(new Error('refused'))
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const observer = { failed: (error: unknown) => void failures.push((error as Error).message) }
    const stop = new AbortController()
    const journal = newJournal({ books: [new DroppedBook(flaky)], observer })
    const running = journal.run(stop.signal)
    await until('the journal reaches the end', () => journal.position === position)
    stop.abort()
    await running
    expect(failures).toEqual(['refused', 'refused'])
    expect(await dropped()).toEqual([expected(position, 0, removal)])
    const refused = new AbortController()
    const other = newJournal({ chain: () => Promise.resolve('bitcoin-regtest'), observer }).run(
      refused.signal,
    )
    await until('it is refused', () => failures.length > 2)
    refused.abort()
    await other
    expect(failures[2]).toContain('contains the history of btq-regtest, the log contains bitcoin-regtest')
  })
})

describe('the tables on a cluster', () => {
  it('are replicated by all servers of all shards', async () => {
    const [database, ...tables] = await creations('headwater_mempool', true)
    expect(database).toBe("CREATE DATABASE IF NOT EXISTS headwater_mempool ON CLUSTER '{cluster}'")
    expect(tables.length).toBeGreaterThan(3)
    for (const sql of tables) {
      expect(sql).toMatch(/^CREATE TABLE IF NOT EXISTS headwater_mempool\.\w+ ON CLUSTER '\{cluster\}'\n/)
      expect(sql).toMatch(
        /= ReplicatedReplacingMergeTree\('\/clickhouse\/\{cluster\}\/all\/\{database\}\/\{table\}', '\{shard\}-\{replica\}'(?:, \w+)?\)\s/,
      )
    }
  })
})
