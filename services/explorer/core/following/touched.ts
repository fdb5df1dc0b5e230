import { outpointsOf, decodePrevouts } from '../../../../pipelines/chain/prevout.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import { parseBody } from '../../../../pipelines/chain/transaction.js'
import type { Head } from '../../../../pipelines/tables/head.js'
import type { Mempool } from '../mempool/mempool.js'
import { netChange, type TxidsOf } from '../state/overlay.js'
import { isResolved } from '../mempool/shown-tx.js'
import type { Body } from '../tables/lookups.js'
import type { Tables } from '../tables/tables.js'
import { eachBody } from '../tables/transactions.js'

/** Heads that change more blocks come from a backfill: the hashes that they touch are not worth reading. */
const MAX_BLOCKS = 100
const MAX_TXS = 20_000
/** The number of transactions that one lookup reads. */
const TXS_AT_ONCE = 256

/** The fields of a head that name the blocks it connects and disconnects. */
type Changed = Pick<Head, 'position' | 'previous' | 'tipHeight' | 'connected' | 'disconnected'>

/**
 * Returns the hashes of the blocks, transactions and scripts that consecutive heads touch, see `Change`; undefined if they do not
 * continue the position, change too much, or contain a transaction that is missing from the tables, as after a power cut until the
 * materializer has written it again.
 * @throws DatabaseUnavailable.
 */
export async function touchedBy(
  heads: readonly Changed[],
  position: number,
  mempool: Pick<Mempool, 'getAny'>,
  tables: Pick<Tables, 'bodies' | 'largeBodies'>,
  txidsOf: TxidsOf,
): Promise<ReadonlySet<string> | undefined> {
  if (!areConsecutive(heads, position)) return undefined
  const { connected, disconnected } = netChange(heads)
  const blocks = [...connected, ...disconnected]
  if (blocks.length > MAX_BLOCKS) return undefined
  const touched = new Set(blocks.map(({ hash }) => hash))
  const txids = new Set([...(await txidsOf(connected)), ...(await txidsOf(disconnected))])
  if (txids.size > MAX_TXS) return undefined
  const unknown: string[] = []
  for (const txid of txids) {
    touched.add(txid)
    const tx = mempool.getAny(txid)
    if (tx === undefined || !isResolved(tx)) {
      unknown.push(txid)
      continue
    }
    for (const outpoint of tx.outpoints) touched.add(outpoint.slice(0, 64))
    for (const hash of tx.changes.keys()) touched.add(hash)
  }
  for (let at = 0; at < unknown.length; at += TXS_AT_ONCE) {
    const some = unknown.slice(at, at + TXS_AT_ONCE)
    let count = 0
    await eachBody(tables, some, (body) => {
      count++
      addTx(touched, body)
    })
    if (count < some.length) return undefined
  }
  return touched
}

/** Returns whether the heads continue the position, and each other. */
function areConsecutive(heads: readonly Changed[], position: number): boolean {
  let last = position
  for (const head of heads) {
    if (head.previous !== last) return false
    last = head.position
  }
  return true
}

/** Adds the transactions whose outputs a transaction spends, and the scripts of its inputs and outputs. */
function addTx(touched: Set<string>, { body, prevouts }: Body): void {
  const tx = parseBody(body, undefined)
  for (const outpoint of outpointsOf(tx)) touched.add(outpoint.slice(0, 64))
  for (const { script } of [...decodePrevouts(prevouts), ...tx.outputs]) touched.add(scriptHash(script))
}
