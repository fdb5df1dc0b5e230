import { describe, expect, it } from 'vitest'
import * as schema from '../../../pipelines/tables/schema.js'
import { HEADS } from '../../../pipelines/tables/head.js'
import { KEYS } from '../../../pipelines/tables/keys.js'
import { type ColumnTypes, EncodedRows, type Row, type Table } from '../../../pipelines/tables/rowbinary.js'
import { Selection } from '../../../pipelines/tables/selection.js'
import { useDatabase } from '../../harness/engine.js'

const { BLOCK_HEIGHTS, SCRIPT_TX_COLUMNS } = schema
const TABLES = ([...Object.values(schema), HEADS] as unknown[]).filter(
  (each): each is Table => typeof each === 'object' && each !== null && 'columns' in each,
)

/** Values that a wrong conversion would change. */
const VALUES: { readonly [K in keyof ColumnTypes]: ColumnTypes[K] } = {
  u8: 7,
  bool: true,
  u32: 0xffff_ffff,
  i64: -1,
  u64: 2n ** 64n - 1n,
  sum: 1n,
  sums: [2n ** 64n - 1n, 0n],
  u64s: [1n, 2n ** 63n],
  u256: 2n ** 256n - 1n,
  count: Number.MAX_SAFE_INTEGER,
  f64: 0.1,
  ms: 1_700_000_000_123,
  text: "it's",
  u16s: [0, 65_535],
  hash20: 'cd'.repeat(20),
  hash16: 'a5'.repeat(16),
  hash8: '0e'.repeat(8),
  hash5: '05'.repeat(5),
  hash: 'ab'.repeat(32),
  hashes: ['01'.repeat(32), 'ff'.repeat(32)],
  bytes: Buffer.from([0, 255, 10]),
}

function rowOf({ columns }: Table): Row<Table['columns']> {
  return Object.fromEntries(Object.entries(columns).map(([name, type]) => [name, VALUES[type]]))
}

/** Returns the first column of a table that contains hashes. */
function keyOf(columns: Table['columns']): string | undefined {
  return Object.keys(columns).find((name) => columns[name] === 'hash')
}

describe('a selection', () => {
  const db = useDatabase()

  it.each(TABLES.map((each) => [each.name, each] as const))(
    'returns rows of %s as written',
    async (_, table) => {
      await db().insert(new EncodedRows<Table['columns']>(table, [rowOf(table)]))
      const [read] = await new Selection<Table['columns']>(table.columns).query(db(), `FROM ${table.name}`)
      expect(Object.values(read ?? {})).toEqual(Object.values(rowOf(table)))
    },
  )

  it.each(
    TABLES.filter(({ columns }) => keyOf(columns) !== undefined).map((each) => [each.name, each] as const),
  )('decodes the same rows of %s from their bytes', async (_, table) => {
    await db().insert(new EncodedRows<Table['columns']>(table, [rowOf(table)]))
    const rows = `FROM ${table.name} WHERE ${String(keyOf(table.columns))} IN ${KEYS} LIMIT 1`
    const selection = new Selection<Table['columns']>(table.columns)
    const read = await selection.bytesByKeys(db(), rows, [VALUES.hash, 'ee'.repeat(32)])
    expect(read).toEqual(await selection.queryByKeys(db(), rows, [VALUES.hash]))
    expect(Object.values(read[0] ?? {})).toEqual(Object.values(rowOf(table)))
    expect(await selection.bytesByKeys(db(), rows, ['ee'.repeat(32)])).toEqual([])
  })

  it('names columns in camel case, and writes what it has read', async () => {
    const heads = new Selection(HEADS.columns)
    const [head] = await heads.query(db(), 'FROM heads LIMIT 1')
    expect(head).toMatchObject({ tipHash: VALUES.hash, blocksBefore: VALUES.count, reached: true })
    expect(head && heads.write(head)).toEqual(rowOf(HEADS))
  })

  it('does not change the meaning of columns in conditions, and reads what is false, empty or not selected', async () => {
    const rows = ['00', '01', '02'].map((byte, height) => ({ hash: byte.repeat(32), height }))
    await db().insert(new EncodedRows(BLOCK_HEIGHTS, rows))
    const heights = new Selection(BLOCK_HEIGHTS.columns)
    const found = await heights.queryByKeys(db(), `FROM block_heights WHERE hash IN ${KEYS} ORDER BY hash`, [
      '02'.repeat(32),
      '00'.repeat(32),
      'ee'.repeat(32),
    ])
    expect(found).toEqual([rows[0], rows[2]])
    const empty = { ...rowOf(HEADS), position: 5, connected: [], reached: false }
    await db().insert(new EncodedRows<Table['columns']>(HEADS, [empty]))
    const [head] = await new Selection(HEADS.columns).query(
      db(),
      'FROM heads WHERE position = 5 AND NOT reached',
    )
    expect(head).toMatchObject({ connected: [], reached: false, disconnected: VALUES.hashes })
    const read = new Selection({ script_hash: 'hash20', spend_kinds: 'u8' })
    expect(Object.keys(SCRIPT_TX_COLUMNS)).toEqual(expect.arrayContaining(['script_hash', 'spend_kinds']))
    expect(await read.query(db(), 'FROM script_txs')).toEqual([
      { scriptHash: VALUES.hash20, spendKinds: VALUES.u8 },
    ])
  })
})
