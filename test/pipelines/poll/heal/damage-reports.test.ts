import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { WrongChainError } from '../../../../pipelines/errors.js'
import { LogLostError, SupersededError } from '../../../../pipelines/poll/errors.js'
import { Alert_Kind, CommittedEventSchema } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import { type SwitchLog, WithoutBeginning } from '../../../harness/switch-log.js'
import { forkAt, grow } from '../fake-chain.js'
import { log, newPoller, node, useNodeAndLog } from '../node-and-log.js'
import { chainStory, nodeEvents } from '../read-log.js'

useNodeAndLog()

const bytes = (hash: string | undefined): Buffer => Buffer.from(hash ?? '', 'hex')

const publish = (
  event: NonNullable<MessageInitShape<typeof CommittedEventSchema>['event']>,
): Promise<number> =>
  log.append('committed', [toBinary(CommittedEventSchema, create(CommittedEventSchema, { event }))])

/** Reports damage behind the end of the log, for an index whose chain ends at a height of the node's. */
async function report(height: number): Promise<number> {
  const last = BigInt(await log.last('chain'))
  const index = {
    genesisHash: bytes(node.chain[0]?.hash),
    chain: [bytes(node.chain[height]?.hash)],
    firstHeight: height,
    headPosition: last,
    epoch: 1,
    goodPosition: last,
    seenPosition: last,
  }
  const value = { kind: Alert_Kind.POISON, topic: 'chain', position: last, reason: 'damaged', index }
  return publish({ case: 'alert', value })
}

const epochs = async (): Promise<number> =>
  (await chainStory(log)).filter((line) => line.startsWith('epoch')).length

describe('damage that is reported again', () => {
  it('is repaired again at the same position, each time after a longer wait; at another position at once', async () => {
    node.chain = grow(node.chain, 3)
    let now = 0
    const poller = newPoller({ now: () => now })
    await poller.pollOnce()
    const waits: number[] = []
    for (let time = 0; time < 6; time++) {
      await report(2)
      const from = now
      const before = await epochs()
      for (let polls = 0; (await epochs()) === before && polls < 200; polls++) {
        await poller.pollOnce()
        if ((await epochs()) === before) now += 250
      }
      waits.push(now - from)
      // One report leads to one epoch.
      await poller.pollOnce()
      expect(await epochs()).toBe(before + 1)
    }
    expect(waits[0]).toBe(0)
    expect(waits[5]).toBeGreaterThanOrEqual(8_000)
    const before = await epochs()
    await report(3)
    await poller.pollOnce()
    expect(await epochs()).toBe(before + 1)
    expect(poller.counts.repairs).toBe(7)
  })

  it('is not refused by a poller that exits for another reason', async () => {
    node.chain = grow(node.chain, 3)
    const poller = newPoller({ pollIntervalMs: 1 })
    await poller.pollOnce()
    await report(2)
    await poller.pollOnce()
    await newPoller().pollOnce()
    await expect(poller.run(new AbortController().signal)).rejects.toThrow(SupersededError)
    expect((await nodeEvents(log)).some(({ event }) => event.case === 'repairRefused')).toBe(false)
  })
})

describe("a log that has lost its beginning, and whose last block is not on the node's chain", () => {
  async function lost(depth: number): Promise<SwitchLog> {
    node.chain = grow(node.chain, 30)
    await newPoller().pollOnce()
    const [tip, lowest] = [node.chain.at(-1)?.hash, node.chain[20]?.hash]
    const head = { position: 31n, tipHeight: 30, tipHash: bytes(tip) }
    await publish({ case: 'head', value: { ...head, lowestHeight: 20, lowestHash: bytes(lowest) } })
    node.chain = forkAt(node.chain, 30 - depth, depth + 1)
    return new WithoutBeginning(log, (await log.last('chain')) - 1)
  }

  it('is written again if the node has the blocks that are final in the index', async () => {
    const poller = newPoller({ log: await lost(8) })
    await expect(poller.pollOnce()).rejects.toThrow(LogLostError)
    await poller.pollOnce()
    expect((await chainStory(log)).at(-1)).toBe(`+${node.chain.at(-1)?.hash ?? ''}!`)
    expect(poller.counts.repairs).toBe(1)
  })

  it('is left as it is if the node does not have them: it may be a node of another chain', async () => {
    const poller = newPoller({ log: await lost(25) })
    await expect(poller.pollOnce()).rejects.toThrow(LogLostError)
    const before = await log.last('chain')
    await expect(poller.pollOnce()).rejects.toThrow(WrongChainError)
    await expect(poller.pollOnce()).rejects.toThrow(
      /^the index holds final block 20 [0-9a-f]{64}, the node at \S+ has [0-9a-f]{64} there: .*set NODE_RPC_URL/,
    )
    expect(await log.last('chain')).toBe(before)
  })
})
