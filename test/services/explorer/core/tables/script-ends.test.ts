import { beforeAll, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { sha256 } from '../../../../../pipelines/chain/hash.js'
import { AvailableDatabase } from '../../../../../services/explorer/core/tables/availability.js'
import { LAST_ROWS, type ScriptRow } from '../../../../../services/explorer/core/tables/lookups.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { useDatabase } from '../../../../harness/engine.js'

const CHAIN = 1
const OTHER = 2
const hashOf = (script: string): string => sha256(Buffer.from(script)).toString('hex').slice(0, 40)
const visible = ({ blockTag }: ScriptRow): boolean => blockTag === CHAIN

/** The ordinals of the first and the last row on the chain, by the script, with the ordinals of all rows by branch. */
const SCRIPTS: Readonly<
  Record<string, { rows: Readonly<Record<number, readonly number[]>>; ends: unknown }>
> = {
  one: { rows: { [CHAIN]: [1] }, ends: [1, 1] },
  few: { rows: { [CHAIN]: [1, 2, 3] }, ends: [1, 3] },
  many: { rows: { [CHAIN]: range(1, 50) }, ends: [1, 50] },
  forked: { rows: { [CHAIN]: range(1, 12), [OTHER]: range(10, 14) }, ends: [1, 12] },
  'last below all that are read': { rows: { [CHAIN]: range(1, 5), [OTHER]: range(3, 40) }, ends: [1, 5] },
  'first alone': { rows: { [CHAIN]: [1], [OTHER]: range(1, 40) }, ends: [1, 1] },
  'as many as are read': { rows: { [CHAIN]: range(1, LAST_ROWS) }, ends: [1, LAST_ROWS] },
  'one more than are read': { rows: { [CHAIN]: range(1, LAST_ROWS + 1) }, ends: [1, LAST_ROWS + 1] },
  'one more, the first alone': { rows: { [CHAIN]: [1], [OTHER]: range(2, LAST_ROWS + 1) }, ends: [1, 1] },
  'another branch': { rows: { [OTHER]: range(1, 20) }, ends: [undefined, undefined] },
  none: { rows: {}, ends: [undefined, undefined] },
  'first of many branches': {
    rows: { [CHAIN]: range(1, 2), ...Object.fromEntries(range(2, 20).map((branch) => [branch, [1, 2]])) },
    ends: [1, 2],
  },
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

describe('the ends of scripts', () => {
  const database = useDatabase()
  let tables: Tables

  beforeAll(async () => {
    const rows = Object.entries(SCRIPTS).flatMap(([script, { rows: branches }]) =>
      Object.entries(branches).flatMap(([branch, ordinals]) =>
        ordinals.map(
          (ordinal) => `(unhex('${hashOf(script)}'), ${String(ordinal)}, ${String(ordinal)}, ${branch})`,
        ),
      ),
    )
    await database().command(
      `INSERT INTO script_txs (script_hash, ordinal, height, block_tag) VALUES ${rows.join(', ')}`,
    )
    const available = new AvailableDatabase(database(), pino({ level: 'silent' }))
    await available.ping()
    tables = new Tables(available)
  })

  const endsOf = async (script: string): Promise<(number | undefined)[]> =>
    (await tables.endsOfScript(hashOf(script), visible)).map((row) => row?.ordinal)

  it.each(Object.entries(SCRIPTS))('are found alone: %s', async (script, { ends }) => {
    expect(await endsOf(script)).toEqual(ends)
  })

  it('are found together with those of others', async () => {
    const found = await Promise.all(
      Object.keys(SCRIPTS).map(async (script) => [script, await endsOf(script)]),
    )
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.entries(SCRIPTS).map(([script, { ends }]) => [script, ends])),
    )
  })
})
