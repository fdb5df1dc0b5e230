import { sumOf } from '../../../pipelines/chain/amount.js'
import { subsidy } from '../../../pipelines/chain/networks.js'
import { weightOf } from '../../../pipelines/chain/transaction.js'
import type { SimBlock } from '../chain/sim-block.js'
import type { SimChain } from '../chain/sim-chain.js'

/** Returns the counts and sums of getblockstats. As in Bitcoin Core, sums exclude the coinbase, `txs` and `outs` include it. */
export function blockStatsJson(chain: SimChain, block: SimBlock): string {
  const { network } = chain
  const { txs, spent } = chain.read(block)
  const paying = txs.slice(1)
  const witness = paying.filter((tx) => tx.hasWitness)
  const sum = <T>(list: readonly T[], of: (each: T) => number): number =>
    list.reduce((total, each) => total + of(each), 0)
  const totalOut = sumOf(paying.flatMap((tx) => tx.outputs))
  return JSON.stringify({
    blockhash: block.hash,
    height: block.height,
    ins: sum(paying, (tx) => tx.inputs.length),
    mediantime: block.medianTime,
    outs: sum(txs, (tx) => tx.outputs.length),
    subsidy: Number(subsidy(block.height, network)),
    swtotal_size: sum(witness, (tx) => tx.size),
    swtotal_weight: sum(witness, (tx) => weightOf(tx, network)),
    swtxs: witness.length,
    time: block.time,
    total_out: Number(totalOut),
    total_size: sum(paying, (tx) => tx.size),
    total_weight: sum(paying, (tx) => weightOf(tx, network)),
    totalfee: Number(sumOf(spent) - totalOut),
    txs: txs.length,
  })
}
