import type { Channel } from './feed.js'

/** The names of the shapes of the events of each channel. */
export const EVENTS = {
  blocks: 'BlockEvent',
  mempool: 'MempoolEvent',
  stats: 'StatsSummary',
  'whale-alerts': 'WhaleAlert',
  reorgs: 'ReorgEvent',
} as const satisfies Readonly<Record<Channel, string>>
