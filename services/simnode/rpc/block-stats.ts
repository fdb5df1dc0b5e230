import { spentBy } from './block-json.js'
import type { SimBlock } from '../chain/sim-block.js'
import { weightOf } from '../../../pipelines/chain/transaction.js'
import type { SimChain } from '../chain/sim-chain.js'

/** The part of getblockstats that counts and sums. As in the node, sums leave the coinbase out, `txs` and `outs` do not. */
export function blockStatsJson(chain: SimChain, block: SimBlock): string {
  const content = chain.read(block)
  const stats = {
    ins: 0,
    outs: 0,
    totalOut: 0n,
    totalIn: 0n,
    size: 0,
    weight: 0,
    witnessTxs: 0,
    witnessSize: 0,
    witnessWeight: 0,
  }
  content.txs.forEach((tx, index) => {
    stats.outs += tx.outputs.length
    if (tx.isCoinbase) return
    const weight = weightOf(tx, chain.network)
    stats.ins += tx.inputs.length
    stats.size += tx.size
    stats.weight += weight
    for (const output of tx.outputs) stats.totalOut += output.value
    for (const coin of spentBy(content, index)) stats.totalIn += coin.value
    if (!tx.hasWitness) return
    stats.witnessTxs++
    stats.witnessSize += tx.size
    stats.witnessWeight += weight
  })
  return JSON.stringify({
    blockhash: block.hash,
    height: block.height,
    ins: stats.ins,
    mediantime: block.medianTime,
    outs: stats.outs,
    subsidy: Number(chain.subsidyAt(block.height)),
    swtotal_size: stats.witnessSize,
    swtotal_weight: stats.witnessWeight,
    swtxs: stats.witnessTxs,
    time: block.time,
    total_out: Number(stats.totalOut),
    total_size: stats.size,
    total_weight: stats.weight,
    totalfee: block.height === 0 ? 0 : Number(stats.totalIn - stats.totalOut),
    txs: content.txs.length,
  })
}
