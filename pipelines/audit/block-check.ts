import { coinsToBaseUnits } from '../chain/amount.js'
import { decodePrevouts } from '../chain/prevout.js'
import { type Block, type BlockId, blockTag, parseBlock } from '../chain/block.js'
import { encodePayouts, payoutsOf } from '../chain/columns/payouts.js'
import { networkNamed } from '../chain/networks.js'
import { parseBody, witnessTag } from '../chain/transaction.js'
import type { NodeBlock } from '../node/replies.js'
import { readBodies } from '../tables/bodies.js'
import { KEYS20, queryByKeys } from '../tables/keys.js'
import type { AuditContext, Findings } from './audit.js'
import { sampleHeights } from './chain-checks.js'
import { compareStatistics } from './statistics-check.js'

type Parts = Pick<AuditContext, 'db' | 'node' | 'signal' | 'view'>

/** Compares some blocks with getblock: header, counts, sums, statistics, bodies of transactions and the outputs that they spend. */
export async function blockCheck(context: AuditContext, findings: Findings): Promise<void> {
  const { head, sample, seed, progress } = context
  for (const height of sampleHeights(head.tipHeight, sample, seed)) {
    await compareBlock(context, height, findings)
    findings.checked++
    progress(findings.checked, Math.min(sample, head.tipHeight + 1))
  }
}

/** Count and sums of the transactions of a block. Amounts are in base units. */
export interface BlockSums {
  txs: number
  fees: bigint
  output: bigint
}

export function sumsOf({ tx }: NodeBlock, parsed: Block): BlockSums {
  let fees = 0n
  let output = 0n
  for (const [index, each] of tx.entries()) {
    if (index === 0) continue
    const out = parsed.txs[index]?.outputs.reduce((sum, { value }) => sum + value, 0n) ?? 0n
    output += out
    fees += each.vin.reduce((sum, { prevout }) => sum + coinsToBaseUnits(prevout?.value ?? 0), 0n) - out
  }
  return { txs: tx.length, fees, output }
}

/** Reads a block from the node, as JSON and as parsed bytes. */
export async function nodeBlock(
  { node, signal, view }: Pick<Parts, 'node' | 'signal' | 'view'>,
  hash: string,
): Promise<{ block: NodeBlock; parsed: Block }> {
  const [block, raw] = await Promise.all([node.block(hash, signal), node.rawBlock(hash, signal)])
  return { block, parsed: parseBlock(raw, networkNamed(view.head.chain)) }
}

/** Compares the indexed block at a height with the node's block of the same hash. */
export async function compareBlock(parts: Parts, height: number, findings: Findings): Promise<void> {
  const { db, view } = parts
  const columns = `lower(hex(hash)) AS id, lower(hex(prev_hash)) AS prev, lower(hex(merkle_root)) AS root, time, median_time AS median,
    nonce, bits, version, size, stripped_size AS stripped, weight, tx_count AS txs, input_count AS inputs, output_count AS outputs,
    total_fees AS fees, total_output AS output, lower(hex(blocks.chainwork)) AS work, lower(hex(blocks.payouts)) AS payouts`
  type Row = Record<string, string | number> & { id: string }
  const [row] = await db.query<Row>(
    `SELECT ${columns} FROM blocks WHERE height = {height:UInt32} AND ${view.sqlFilter('height', 'hash')} LIMIT 1`,
    { height },
  )
  const at = `of block ${String(height)}`
  if (row === undefined) {
    findings.expect(`block ${String(height)}`, 'missing', 'in the tables')
    return
  }
  const { block, parsed } = await nodeBlock(parts, row.id)
  const sums = sumsOf(block, parsed)
  const spending = parsed.txs.slice(1)
  const expected: Readonly<Record<string, string | number | bigint>> = {
    prev: parsed.header.prevHash,
    root: parsed.header.merkleRoot,
    time: parsed.header.time,
    median: block.mediantime,
    nonce: parsed.header.nonce,
    bits: parsed.header.bits,
    version: parsed.header.version,
    size: parsed.size,
    stripped: parsed.strippedSize,
    weight: parsed.weight,
    txs: sums.txs,
    inputs: spending.reduce((count, { inputs }) => count + inputs.length, 0),
    outputs: parsed.txs.reduce((count, { outputs }) => count + outputs.length, 0),
    fees: sums.fees,
    output: sums.output,
    work: block.chainwork,
    payouts: encodePayouts(payoutsOf(parsed.txs[0]?.outputs ?? [], networkNamed(view.head.chain))).toString(
      'hex',
    ),
  }
  for (const [name, value] of Object.entries(expected)) findings.expect(`${name} ${at}`, row[name], value)
  const filters = { blocks: view.sqlFilter('height', 'hash'), rows: view.tagFilter() }
  const statistics = { db, network: networkNamed(view.head.chain), ...filters }
  await compareStatistics(statistics, { height, hash: row.id }, block, parsed, findings)
  await compareTransactions(db, { height, hash: row.id }, block, parsed, findings)
}

