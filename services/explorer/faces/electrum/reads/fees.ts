import { Type } from '@sinclair/typebox'
import { effectiveOf } from '../../../../../pipelines/mempool/packages.js'
import type { ShownTx } from '../../../core/mempool/shown-tx.js'
import { feeEstimatesOf } from '../../../core/reads/fees/estimates-of-node.js'
import { minimumOf } from '../../../core/reads/fees/basis.js'
import { declareRead, type ReadContext } from '../../../core/reads/read.js'
import { text } from './arguments.js'

/** The ways to estimate, as the node names them. */
export const MODES = ['CONSERVATIVE', 'ECONOMICAL'] as const
/** The highest number of blocks for which the node estimates. */
const MAX_TARGET = 1_008
/** The virtual size of the first bin of the histogram; each further one is larger by a tenth. */
const BIN_VSIZE = 100_000

/** Returns the fee rate in coins per 1000 virtual bytes. @param rate base units per virtual byte. */
const coinsPerThousand = (rate: number): number => Math.round(rate * 1_000) / 1e8

/** The fee rate for confirmation within a number of blocks, in coins per 1000 virtual bytes; -1 if it cannot be estimated. */
export const feeEstimate = declareRead({
  name: 'electrumFeeEstimate',
  path: '/electrum/fee-estimate',
  fresh: 'head',
  args: {
    blocks: text('number of blocks'),
    mode: Type.Optional(Type.Union(MODES.map((each) => Type.Literal(each)))),
  },
  answer: Type.Number(),
  async resolve(context, { blocks, mode }) {
    const target = Math.min(Math.max(Number(blocks), 1), MAX_TARGET)
    const [rate] = await feeEstimatesOf(context, [target], mode)
    return rate === undefined ? -1 : coinsPerThousand(rate)
  },
})

/** Returns the fee rates of the node in coins per 1000 virtual bytes. */
function relayFeesOf({ relayFees }: ReadContext) {
  const { fee, vsize } = minimumOf(relayFees)
  const coins = (rate: bigint): number => Number(rate) / 1e8
  const least = relayFees?.minRelay ?? (fee * 1_000n) / BigInt(vsize)
  return {
    mempoolminfee: coins(relayFees?.mempoolMin ?? least),
    minrelaytxfee: coins(least),
    incrementalrelayfee: coins(relayFees?.incremental ?? least),
  }
}

export const relayFee = declareRead({
  name: 'electrumRelayFee',
  path: '/electrum/relay-fee',
  fresh: 'mempool',
  args: {},
  answer: Type.Number(),
  resolve: (context) => relayFeesOf(context).minrelaytxfee,
})

export const mempoolInfo = declareRead({
  name: 'electrumMempoolInfo',
  path: '/electrum/mempool-info',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: (context) => relayFeesOf(context),
})

/**
 * Returns the histogram of fee rates: bins with the lowest fee rate in each, highest first. What is left after the last full bin is not
 * in it. The rule is that of ElectrumX.
 * @param txs highest rate first.
 */
export function feeBins(txs: Iterable<Pick<ShownTx, 'vsize' | 'fee' | 'packaged'>>): [number, number][] {
  const sizes = new Map<number, number>()
  for (const tx of txs) {
    const { fee, vsize } = effectiveOf(tx)
    const rate = Math.floor((Number(fee) * 10) / vsize) / 10
    sizes.set(rate, (sizes.get(rate) ?? 0) + tx.vsize)
  }
  const bins: [number, number][] = []
  let least = BIN_VSIZE
  let sum = 0
  let before: number | undefined
  const close = (rate: number): void => {
    bins.push([rate, sum])
    sum = 0
    least *= 1.1
  }
  for (const [rate, size] of [...sizes].sort(([one], [other]) => other - one)) {
    // Many transactions of one rate: those before them get a bin of their own.
    if (size > 2 * least && before !== undefined && sum > 0) close(before)
    sum += size
    if (sum > least) close(rate)
    before = rate
  }
  return bins
}

export const feeHistogram = declareRead({
  name: 'electrumFeeHistogram',
  path: '/electrum/fee-histogram',
  fresh: 'mempool',
  args: {},
  answer: Type.Unknown(),
  resolve: ({ mempool }) => feeBins(mempool.byRate()),
})
