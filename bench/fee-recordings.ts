import type { Network } from '../pipelines/chain/networks.js'
import { projectedWeight, type ProjectableTx } from '../pipelines/mempool/projection.js'
import { baseUnits } from '../test/harness/node-json.js'
import { type Frame, readFrames } from '../test/harness/recording.js'
import { FeeMethods, type Quote } from './fee-methods.js'

export interface Recording {
  /** The folder of the recording; empty for that of the Dilithium chain. */
  readonly folder: string
  readonly network: Network
}

/** The promises of the methods that the transactions of a recording relied on. */
export interface RecordedPromises {
  readonly name: string
  /** The number of transactions, times their promised numbers of blocks, of Headwater's method. */
  readonly transactions: number
  /** The shares of the promises that were kept, by method. */
  readonly kept: ReadonlyMap<string, number>
  /** The median of the quoted fee rates as multiples of the minimum, by method. */
  readonly median: ReadonlyMap<string, number>
}

type Entry = Frame['mempool'][string] & { readonly weight: number; readonly depends: readonly string[] }

/** The methods whose promises are judged. */
const METHODS = ['0.5', '0.8', '0.95', 'node', 'mempool.space'] as const
const MINIMUM = 1
const SPACING_BLOCKS = 144

/** A transaction that entered the mempool, and what the methods had quoted just before. */
interface Relying {
  readonly rate: number
  readonly quotes: readonly Quote[]
  readonly height: number
  confirmedAt: number | undefined
}

/**
 * Plays a recording. A transaction that enters the mempool relies on each method that quoted no more than it pays just before: it should be
 * confirmed within the number of blocks. Transactions that were replaced, or that lived through a reorganisation, do not count.
 */
export function recordedPromises({ folder, network }: Recording): RecordedPromises {
  const methods = new FeeMethods()
  const relying = new Map<string, Relying>()
  const judged: Relying[] = []
  const times: number[] = []
  let mempool = new Map<string, ProjectableTx>()
  let quotes: readonly Quote[] = []
  for (const frame of readFrames(folder)) {
    const { time, connected, disconnected } = frame
    times.length -= disconnected.length
    if (disconnected.length > 0) relying.clear()
    for (const { block } of connected) {
      times.push(block.time)
      const txids = block.tx.slice(1).map(({ txid }) => txid)
      methods.mined(
        block.height,
        txids.map((txid) => mempool.get(txid)).filter((tx) => tx !== undefined),
      )
      for (const txid of txids) {
        const tx = relying.get(txid)
        mempool.delete(txid)
        relying.delete(txid)
        if (tx !== undefined) judged.push({ ...tx, confirmedAt: block.height })
      }
    }
    const listed = listedIn(frame)
    for (const [txid, tx] of mempool)
      if (!listed.has(txid)) {
        methods.dropped(tx, time)
        relying.delete(txid)
      }
    const height = times.length - 1
    for (const [txid, tx] of listed) {
      if (mempool.has(txid)) continue
      methods.entered(tx, time, tx.outpoints.length > 0)
      if (tx.outpoints.length === 0)
        relying.set(txid, { rate: Number(tx.fee) / tx.vsize, quotes, height, confirmedAt: undefined })
    }
    mempool = listed
    quotes = methods.quotes({
      time,
      mempool: mempool.values(),
      capacity: projectedWeight(network) / network.witnessScale,
      maxWeight: projectedWeight(network),
      spacing: spacingOf(times, network),
    })
  }
  return summaryOf(folder === '' ? 'dilithium' : 'bitcoin', judged)
}

function listedIn({ mempool }: Frame): Map<string, ProjectableTx> {
  return new Map(
    Object.entries(mempool as Readonly<Record<string, Entry>>).map(([txid, entry]) => {
      const { vsize, weight, fees, depends } = entry
      return [txid, { txid, fee: baseUnits(fees.base), size: vsize, vsize, weight, outpoints: depends }]
    }),
  )
}

function spacingOf(times: readonly number[], { blockSpacing }: Network): number {
  const recent = times.slice(-SPACING_BLOCKS)
  const seconds = (recent.at(-1) ?? 0) - (recent[0] ?? 0)
  return recent.length < 2 ? blockSpacing : Math.max(1, seconds / (recent.length - 1))
}

function summaryOf(name: string, judged: readonly Relying[]): RecordedPromises {
  const promises = METHODS.map((method) => ({
    method,
    all: judged.flatMap(({ rate, quotes, height, confirmedAt = Number.POSITIVE_INFINITY }) =>
      quotes
        .filter((quote) => quote.method === method && Math.max(quote.rate, MINIMUM) <= rate)
        .map((quote) => ({ isKept: confirmedAt - height <= quote.blocks })),
    ),
    quoted: judged.flatMap(({ quotes }) =>
      quotes.filter((quote) => quote.method === method).map(({ rate }) => Math.max(rate, MINIMUM)),
    ),
  }))
  const medianOf = (values: readonly number[]): number =>
    [...values].sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN
  const tested = promises.filter(({ all }) => all.length > 0)
  return {
    name,
    transactions: judged.length,
    kept: new Map(
      tested.map(({ method, all }) => [method, all.filter(({ isKept }) => isKept).length / all.length]),
    ),
    median: new Map(tested.map(({ method, quoted }) => [method, medianOf(quoted) / MINIMUM])),
  }
}
