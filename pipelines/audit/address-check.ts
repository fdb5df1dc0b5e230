import { hasAddress } from '../chain/address.js'
import { coinsToBaseUnits } from '../chain/amount.js'
import { addressKey } from '../chain/columns/address-order.js'
import { networkNamed } from '../chain/networks.js'
import { outpointOf } from '../chain/prevout.js'
import { type NodeScannedSet, scannedSetReply } from '../node/replies.js'
import { integerSet, KEYS20, queryByKeys } from '../tables/keys.js'
import { txidsAt } from '../tables/lists/unspent.js'
import { type AuditContext, filterUpTo, type Findings, persisting, shownWith } from './audit.js'

/** The number of digits of `address_order.script_prefix`. */
const SCRIPT_PREFIX = 10
/** The number of scripts per scan: the node reads all outputs for each request. */
const AT_ONCE = 500
/** Ends the amount of an output that a coinbase created. */
const OF_COINBASE = ' of a coinbase'
/** The number of scripts in a sample that are taken from the top of the rich list; the rest is drawn at random. */
const RICHEST = 20

/** Compares balance and unspent outputs of some scripts with scantxoutset, at the block that it names. */
export async function addressCheck(context: AuditContext, all: Findings): Promise<void> {
  const { node, signal, progress } = context
  const scripts = await sampleOf(context)
  for (let from = 0; from < scripts.length; from += AT_ONCE) {
    const some = scripts.slice(from, from + AT_ONCE)
    await persisting(context, all, async (findings) => {
      const descriptors = some.map(({ script }) => `raw(${script})`)
      const set = await node.call('scantxoutset', ['start', descriptors], scannedSetReply, signal)
      await compare(context, some, set, findings)
      findings.checked = some.length
    })
    progress(all.checked, scripts.length)
  }
}

interface Sampled {
  readonly hash: string
  /** Hex. */
  readonly script: string
}

async function sampleOf({ db, view, sample, seed }: AuditContext): Promise<Sampled[]> {
  const filter = view.tagFilter()
  const random = `SELECT script_hash FROM script_txs WHERE ${filter} GROUP BY script_hash
    ORDER BY sipHash64(script_hash, {seed:String}) LIMIT {sample:UInt32}`
  const richest = `SELECT script_hash FROM script_balances WHERE ${filter} GROUP BY script_hash
    ORDER BY argMax(script_balances.balance, height) DESC LIMIT {richest:UInt32}`
  const hashes = await db.query<{ hash: string }>(
    `SELECT DISTINCT lower(hex(script_hash)) AS hash FROM ((${random}) UNION ALL (${richest}))`,
    { seed, sample: Math.max(1, sample - RICHEST), richest: Math.min(sample, RICHEST) },
  )
  return queryByKeys<Sampled>(
    db,
    `SELECT lower(hex(script_hash)) AS hash, lower(hex(script)) AS script FROM scripts WHERE script_hash IN ${KEYS20}`,
    hashes.map(({ hash }) => hash),
  )
}

/** Compares the scanned scripts with the index at the block of the scan, which may be newer than the view of the check. */
async function compare(
  context: AuditContext,
  scripts: readonly Sampled[],
  set: NodeScannedSet,
  findings: Findings,
): Promise<void> {
  const { db } = context
  const view = await shownWith(context, { height: set.height, hash: set.bestblock })
  if (view === undefined) {
    findings.expect('block that the node scanned at', 'not indexed', set.bestblock)
    return
  }
  const filter = filterUpTo(view, set.height)
  const hashes = scripts.map(({ hash }) => hash)
  const rows = `FROM script_outputs WHERE script_hash IN ${KEYS20} AND ${filter}`
  // By the transaction that the row names, whose txid must begin with that of the row.
  const outputs = await queryByKeys<{ hash: string; outpoint: string; amount: string }>(
    db,
    `SELECT hash, concat(if(startsWith(id, prefix), id, prefix), ':', toString(vout)) AS outpoint,
       concat(amount, if(place.3 = 0, '${OF_COINBASE}', '')) AS amount
     FROM (SELECT lower(hex(script_hash)) AS hash, lower(hex(txid_prefix)) AS prefix, vout, toString(any(value)) AS amount,
         any((height, block_tag, tx_index)) AS place
       ${rows} GROUP BY script_hash, txid_prefix, vout, output_height HAVING max(spent) = 0) AS unspent
     LEFT JOIN (SELECT place, lower(hex(txid)) AS id FROM (${txidsAt(`SELECT height, block_tag, tx_index ${rows} AND spent = 0`)})) AS named
       USING place`,
    hashes,
  )
  const totals = await queryByKeys<{ hash: string; balance: string; unspent: string }>(
    db,
    `SELECT lower(hex(script_hash)) AS hash, toString(argMax(total_received - total_sent, script_txs.ordinal)) AS balance,
       toString(argMax(unspent_count, script_txs.ordinal)) AS unspent
     FROM script_txs WHERE script_hash IN ${KEYS20} AND ${filter} GROUP BY script_hash`,
    hashes,
  )
  const last = new Map(totals.map((row) => [row.hash, row]))
  const ordered = await addressOrderOf(context, scripts)
  for (const { hash, script } of scripts) {
    const reported = new Map(
      set.unspents
        .filter(({ scriptPubKey }) => scriptPubKey === script)
        .map(({ txid, vout, amount, coinbase }) => [
          outpointOf(txid, vout),
          { value: coinsToBaseUnits(amount), coinbase },
        ]),
    )
    const indexed = new Map(
      outputs.filter((row) => row.hash === hash).map((row) => [row.outpoint, row.amount]),
    )
    const sum = [...reported.values()].reduce((total, { value }) => total + value, 0n)
    findings.expect(`balance of script ${script}`, last.get(hash)?.balance ?? '0', sum)
    findings.expect(`unspent outputs of script ${script}`, last.get(hash)?.unspent ?? '0', reported.size)
    for (const outpoint of new Set([...reported.keys(), ...indexed.keys()])) {
      const output = reported.get(outpoint)
      const own = indexed.get(outpoint) ?? 'missing'
      const isMarked = output?.coinbase ?? own.endsWith(OF_COINBASE)
      const expected =
        output === undefined ? 'not unspent' : `${String(output.value)}${isMarked ? OF_COINBASE : ''}`
      findings.expect(`output ${outpoint}`, own, expected)
    }
    const isOrdered = ordered.get(hash)
    if (last.has(hash) && isOrdered !== undefined)
      findings.expect(`script ${script} among the addresses`, isOrdered, true)
  }
}

/** Returns whether the scripts that have an address are in the order of addresses, by their hashes. */
async function addressOrderOf(
  { db, view }: Pick<AuditContext, 'db' | 'view'>,
  scripts: readonly Sampled[],
): Promise<ReadonlyMap<string, boolean>> {
  const network = networkNamed(view.head.chain)
  const keys = new Map(
    scripts.flatMap(({ hash, script }) => {
      const bytes = Buffer.from(script, 'hex')
      return hasAddress(bytes, network) ? [[hash, addressKey(bytes)] as const] : []
    }),
  )
  if (keys.size === 0) return new Map()
  const rows = await db.query<{ place: string }>(
    `SELECT DISTINCT concat(toString(address_key), ' ', lower(hex(script_prefix))) AS place FROM address_order
     WHERE address_key IN ${integerSet([...keys.values()])}`,
  )
  const places = new Set(rows.map(({ place }) => place))
  return new Map(
    [...keys].map(([hash, key]) => [hash, places.has(`${String(key)} ${hash.slice(0, SCRIPT_PREFIX)}`)]),
  )
}
