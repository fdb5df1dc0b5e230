import { expect, it } from 'vitest'
import { decodeChainEvent, encodeChainEvent } from '../../pipelines/events/chain-event.js'
import { outdatedChain } from './log-faults.js'

it('late events of a superseded poller are of an older epoch, and intact', () => {
  const event = { case: 'blockDisconnected', value: { height: 7, hash: Buffer.alloc(32, 7) } } as const
  const newest = [2, 3, 3].map((epoch, at) => encodeChainEvent({ epoch, sequence: BigInt(at), event }))
  const late = outdatedChain(newest).map(decodeChainEvent)
  expect(late).toMatchObject([
    { epoch: 2, sequence: 1001n, event },
    { epoch: 2, sequence: 1002n, event },
  ])
})
