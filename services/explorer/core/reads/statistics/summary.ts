import { difficultyOf } from '../../../../../pipelines/chain/difficulty.js'
import type { MempoolTxs } from '../../mempool/mempool-txs.js'
import type { ChainState } from '../../state/state.js'
import type { IndexerFigures } from '../../state/indexer-status.js'
import type { StatsSummary } from '../shapes.js'

/** Returns the summary, from memory: the tip's row contains the figures of the chain. */
export function statsSummary(chain: ChainState, mempool: MempoolTxs, indexer: IndexerFigures): StatsSummary {
  const { tip } = chain
  return {
    tipHeight: chain.height,
    tipHash: chain.tipHash,
    difficulty: tip === undefined ? '0' : difficultyOf(tip.bits),
    totalTransactions: Number(tip?.sumTxs ?? 0),
    activeAddresses: Number(tip?.fundedAddresses ?? 0),
    mempoolSize: mempool.size,
    ...indexer,
  }
}