async function compareTransactions(
  db: Parts['db'],
  at: BlockId,
  block: NodeBlock,
  parsed: Block,
  findings: Findings,
): Promise<void> {
  const of = { height: at.height, tag: blockTag(at.hash) }
  const locations = await db.query<{ txid: string; witness: number }>(
    `SELECT lower(hex(block_txs.txid)) AS txid, witness_tag AS witness FROM block_txs
     WHERE height = {height:UInt32} AND block_tag = {tag:UInt32} ORDER BY tx_index LIMIT 1 BY tx_index`,
    of,
  )
  const ids = locations.map(({ txid, witness }) => `${txid}/${String(witness)}`).join(' ')
  findings.expect(
    `transactions of block ${String(at.height)}`,
    ids,
    parsed.txs.map((tx) => `${tx.txid}/${String(witnessTag(tx))}`).join(' '),
  )
  const bodies = await readBodies(
    db,
    parsed.txs.map(({ txid }) => txid),
  )
  for (const [index, { txid }] of parsed.txs.entries()) {
    const stored = bodies.get(txid)
    // Left to the node, with which there is nothing to compare.
    if (stored?.body.length === 0) continue
    findings.expect(`body of transaction ${txid}`, txidOf(stored?.body), txid)
    if (stored === undefined || index === 0) continue
    const coins = decodePrevouts(stored.prevouts)
    const reported = block.tx[index]?.vin ?? []
    findings.expect(
      `outputs that ${txid} spends`,
      coins.map(({ value, script }) => `${String(value)} ${script.toString('hex')}`).join(', '),
      reported
        .map(
          ({ prevout }) =>
            `${String(coinsToBaseUnits(prevout?.value ?? 0))} ${prevout?.scriptPubKey.hex ?? ''}`,
        )
        .join(', '),
    )
  }
  const spends = parsed.txs.flatMap(({ inputs }, index) =>
    inputs.map(({ prevTxid, prevVout }, vin) => ({ prev: prevTxid.slice(0, 40), prevVout, index, vin })),
  )
  const spent = spends.filter(({ index }) => index > 0)
  const rows = await queryByKeys<{ spend: string }>(
    db,
    `SELECT DISTINCT concatWithSeparator(' ', lower(hex(prev_txid)), prev_vout, tx_index, vin) AS spend FROM spends
     WHERE prev_txid IN ${KEYS20} AND height = {height:UInt32} AND block_tag = {tag:UInt32}`,
    spent.map(({ prev }) => prev),
    of,
  )
  const indexed = new Set(rows.map(({ spend }) => spend))
  findings.expect(
    `spends of block ${String(at.height)}`,
    spent.filter((spend) => indexed.has(Object.values(spend).join(' '))).length,
    spent.length,
  )
}

function txidOf(body: Buffer | undefined): string {
  if (body === undefined) return 'missing'
  try {
    return parseBody(body).txid
  } catch {
    return 'not a transaction'
  }
}
