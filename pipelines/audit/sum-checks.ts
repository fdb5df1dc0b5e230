import type { AuditContext, Findings } from './audit.js'
import { BALANCE_FLOOR } from '../tables/lists/balance-floor.js'
import { supplyAfter } from './chain-checks.js'

/** Selects the scripts whose last row of the history, sum of outputs and balance in the rich list differ. */
const SCRIPTS_THAT_DIFFER = (filter: string): string => `
  WITH histories AS (
    SELECT script_hash, argMax(script_txs.total_received, script_txs.ordinal) AS got, argMax(script_txs.total_sent, script_txs.ordinal) AS gave,
      argMax(unspent_count, script_txs.ordinal) AS unspent, argMax(funded_count, script_txs.ordinal) AS funded, toUInt64(uniqExact(script_txs.ordinal)) AS rows, max(script_txs.ordinal) AS last
    FROM script_txs WHERE ${filter} GROUP BY script_hash),
  outputs AS (
    SELECT script_hash, sum(if(gone = 0, amount, 0)) AS left, countIf(gone = 0) AS count, countIf(made) AS created, countIf(made = 0) AS unmade,
      countIf(amounts > 1) AS unequal FROM (
        SELECT script_hash, txid_prefix, vout, output_height, any(value) AS amount, max(spent) AS gone, countIf(spent = 0) > 0 AS made,
          uniqExact(value) AS amounts FROM script_outputs WHERE ${filter} GROUP BY script_hash, txid_prefix, vout, output_height)
    GROUP BY script_hash),
  balances AS (
    SELECT script_hash, argMax(script_balances.balance, height) AS listed, argMax(tx_count, height) AS txs
    FROM script_balances WHERE ${filter} AND height > ${BALANCE_FLOOR} GROUP BY script_hash)
  SELECT lower(hex(script_hash)) AS script, toInt64(got) - toInt64(gave) AS balance, left, unspent, count, funded, created, unmade, unequal, rows, last,
    if(listed_is, toInt64(listed), balance) AS ranked, if(listed_is, txs, last) AS ranked_txs
  FROM histories FULL OUTER JOIN outputs USING (script_hash)
  LEFT JOIN (SELECT *, 1 AS listed_is FROM balances) AS b USING (script_hash)
  WHERE balance != toInt64(left) OR unspent != count OR funded != created OR unmade > 0 OR unequal > 0 OR rows != last OR ranked != balance OR ranked_txs != last
  ORDER BY script LIMIT 100`

/** Checks that history, outputs and rich list of each script have the same balance, and that all balances sum up to the supply. */
export async function balanceCheck(
  { db, view, head, progress }: AuditContext,
  findings: Findings,
): Promise<void> {
  const filter = view.tagFilter()
  const [sums] = await db.query<{ scripts: string; total: string; outputs: string; funded: string }>(
    `SELECT count() AS scripts, toString(countIf(got > gave)) AS funded, toString(sum(toInt128(got) - toInt128(gave))) AS total, toString(sum(unspent)) AS outputs FROM (
       SELECT argMax(script_txs.total_received, script_txs.ordinal) AS got, argMax(script_txs.total_sent, script_txs.ordinal) AS gave,
         argMax(unspent_count, script_txs.ordinal) AS unspent FROM script_txs WHERE ${filter} GROUP BY script_hash)`,
  )
  progress(1, 4)
  const row = await supplyAfter(db, { height: head.tipHeight, hash: head.tipHash })
  findings.checked = Number(sums?.scripts ?? 0)
  findings.expect('supply of the tip, as Σ balances', row?.total ?? 'missing', sums?.total)
  findings.expect('unspent outputs of the tip, as Σ of scripts', row?.outputs ?? 'missing', sums?.outputs)
  const [byType] = await db.query<{ total: string; outputs: string; funded: string }>(
    `SELECT toString(arraySum(type_values)) AS total, toString(arraySum(type_outputs)) AS outputs,
       toString(arraySum(type_funded)) AS funded
     FROM blocks WHERE height = {height:UInt32} AND hash = unhex({hash:String}) LIMIT 1`,
    { height: Math.max(0, head.tipHeight), hash: head.tipHash },
  )
  findings.expect('values by type of the tip, as Σ balances', byType?.total ?? 'missing', sums?.total)
  findings.expect('outputs by type of the tip, as Σ of scripts', byType?.outputs ?? 'missing', sums?.outputs)
  findings.expect('funded scripts by type of the tip', byType?.funded ?? 'missing', sums?.funded)
  type Script = Record<
    | 'script'
    | 'balance'
    | 'left'
    | 'unspent'
    | 'count'
    | 'funded'
    | 'created'
    | 'unmade'
    | 'unequal'
    | 'rows'
    | 'last'
    | 'ranked'
    | 'ranked_txs',
    string
  >
  for (const each of await db.query<Script>(SCRIPTS_THAT_DIFFER(filter))) {
    const of = `of script ${each.script}`
    findings.expect(`balance ${of} by its history, as Σ unspent outputs`, each.balance, each.left)
    findings.expect(`unspent outputs ${of}`, each.unspent, each.count)
    findings.expect(`outputs ${of} that were ever created`, each.funded, each.created)
    findings.expect(`spent outputs ${of} that nothing created`, each.unmade, 0)
    findings.expect(`outputs ${of} with two amounts`, each.unequal, 0)
    findings.expect(`rows ${of}, by the number of the last`, each.rows, each.last)
    findings.expect(`balance ${of} in the rich list`, each.ranked, each.balance)
    findings.expect(`transactions ${of} in the rich list`, each.ranked_txs, each.last)
  }
  progress(2, 4)
  await runningTotals(findings, { db, filter })
  progress(3, 4)
  await supplyByBlock(findings, {
    db,
    filter,
    blockFilter: view.sqlFilter('height', 'hash'),
    tip: head.tipHeight,
  })
  progress(4, 4)
}

