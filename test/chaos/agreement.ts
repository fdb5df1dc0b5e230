import { addressOf } from '../../pipelines/chain/address.js'
import { type ChainView, loadChainView } from '../../pipelines/tables/chain-view.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { txidsAt } from '../../pipelines/tables/lists/unspent.js'
import { createTables } from '../../pipelines/tables/schema-version.js'
import type { Random } from '../../services/simnode/random.js'
import { type Answer, getAnswer, Pipeline } from '../harness/pipeline.js'
import { rowDifferences } from '../harness/row-differences.js'
import { PATIENCE_MS, until } from '../harness/until.js'
import type { WholeSourceState } from './source-node.js'
import { FINALITY_DEPTH, type World } from './world.js'

/** The number of addresses and transactions that are read over HTTP; all are compared in the tables. */
const SAMPLE = 12
const PAGE = 100
const UNKNOWN_MS = 10_000

/**
 * Waits until the explorer shows the node's tip and mempool.
 * @returns what it shows instead if the time runs out.
 */
export async function settled(world: World, waitMs = PATIENCE_MS): Promise<string[]> {
  const { hash, height, pool } = await world.node.state()
  const expected = [...pool].sort().join()
  let shown = 'nothing'
  const isLevel = async (): Promise<boolean> => {
    const answer = await getAnswer(`${world.explorerUrl}/api/v1/mempool/txs?limit=${String(PAGE)}`)
    shown = `status ${String(answer.status)} at ${String(answer.height)} ${answer.tip}`
    if (answer.status !== 200) return false
    const txids = (answer.body.items as { txid: string }[]).map(({ txid }) => txid)
    shown += ` with ${String(txids.length)} in the mempool`
    return answer.tip === hash && txids.sort().join() === expected
  }
  return until('level', isLevel, waitMs).then(
    () => [],
    () => [
      `after ${String(waitMs / 1000)} s the explorer shows ${shown}; the node is at ${String(height)} ${hash} with ${String(pool.length)} in the mempool`,
    ],
  )
}

/** Compares everything that is visible with the node's own figures. */
export async function differences(
  world: World,
  state: WholeSourceState,
  hashes: readonly string[],
  random: Random,
): Promise<string[]> {
  const head = await latestHead(world.db)
  if (head === undefined) return ['there is no head']
  const view = await loadChainView(world.db, head)
  return [
    ...unequal('the head', { tip: head.tipHash }, { tip: state.hash }),
    ...unequal('block at', await blocksOf(world, view), Object.fromEntries(hashes.entries())),
    ...unequal('coin', await coinsOf(world, view), state.coins),
    ...unequal('balance of script', await balancesOf(world, view), state.balances),
    ...(await answersOf(world, state, hashes, random)),
  ]
}

/** Compares the tables, row by row, with tables that are built again from the node. */
export async function cleanIndexDifferences(world: World, tip: string): Promise<string[]> {
  const { node, engineUrl, db } = world
  const clean = await Pipeline.start({
    nodeUrl: node.url,
    engineUrl,
    finalityDepth: FINALITY_DEPTH,
    prepare: createTables,
  })
  try {
    await clean.level({ tip })
    return (await rowDifferences(db, clean.db)).flatMap(({ table, onlyOne, onlyOther, rows }) =>
      onlyOne + onlyOther === 0
        ? []
        : [
            `table ${table}: ${String(rows)} rows, ${String(onlyOne)} missing from a clean index, which has ${String(onlyOther)} others`,
          ],
    )
  } finally {
    await clean.close()
  }
}

type Values = Readonly<Record<string, string>>

function unequal(what: string, shown: Values, true_: Values): string[] {
  const names = new Set([...Object.keys(shown), ...Object.keys(true_)])
  return [...names].flatMap((name) =>
    shown[name] === true_[name]
      ? []
      : [`${what} ${name}: ${shown[name] ?? 'none'} is visible, the node has ${true_[name] ?? 'none'}`],
  )
}

async function blocksOf({ db }: World, view: ChainView): Promise<Values> {
  const sql = `SELECT DISTINCT toString(height) AS name, lower(hex(hash)) AS value FROM blocks WHERE ${view.sqlFilter('height', 'hash')}`
  return asValues(await db.query(sql))
}

async function coinsOf({ db }: World, view: ChainView): Promise<Values> {
  const rows = `FROM script_outputs WHERE ${view.tagFilter()}`
  const sql = `SELECT concat(lower(hex(txid)), ':', toString(vout)) AS name, toString(amount) AS value FROM (
      SELECT any((height, block_tag, tx_index)) AS place, vout, any(value) AS amount ${rows} GROUP BY script_hash, output_height, txid_prefix, vout HAVING countIf(spent = 1) = 0) AS unspent
    LEFT JOIN (${txidsAt(`SELECT height, block_tag, tx_index ${rows} AND spent = 0`)}) AS named USING place`
  return asValues(await db.query(sql))
}

