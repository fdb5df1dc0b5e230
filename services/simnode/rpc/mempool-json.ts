import { coins } from './block-json.js'
import type { Dialect } from '../dialect.js'
import type { Mempool, MempoolEntry } from '../mempool/mempool.js'

/** Returns the result of getrawmempool without details. */
export function mempoolIdsJson(mempool: Mempool): string {
  return `[${[...mempool.entries()].map((entry) => `"${entry.tx.txid}"`).join(',')}]`
}

/** Returns the result of getrawmempool with details. */
export function mempoolJson(mempool: Mempool): string {
  return `{${[...mempool.entries()].map((entry) => `"${entry.tx.txid}":${entryJson(mempool, entry)}`).join(',')}}`
}

export function entryJson(mempool: Mempool, entry: MempoolEntry): string {
  const { tx, weight, vsize, fee } = entry
  const ancestors = sumOf(mempool.withAncestors(entry))
  const descendants = sumOf(mempool.withDescendants(entry))
  return (
    `{"vsize":${String(vsize)},"weight":${String(weight)},"time":${String(entry.time)},"height":${String(entry.height)},` +
    `"descendantcount":${String(descendants.count)},"descendantsize":${String(descendants.vsize)},` +
    `"ancestorcount":${String(ancestors.count)},"ancestorsize":${String(ancestors.vsize)},"wtxid":"${tx.wtxid}",` +
    `"fees":{"base":${coins(fee)},"modified":${coins(fee)},"ancestor":${coins(ancestors.fee)},` +
    `"descendant":${coins(descendants.fee)}},"depends":${idsJson(entry.parents)},"spentby":${idsJson(entry.children)},` +
    `"bip125-replaceable":${String(mempool.signalsReplaceability(entry))},"unbroadcast":true}`
  )
}

/** Returns the result of getmempoolinfo. */
export function mempoolInfoJson(mempool: Mempool, { hasFullRbf }: Dialect): string {
  const { count, vsize, fee } = sumOf(mempool.entries())
  return (
    `{"loaded":true,"size":${String(count)},"bytes":${String(vsize)},"usage":${String(64 + vsize * 3)},` +
    `"total_fee":${coins(fee)},"maxmempool":2000000000,"mempoolminfee":0.00001000,"minrelaytxfee":0.00001000,` +
    `"incrementalrelayfee":0.00001000,"unbroadcastcount":${String(count)},"fullrbf":${String(hasFullRbf)}}`
  )
}

function idsJson(entries: Iterable<MempoolEntry>): string {
  return JSON.stringify([...entries].map((entry) => entry.tx.txid))
}

function sumOf(entries: Iterable<MempoolEntry>): { count: number; vsize: number; fee: bigint } {
  let count = 0
  let vsize = 0
  let fee = 0n
  for (const entry of entries) {
    count++
    vsize += entry.vsize
    fee += entry.fee
  }
  return { count, vsize, fee }
}
