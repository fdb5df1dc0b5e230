import type { Head } from '../../pipelines/tables/head.js'

/** Returns a head without changes of the chain. @param fields what differs from the head of two blocks that the first writer wrote. */
export function headWith(fields: Partial<Head> = {}): Head {
  return {
    position: 3,
    previous: -1,
    chain: 'btq-regtest',
    tipHeight: 1,
    tipHash: 'ab'.repeat(32),
    finalHeight: -1,
    epoch: 1,
    sequence: 3n,
    disconnected: [],
    connected: [],
    blocksBefore: 0,
    reorgsBefore: 0,
    writtenAt: 1,
    writer: 0n,
    reached: false,
    ...fields,
  }
}