type Db = Pick<AuditContext, 'db'> & { readonly filter: string }

/** Checks that the totals of each script change in each block by what its outputs and their spends amount to. */
async function runningTotals(findings: Findings, { db, filter }: Db): Promise<void> {
  const rows = await db.query<Record<'script' | 'at' | 'is' | 'must', string>>(
    `SELECT lower(hex(script_hash)) AS script, toString(height) AS at, toString((got_more, gave_more, n)) AS is,
       toString((made, gone, n_must)) AS must
     FROM (SELECT script_hash, height, got - lagInFrame(got, 1, toInt64(0)) OVER w AS got_more,
         gave - lagInFrame(gave, 1, toInt64(0)) OVER w AS gave_more, n, sum(rows) OVER w AS n_must
       FROM (SELECT script_hash, height, toInt64(max(total_received)) AS got, toInt64(max(total_sent)) AS gave,
           max(script_txs.ordinal) AS n, uniqExact(script_txs.ordinal) AS rows
         FROM script_txs WHERE ${filter} GROUP BY script_hash, height)
       WINDOW w AS (PARTITION BY script_hash ORDER BY height ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) AS histories
     FULL OUTER JOIN (SELECT script_hash, height, toInt64(sumIf(amount, spent = 0)) AS made, toInt64(sumIf(amount, spent = 1)) AS gone
       FROM (SELECT DISTINCT script_hash, txid_prefix, vout, spent, height, value AS amount FROM script_outputs WHERE ${filter})
       GROUP BY script_hash, height) AS outputs USING (script_hash, height)
     WHERE got_more != made OR gave_more != gone OR n != n_must ORDER BY script, height LIMIT 100`,
  )
  for (const { script, at, is, must } of rows)
    findings.expect(`changes of script ${script} by block ${at} (received, sent, number)`, is, must)
}

/** Checks that supply and number of outputs after each block equal its parent's numbers plus the changes of the block. */
async function supplyByBlock(
  findings: Findings,
  { db, filter, blockFilter, tip }: Db & { readonly blockFilter: string; readonly tip: number },
): Promise<void> {
  const rows = await db.query<Record<'at' | 'is' | 'must', string>>(
    `SELECT toString(height) AS at, toString((supply, utxo_count)) AS is, toString((supply_must, count_must)) AS must FROM (
       SELECT height, supply, utxo_count, sum(toInt64(moved)) OVER w AS supply_must, sum(toInt64(outputs)) OVER w AS count_must FROM (
         SELECT height, supply, utxo_count FROM blocks WHERE height <= {tip:Int64} AND ${blockFilter} LIMIT 1 BY height) AS b
       LEFT JOIN (
         SELECT height, sum(if(spent = 0, toInt64(value), -toInt64(value))) AS moved, sum(if(spent = 0, 1, -1)) AS outputs
         FROM (SELECT height, spent, value FROM script_outputs WHERE ${filter} LIMIT 1 BY script_hash, txid_prefix, vout, spent, height) GROUP BY height) AS o USING (height)
       WINDOW w AS (ORDER BY height ROWS UNBOUNDED PRECEDING))
     WHERE supply != supply_must OR utxo_count != count_must ORDER BY height LIMIT 100`,
    { tip },
  )
  for (const { at, is, must } of rows)
    findings.expect(`supply and unspent outputs after block ${at}`, is, must)
}
