import { expect } from 'vitest'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import { rowDifferences } from './row-differences.js'

/** Expects that two indexes of one chain show the same rows of every table. */
export async function expectSameRows(one: Database, other: Database): Promise<void> {
  const differences = await rowDifferences(one, other, 4)
  expect(differences.filter(({ onlyOne, onlyOther }) => onlyOne !== 0 || onlyOther !== 0)).toEqual([])
}
