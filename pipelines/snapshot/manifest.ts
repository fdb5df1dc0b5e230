import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { coded, StartRefused } from '../errors.js'

/** Thrown if a snapshot cannot be made or restored here; the message says what to do. */
export class CannotSnapshot extends coded('HW_CANNOT_SNAPSHOT', StartRefused) {}

/** The file that makes a folder a snapshot: it is written last. */
export const MANIFEST = 'manifest.json'
/** The manifest of a snapshot that is not complete yet, from which the same command continues. */
export const UNFINISHED = 'unfinished.json'

/** The version of the files below and of the manifest. */
const FORMAT = 1

const Count = Type.Integer({ minimum: 0 })
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })

const SnapshotFile = Type.Object({
  /** The name of a table or topic, and a number. It is part of paths and URLs. */
  name: Type.String({ pattern: '^[a-z_-]{1,40}\\.\\d{1,9}\\.(native\\.zst|records\\.gz)$' }),
  /** The table or topic. */
  of: Type.String({ pattern: '^[a-z_-]{1,40}$' }),
  /** Number of rows or records. */
  rows: Count,
  bytes: Count,
  sha256: Hash,
  /** The last key of the file, or the position of its last record; absent in the last file of a table. */
  upTo: Type.Optional(Type.Array(Type.String({ pattern: '^-?[0-9a-f]{1,64}$' }), { minItems: 1 })),
})
export type SnapshotFile = Static<typeof SnapshotFile>

const ManifestSchema = Type.Object({
  format: Type.Literal(FORMAT),
  startedAt: Type.String(),
  /** Version and checksum of the tables, as in `schema_version`. */
  schema: Type.Object({ version: Count, checksum: Hash }),
  network: Type.Object({ name: Type.String(), genesisHash: Type.String() }),
  /** The database that was copied. */
  database: Type.String(),
  /** The newest head that the snapshot contains. */
  head: Type.Object({
    position: Type.Integer(),
    writtenAt: Count,
    height: Count,
    hash: Hash,
    /** Epoch and sequence of its event in the log. */
    epoch: Count,
    sequence: Type.String({ pattern: '^-?[0-9]{1,20}$' }),
  }),
  /** True if it contains the log; false if the log is on Kafka. */
  hasLog: Type.Boolean(),
  /** The newest row of `balance_floors` when the copying began: writer and time; absent for none. */
  floorBefore: Type.Optional(
    Type.Tuple([Type.String({ pattern: '^[0-9]{1,20}$' }), Type.String({ pattern: '^[0-9 :.-]{10,40}$' })]),
  ),
  /** The height above which `script_balances` is complete; absent in an unfinished snapshot. */
  balancesAbove: Type.Optional(Type.Integer({ minimum: -1 })),
  /** In the order in which they were written, and are restored. */
  files: Type.Array(SnapshotFile),
})
export type Manifest = Static<typeof ManifestSchema>

const CHECK = TypeCompiler.Compile(ManifestSchema)

/** Returns the fields of a new manifest that do not depend on what it describes. */
export const newManifest = (): Pick<Manifest, 'format' | 'startedAt' | 'files'> => ({
  format: FORMAT,
  startedAt: new Date().toISOString(),
  files: [],
})

/** Parses a manifest. @throws CannotSnapshot for one of another format or that is not valid. */
export function parseManifest(text: string, where: string): Manifest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new CannotSnapshot(`${where} is not valid JSON: make the snapshot again`)
  }
  const { format } = (value ?? {}) as { format?: unknown }
  if (format !== FORMAT)
    throw new CannotSnapshot(
      `${where} has format ${String(format)}, this version of Headwater reads format ${String(FORMAT)}`,
    )
  if (CHECK.Check(value)) return value
  const first = CHECK.Errors(value).First()
  throw new CannotSnapshot(`${where} is not a valid manifest: ${first?.path ?? ''} ${first?.message ?? ''}`)
}
