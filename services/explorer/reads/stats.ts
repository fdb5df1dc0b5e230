import { MAX_SUPPLY } from '../../../pipelines/chain/network.js'
import { declareRead } from './read.js'
import { StatsSummary, Supply } from './shapes.js'
import { statsSummary } from './stats-summary.js'

export const summary = declareRead({
  name: 'statsSummary',
  path: '/stats/summary',
  fresh: 'live',
  args: {},
  answer: StatsSummary,
  resolve: (context) => statsSummary(context.chain, context.pool, context.indexer()),
})

export const supply = declareRead({
  name: 'supply',
  path: '/stats/supply',
  fresh: 'head',
  args: {},
  answer: Supply,
  resolve: ({ chain: { tip } }) => ({
    circulatingSupply: tip?.supply ?? '0',
    utxoCount: Number(tip?.utxoCount ?? 0),
    maxSupply: MAX_SUPPLY.toString(),
  }),
})
