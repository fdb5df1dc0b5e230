import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { NodeBlock, NodeTx } from './node-json.js'

const folder = new URL('../recording/', import.meta.url)

/** The recording of a real node; its README describes the source of the figures. */
export const TIMELINE = new URL('timeline.jsonl.gz', folder).pathname

export interface Frame {
  readonly type: 'start' | 'block' | 'mempool' | 'reorg'
  readonly time: number
  readonly connected: readonly { readonly header: string; readonly block: NodeBlock }[]
  readonly disconnected: readonly string[]
  readonly chaininfo: { readonly blocks: number; readonly bestblockhash: string }
  readonly mempoolinfo: { readonly size: number; readonly bytes: number; readonly total_fee: number }
  readonly mempool: Readonly<
    Record<string, { readonly vsize: number; readonly fees: { readonly base: number } }>
  >
}

export interface Oracles {
  readonly txoutset: { readonly txouts: number; readonly total_amount: number; readonly bestblock: string }
  readonly blockstats: Readonly<
    Record<
      string,
      {
        blockhash: string
        totalfee: number
        ins: number
        outs: number
        txs: number
        total_out: number
        total_size: number
        subsidy: number
        time: number
        mediantime: number
      }
    >
  >
  readonly transactions: Readonly<Record<string, NodeTx & { vsize: number; weight: number }>>
  readonly addresses: Readonly<
    Record<string, { kind: string; scriptPubKey: string; balance: number; utxos: number }>
  >
  readonly mempool: Readonly<
    Record<string, { vsize: number; weight: number; time: number; fees: { base: number } }>
  >
  readonly mempoolinfo: { size: number; bytes: number; total_fee: number }
  readonly networkhashps: Readonly<Record<string, number>>
}

export function readFrames(): Frame[] {
  return gunzipSync(readFileSync(TIMELINE))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Frame)
}

export function readOracles(): Oracles {
  return JSON.parse(readFileSync(new URL('oracles.json', folder), 'utf8')) as Oracles
}
