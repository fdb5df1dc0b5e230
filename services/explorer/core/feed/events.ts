import type { TObject } from '@sinclair/typebox'
import {
  AddressEvent,
  BlockEvent,
  MempoolEvent,
  ReorgEvent,
  StatsSummary,
  WhaleAlert,
} from '../reads/shapes.js'
import type { Channel } from './feed.js'

/** The declaration of a channel's events. */
export interface EventDeclaration {
  /** When an event is sent, for the documentation of the API. */
  readonly about: string
  /** The schema of the event's data. */
  readonly data: TObject
}

/** The events of each channel. The descriptions of the feed are derived from it. */
export const EVENTS: Readonly<Record<Channel, EventDeclaration>> = {
  blocks: { about: 'A block that joins the chain, in order.', data: BlockEvent },
  mempool: {
    about: 'A transaction that enters the mempool, and with `removals` also one that leaves it.',
    data: MempoolEvent,
  },
  stats: {
    about: 'The summary, after each block and at most every five seconds when the mempool has changed.',
    data: StatsSummary,
  },
  'whale-alerts': {
    about: 'A transaction that moves a large amount, once, when it is first seen.',
    data: WhaleAlert,
  },
  reorgs: { about: 'A reorganisation, before the blocks of the new branch.', data: ReorgEvent },
}

/** The events of the channels of addresses, `address:` and an address. */
export const ADDRESS_EVENT: EventDeclaration = {
  about: 'A change of an address, confirmed or not.',
  data: AddressEvent,
}
