import {
  AddressEvent,
  BlockEvent,
  MempoolEvent,
  ReorgEvent,
  StatsSummary,
  WhaleAlert,
} from '../reads/shapes.js'
import { type ChannelText, declareChannel } from './channel.js'

export const blocks = declareChannel({
  name: 'blocks',
  about: 'A block that joins the chain, in order.',
  event: BlockEvent,
  numbering: 'log',
  history: 1_000,
})

export const mempool = declareChannel({
  name: 'mempool',
  about: 'A transaction that enters the mempool, and with `removals` also one that leaves it.',
  event: MempoolEvent,
  numbering: 'log',
  history: 5_000,
  // What enters leaves.
  historyWithRemovals: 10_000,
})

export const stats = declareChannel({
  name: 'stats',
  about: 'The summary, after each block and at most every five seconds when the mempool has changed.',
  event: StatsSummary,
  numbering: { after: blocks.name, everyMs: 5_000 },
  history: 64,
})

export const whaleAlerts = declareChannel({
  name: 'whale-alerts',
  about: 'A transaction that moves a large amount, once, when it is first seen.',
  event: WhaleAlert,
  // Far more than there are between two sightings of one transaction.
  numbering: { remembered: 50_000 },
  history: 1_000,
})

export const reorgs = declareChannel({
  name: 'reorgs',
  about: 'A reorganisation, before the blocks of the new branch.',
  event: ReorgEvent,
  numbering: 'log',
  history: 1_000,
})

/** All channels. What clients, documents and processes need of one is derived from its declaration. */
export const CHANNELS = [blocks, mempool, stats, whaleAlerts, reorgs] as const

/** The channels of addresses, `address:` and the address. Their events are changes of scripts, see `ScriptFeed`. */
export const ADDRESS = {
  name: 'address',
  about: 'A change of an address, confirmed or not.',
  event: AddressEvent,
} as const satisfies ChannelText

/** The prefix of the names of the channels of addresses. */
export const ADDRESS_CHANNEL = `${ADDRESS.name}:`
