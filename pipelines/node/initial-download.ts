import type { NodeChainInfo } from './replies.js'

/**
 * Returns whether a node downloads its chain for the first time. A node of a regtest network has no peers to download from: it reports
 * a download while its newest block is older than a day.
 */
export function isDownloading({ chain, initialblockdownload }: NodeChainInfo): boolean {
  return initialblockdownload === true && chain !== 'regtest'
}
