import type { ReadContext } from './read.js'

export interface UnspentOutput {
  readonly txid: string
  readonly vout: number
  /** Of the block that created it. */
  readonly height: number
  /** Base units, decimal. */
  readonly value: string
}

/** Unspent outputs of a script in the chain, newest block first, then by txid and vout. */
export async function unspentOutputs(
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  scriptHash: string,
  limit: number,
  offset: number,
): Promise<UnspentOutput[]> {
  const { view } = chain
  if (view === undefined) return []
  // In the order of the table, so that the server groups as it reads and stops when it has enough.
  const sql = `SELECT lower(hex(txid)) AS id, vout, anyIf(height, spent = 0) AS created, anyIf(value, spent = 0) AS worth
    FROM script_outputs
    WHERE script_hash = unhex({script:String}) AND ${view.sqlFilter('height', 'block_hash')}
    GROUP BY depth, txid, vout HAVING countIf(spent = 1) = 0 AND countIf(spent = 0) > 0
    ORDER BY depth, txid, vout LIMIT {limit:UInt64} OFFSET {offset:UInt64}
    SETTINGS optimize_aggregation_in_order = 1`
  type Row = { id: string; vout: number; created: number; worth: string }
  const rows = await tables.query<Row>(sql, { script: scriptHash, limit, offset })
  return rows.map(({ id, vout, created, worth }) => ({ txid: id, vout, height: created, value: worth }))
}
