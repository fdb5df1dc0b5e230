import { type Static, Type } from '@sinclair/typebox'
import { Amount, flag, Hash, int, Limit, list, oneOf, orNull, OWN_RATE, text, Time } from '../fields.js'

const FullRbf = orNull(
  flag(
    'whether it was replaced although neither it nor an ancestor in the mempool had signalled it (BIP 125); null if it was not replaced, or that is not known',
  ),
)

/** The fields that say when and why a transaction left the mempool without a block. */
export const departureFields = {
  reason: oneOf(['replaced', 'evicted', 'expired', 'unknown'], 'why it left the mempool'),
  left: Time,
  replaced_by: orNull(Hash),
  full_rbf: FullRbf,
}

export const ReplacementMember = Type.Object(
  {
    txid: Hash,
    status: oneOf(
      ['unconfirmed', 'confirmed', 'replaced', 'evicted', 'expired', 'unknown'],
      'where it is now: the mempool, the chain, or why it left the mempool; `unknown` also if nothing else is known of it',
    ),
    fee: orNull(Amount),
    vsize: orNull(int('virtual bytes')),
    fee_rate: orNull(text(OWN_RATE)),
    first_seen: orNull(Time),
    left: orNull(Time),
    replaced_by: orNull(Hash),
    full_rbf: FullRbf,
  },
  { description: 'a transaction that was replaced, or that replaced others' },
)
export type ReplacementMember = Static<typeof ReplacementMember>

export const ReplacementTree = Type.Object({
  txid: Hash,
  items: list(
    ReplacementMember,
    'the transaction that has replaced all others first; each other one after the one in its `replaced_by`',
  ),
  complete: flag('whether the list has all: more than 500 are not searched'),
})
export type ReplacementTree = Static<typeof ReplacementTree>

export const Replacement = Type.Object({ replaced: ReplacementMember, replacement: ReplacementMember })
export type Replacement = Static<typeof Replacement>

export const Replacements = Type.Object({
  items: list(Replacement, 'the last one first'),
  limit: Limit,
  next_cursor: orNull(text('`cursor` of the request that continues this list; null at its end')),
})
export type Replacements = Static<typeof Replacements>
