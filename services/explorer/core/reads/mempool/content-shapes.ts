import { type Static, Type } from '@sinclair/typebox'
import { Amount, dilithiumFlag, flag, Hash, Height, int, list, text } from '../fields.js'

// The shapes of the transactions of a block in brief. Those of `shapes.ts` include them.

export const BriefTransaction = Type.Object({
  txid: Hash,
  fee: Amount,
  vsize: int('virtual bytes'),
  effective_fee_rate: text(
    'fee rate of the package with which a miner would take it, base units per virtual byte, decimal',
  ),
  is_dilithium: dilithiumFlag('whether it spends with a Dilithium signature'),
})
export type BriefTransaction = Static<typeof BriefTransaction>

export const BlockSummary = Type.Object({
  hash: Hash,
  height: Height,
  canonical: flag('false for a block that a reorganisation replaced'),
  items: list(BriefTransaction, 'its transactions, in its order; the first one is the coinbase'),
})
export type BlockSummary = Static<typeof BlockSummary>

export const ProjectedBlockSummary = Type.Object({
  block: int('number of the block, 1 for the next one'),
  items: list(
    BriefTransaction,
    'its transactions, each after the ones that it spends from; empty if the mempool fills fewer blocks',
  ),
})
export type ProjectedBlockSummary = Static<typeof ProjectedBlockSummary>
