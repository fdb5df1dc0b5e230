import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { NodeBlock, NodeTx } from './node-json.js'

const folder = new URL('../recording/', import.meta.url)

/** Returns the file with the frames of a recording: of the Dilithium chain's node, or of the folder with this name beside it. */
export const timelineOf = (recording = ''): string =>
  new URL(join(recording, 'timeline.jsonl.gz'), folder).pathname

/** The recording of a real node; its README describes the source of the figures. */
export const TIMELINE = timelineOf()

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
  /** Outputs without an address, by their scripts; only in recordings of Bitcoin. */
  readonly scripts?: Readonly<Record<string, { kind: string; balance: number; utxos: number }>>
  readonly mempool: Readonly<
    Record<string, { vsize: number; weight: number; time: number; fees: { base: number } }>
  >
  readonly mempoolinfo: { size: number; bytes: number; total_fee: number }
  readonly networkhashps: Readonly<Record<string, number>>
}

export function readFrames(recording?: string): Frame[] {
  return gunzipSync(readFileSync(timelineOf(recording)))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Frame)
}

export function readOracles(recording = ''): Oracles {
  return JSON.parse(readFileSync(new URL(join(recording, 'oracles.json'), folder), 'utf8')) as Oracles
}
