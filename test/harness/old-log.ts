import { createRequire } from 'node:module'

/** The functions of the driver of earlier versions' logs that are needed to write one. */
interface Lmdb {
  open(options: Readonly<Record<string, unknown>>): {
    openDB(
      name: string,
      options: Readonly<Record<string, unknown>>,
    ): { putSync(key: Buffer, value: Buffer): void }
    transactionSync(action: () => void): void
    close(): Promise<void>
  }
}

const lmdb = createRequire(import.meta.url)('lmdb') as Lmdb
const BINARY = { encoding: 'binary', keyEncoding: 'binary' }

/** One record in a topic of an old log. */
export interface OldRecord {
  readonly topic: string
  readonly position: number
  readonly time: number
  readonly value: Buffer
}

/** Writes an embedded log as earlier versions did: in LMDB, one database per topic, position → time ‖ value. */
export async function writeOldLog(
  folder: string,
  records: Iterable<OldRecord>,
  consumers: Readonly<Record<string, number>> = {},
): Promise<void> {
  const root = lmdb.open({ path: folder, compression: false, maxDbs: 8, ...BINARY })
  const stores = new Map(
    ['chain', 'node', 'committed', 'dead-letters', 'consumers'].map((name) => [
      name,
      root.openDB(name, BINARY),
    ]),
  )
  root.transactionSync(() => {
    for (const { topic, position, time, value } of records)
      stores.get(topic)?.putSync(number(position), Buffer.concat([number(time), value]))
    for (const [name, position] of Object.entries(consumers))
      stores.get('consumers')?.putSync(Buffer.from(name), number(position))
  })
  await root.close()
}

/**
 * Opens a folder as earlier versions did.
 * @throws if they would.
 */
export async function openAsBefore(folder: string): Promise<void> {
  await lmdb.open({ path: folder, compression: false, maxDbs: 8, ...BINARY }).close()
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}
