import { type Static, Type } from '@sinclair/typebox'
import { Amount, Hash, Height, int, list, oneOf, orNull, SignedAmount, text, Time } from './fields.js'

// The shapes of events of the channels of the feed.

export const BlockEvent = Type.Object({ height: Height, hash: Hash, tx_count: int('transactions') })

/** The reason for which a transaction has left the mempool. */
const MempoolRemoval = Type.Object(
  {
    reason: oneOf(
      ['confirmed', 'replaced', 'evicted', 'expired', 'unknown'],
      'a block contains it; another transaction spends the same output; the mempool was full; it was too old; or none of these is certain',
    ),
    block_hash: orNull(text('hash of the block that confirms it')),
    block_height: orNull(int('height of the block that confirms it')),
    replaced_by: orNull(text('txid of the transaction that replaced it, or an ancestor of it')),
  },
  { description: 'why it has left the mempool; absent if it has entered' },
)

export const MempoolEvent = Type.Object({
  txid: Hash,
  fee: Amount,
  vsize: int('virtual bytes'),
  removed: Type.Optional(MempoolRemoval),
})

export const AddressEvent = Type.Object({
  address: text('as in the subscription'),
  status: oneOf(
    ['unconfirmed', 'confirmed', 'removed', 'synced'],
    'the transaction is in the mempool; is in a block; is in neither any more; or all changes up to `seq` have been sent',
  ),
  txid: orNull(Type.String({ description: '64 hexadecimal characters; null for `synced`' })),
  block_height: orNull(int('height of its block; null unless it is confirmed')),
  block_hash: orNull(Hash),
  value_change: orNull(SignedAmount),
  timestamp: orNull(Time),
  unconfirmed: list(Hash, 'for `synced`: the unconfirmed transactions of the address'),
})
export type AddressEvent = Static<typeof AddressEvent>

export const ReorgEvent = Type.Object({
  fork_height: int('height of the newest block that stays'),
  depth: int('blocks disconnected'),
  disconnected: list(Hash, 'hashes of blocks'),
  connected: list(Hash, 'hashes of blocks, lowest first'),
})
