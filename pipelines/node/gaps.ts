import type { NodeChainInfo, NodeMempoolInfo } from './replies.js'

/**
 * Returns what the replies of a node lack that other versions have, each with its consequence. `waitfornewblock` and ZMQ are not
 * among it: the announcements that need them report it.
 */
export function gapsOf(info: NodeChainInfo, mempool: NodeMempoolInfo): string[] {
  const gaps: readonly (readonly [unknown, string])[] = [
    [
      info.initialblockdownload,
      'getblockchaininfo has no initialblockdownload: a node that downloads its chain is taken for a complete one',
    ],
    [info.headers, 'getblockchaininfo has no headers: the progress of a download is that of its blocks'],
    [
      info.chain === 'signet' ? info.signet_challenge : true,
      'getblockchaininfo has no signet_challenge: another signet with the same block 0 is taken for the public one',
    ],
    [
      mempool.minrelaytxfee,
      'getmempoolinfo has no minrelaytxfee: transactions that leave a full mempool have no reason, and the lowest fee is that of the mempool',
    ],
    [
      mempool.incrementalrelayfee,
      'getmempoolinfo has no incrementalrelayfee: the fee of a replacement is not known',
    ],
    [mempool.total_fee, 'getmempoolinfo has no total_fee: some replacements are seen a minute late'],
  ]
  return gaps.flatMap(([field, gap]) => (field === undefined ? [gap] : []))
}