async function balancesOf({ db }: World, view: ChainView): Promise<Values> {
  const sql = `SELECT lower(hex(script)) AS name, toString(balance) AS value FROM (
      SELECT script_hash, argMax(total_received - total_sent, script_txs.ordinal) AS balance FROM script_txs
      WHERE ${view.tagFilter()} GROUP BY script_hash HAVING balance > 0) AS last
    LEFT JOIN (SELECT DISTINCT script_hash, script FROM scripts) AS known USING script_hash`
  return asValues(await db.query(sql))
}

function asValues(rows: readonly { readonly name: string; readonly value: string }[]): Values {
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
}

/** Returns an answer: the explorer may not know at once that what it does not have does not exist, and returns 503 until then. */
async function answered(explorerUrl: string, path: string): Promise<Answer> {
  let answer: Answer | undefined
  const isAnswered = async (): Promise<boolean> =>
    (answer = await getAnswer(`${explorerUrl}/api/v1${path}`)).status !== 503
  await until('an answer', isAnswered, UNKNOWN_MS).catch((error: unknown) => {
    if (answer === undefined) throw error
  })
  return answer as unknown as Answer
}

/** The newest transactions that are known to have been removed from the node's chain. */
function replacedBlocks({ seen, replaced }: World['node'], hashes: readonly string[]): string[] {
  const now = new Set(hashes)
  return [...[...seen.keys()].slice(-SAMPLE), ...[...replaced].slice(-SAMPLE)].filter(
    (hash) => !now.has(hash),
  )
}

/**
 * Transactions that a list, whose rows are selected in SQL, shows twice or in another block than a point read, whose row is
 * checked in memory. With this minimum the list contains every transaction that moves anything.
 */
async function misplacedAlerts(explorerUrl: string): Promise<string[]> {
  const found: string[] = []
  const seen = new Set<string>()
  const list = await answered(explorerUrl, `/whale-alerts?minValue=0&limit=${String(PAGE)}`)
  for (const { txid, block_height: listed } of list.body.items as { txid: string; block_height: number }[]) {
    const { status, body } = await answered(explorerUrl, `/tx/${txid}`)
    if (status !== 200 || body.block_height !== listed)
      found.push(
        `/whale-alerts: transaction ${txid} is at ${String(listed)}, but /tx returns status ${String(status)} and height ${String(body?.block_height)}`,
      )
    if (seen.has(txid)) found.push(`/whale-alerts: transaction ${txid} is listed twice`)
    seen.add(txid)
  }
  return found
}

/** The answer as a client receives it. */
async function answersOf(
  { explorerUrl, node, options: { network } }: World,
  state: WholeSourceState,
  hashes: readonly string[],
  random: Random,
): Promise<string[]> {
  const found: string[] = []
  const expect = async (path: string, fields: Readonly<Record<string, unknown>>): Promise<void> => {
    const { status, body } = await answered(explorerUrl, path)
    for (const [name, value] of Object.entries(fields)) {
      const shown = (body as Record<string, unknown> | undefined)?.[name]
      if (JSON.stringify(shown) !== JSON.stringify(value))
        found.push(
          `${path}: ${name} is ${JSON.stringify(shown)} (status ${String(status)}), not ${JSON.stringify(value)}`,
        )
    }
  }
  const { height, hash, supply, utxoCount, balances, coins } = state
  for (const each of replacedBlocks(node, hashes)) {
    const { status, body } = await answered(explorerUrl, `/block/${each}`)
    if (status !== 404 && body.canonical !== false)
      found.push(`/block/${each}: is canonical (status ${String(status)}), but no longer on the node's chain`)
    const [coinbase = ''] = await node.txids(each)
    const paid = await answered(explorerUrl, `/tx/${coinbase}`)
    // On Bitcoin, another block may contain the same coinbase.
    if (paid.status !== 404 && !hashes.includes(String(paid.body?.block_hash)))
      found.push(
        `/tx/${coinbase}: is visible (status ${String(paid.status)}) in block ${each}, which is no longer on the node's chain`,
      )
  }
  found.push(...(await misplacedAlerts(explorerUrl)))
  await expect('/blocks/tip', { height, hash })
  await expect('/stats/supply', { circulatingSupply: supply, utxoCount })
  await expect(`/blocks?limit=${String(PAGE)}`, { total: height + 1 })
  for (let i = 0; i < SAMPLE; i++) {
    const [script, balance] = random.pick(Object.entries(balances))
    const address = addressOf(Buffer.from(script, 'hex'), network)
    if (address !== undefined) await expect(`/address/${address}`, { balance })
    const at = random.below(height + 1)
    await expect(`/block/${String(at)}`, { hash: hashes[at] })
    const [outpoint, value] = random.pick(Object.entries(coins))
    const [txid = '', vout = ''] = outpoint.split(':')
    const tx = await answered(explorerUrl, `/tx/${txid}`)
    const output = tx.body?.outputs?.[Number(vout)]
    if (output?.value !== value || output.spent_txid !== null)
      found.push(
        `/tx/${txid}: output ${vout} is ${JSON.stringify(output)} (status ${String(tx.status)}), not ${value} unspent`,
      )
  }
  return found
}
