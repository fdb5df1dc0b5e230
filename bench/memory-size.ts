import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Day } from '../services/explorer/core/state/days.js'
import { Mempool } from '../services/explorer/core/mempool/mempool.js'
import { shownTx, type ShownTx } from '../services/explorer/core/mempool/shown-tx.js'
import { blocksOf } from './log-size.js'
import { NETWORK } from './network.js'

/** Enough objects that other memory is negligible. */
const MEMPOOL_TXS = 20_000
const DAYS = 50_000

/** Measures the explorer's memory per object, without garbage, for everything that it holds by the thousand. */
export interface MemorySize {
  readonly perMempoolTx: number
  /** The bytes of the same transactions as serialised. */
  readonly mempoolTxSize: number
  readonly perDay: number
}

/** A mempool of the log's own transactions, and more days than any chain has. */
export async function measureMemory(logFolder: string): Promise<MemorySize> {
  const mempool = new Mempool()
  const before = await used()
  const txs: ShownTx[] = []
  for await (const tx of transactionsOf(logFolder)) {
    txs.push(tx)
    if (txs.length === MEMPOOL_TXS) break
  }
  mempool.replace(txs, 0)
  mempool.snapshot().newest(MEMPOOL_TXS)
  const { length: count } = txs
  const mempoolTxSize = txs.reduce((sum, tx) => sum + tx.size, 0) / count
  txs.length = 0
  const filled = await used()
  const days = Array.from({ length: DAYS }, (_, day) => dayLike(day))
  const reported = await used()
  // Held until here.
  if (mempool.snapshot().size !== count || days.length !== DAYS)
    throw new Error('the measured objects no longer exist')
  return { perMempoolTx: (filled - before) / count, mempoolTxSize, perDay: (reported - filled) / DAYS }
}

async function* transactionsOf(logFolder: string): AsyncGenerator<ShownTx> {
  for await (const { block } of blocksOf(logFolder)) {
    let next = 0
    for (const tx of block.txs) {
      if (tx.isCoinbase) continue
      const coins = tx.inputs.map(() => block.prevouts[next++])
      // Bytes of its own, as in a message: a slice would hold the whole block.
      const own = coins.map((coin) =>
        coin === undefined ? undefined : { value: coin.value, script: Buffer.from(coin.script) },
      )
      yield shownTx(
        { raw: Buffer.from(tx.raw), fee: 1000n, firstSeen: block.header.time, network: NETWORK },
        own,
      )
    }
  }
}

function dayLike(day: number): Day {
  const amount = BigInt(day) << 40n
  return {
    day,
    blocks: 144,
    txs: 400_000 + day,
    dilithiumTxs: day,
    fees: amount,
    output: amount << 8n,
    activeAddresses: day,
    newAddresses: day,
    difficulties: day + 0.5,
    work: amount << 30n,
    addresses: day,
    dilithiumAddresses: day,
  }
}

/** Returns heap and buffers in use after garbage collection. */
async function used(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  // Buffers are freed one turn after their owner.
  for (let turn = 0; turn < 3; turn++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
