import type { Database } from '../../pipelines/tables/clickhouse.js'

/** Makes a database as the versions before the eleventh migration did, as far as it is read before its rows are written again. */
export async function earlierForm(db: Database): Promise<void> {
  await db.createIfAbsent()
  const engine = 'ENGINE = ReplacingMergeTree ORDER BY'
  await db.command(
    `CREATE TABLE migrations (id UInt32, name String, checksum String, applied_at DateTime DEFAULT now()) ${engine} id`,
  )
  await db.command(
    `CREATE TABLE heads (position Int64, previous Int64, chain LowCardinality(String), tip_height Int64, tip_hash FixedString(32),
       final_height Int64, epoch UInt32, sequence UInt64, disconnected Array(FixedString(32)), connected Array(FixedString(32)),
       blocks_before UInt64, reorgs_before UInt64, written_at DateTime64(3, 'UTC'), writer UInt64, reached UInt8)
     ${engine} (position, written_at, writer)`,
  )
  await db.command(
    `CREATE TABLE writers (writer UInt64, position Int64, claimed_at DateTime64(3, 'UTC'), successor String, replaces String)
     ${engine} writer`,
  )
  await db.command(
    `CREATE TABLE blocks (height UInt32, hash FixedString(32), prev_hash FixedString(32)) ${engine} (height, hash)`,
  )
  await db.command(
    "INSERT INTO migrations (id, name, checksum) SELECT number + 1, concat('000', toString(number + 1), '_earlier.sql'), '' FROM numbers(10)",
  )
}

/** Copies the heads of an index into one of the earlier form. */
export async function copyHeadsTo(earlier: Database, from: Database): Promise<void> {
  await earlier.command(`INSERT INTO heads SELECT * FROM ${from.name}.heads`)
}
