import { describe, expect, it } from 'vitest'
import { parseTx, serializeTx } from '../../../../pipelines/chain/transaction.js'
import { PoolLeft_Reason } from '../../../../proto/gen/headwater/events/v1/events_pb.js'
import { blockOn, type FakeTx, tx } from '../fake-chain.js'
import { log, newPoller, node, useNodeAndLog } from '../node-and-log.js'
import { hex, nodeEvents, removals } from '../read-log.js'

useNodeAndLog()

/** Returns a transaction that spends another one, with a sequence. */
function spending(parent: FakeTx, sequence: number): FakeTx {
  const { inputs, prevouts, ...rest } = tx(parent)
  const raw = serializeTx({ ...rest, inputs: inputs.map((input) => ({ ...input, sequence })) }, false)
  return { ...parseTx(raw), raw, prevouts }
}

describe('the poller', () => {
  it('reports transactions lost for an unknown reason if the node does not require higher fees than it relays', async () => {
    for (const relayFees of [node.relayFees, { mempoolminfee: 0.00009 }]) {
      node.relayFees = relayFees
      const lost = tx(tx())
      node.enter(lost)
      const poller = newPoller()
      await poller.pollOnce()
      node.mempool.clear()
      await poller.pollOnce()
      expect((await removals(log)).at(-1)).toEqual([lost.txid, PoolLeft_Reason.UNKNOWN, ''])
    }
  })

  it('reports transactions lost by age, by the clock of the node, with their descendants', async () => {
    const old = tx(tx())
    const child = tx(old)
    const hours = 3_600
    node.enter(old, 0.00001, 1_000_000_000)
    node.enter(child, 0.00001, 1_000_000_000 + 300 * hours)
    const poller = newPoller({ expiryHours: 336 })
    await poller.pollOnce()
    node.mempool.clear()
    node.enter(tx(tx()), 0.00001, 1_000_000_000 + 336 * hours + 1)
    await poller.pollOnce()
    expect(new Map((await removals(log)).map(([txid, reason]) => [txid, reason]))).toEqual(
      new Map([
        [old.txid, PoolLeft_Reason.EXPIRED],
        [child.txid, PoolLeft_Reason.EXPIRED],
      ]),
    )
  })

  it('records transactions that a block confirms within one interval, and numbers all that enter and leave', async () => {
    const [seen, late] = [tx(tx()), tx(tx())]
    const spent = { ...late, prevouts: [{ ...late.prevouts[0]!, value: 100_000_700n }] }
    const poller = newPoller()
    // What a poller finds at its start has not passed through.
    node.chain = [...node.chain, blockOn(node.chain, [tx(tx())])]
    await poller.pollOnce()
    node.enter(seen)
    await poller.pollOnce()
    node.mempool.clear()
    node.chain = [...node.chain, blockOn(node.chain, [seen, spent])]
    node.enter(tx(tx()))
    await poller.pollOnce()
    const block = node.chain.at(-1)!
    const deltas = async () =>
      (await nodeEvents(log)).flatMap(({ event }) => (event.case === 'poolDelta' ? [event.value] : []))
    const delta = (await deltas()).at(-1)!
    expect(
      delta.passed.map(({ txid, fee, vsize, block, blockHeight }) => [
        hex(txid),
        fee,
        vsize,
        hex(block),
        blockHeight,
      ]),
    ).toEqual([[late.txid, 700n, late.raw.length, block.hash, 2]])
    expect(delta.left).toMatchObject([{ fee: 1_000n, vsize: seen.raw.length, blockHeight: 2 }])
    expect([delta.enteredBefore, delta.leftBefore]).toEqual([1n, 0n])
    // A block of another branch may repeat those of the first one: they are no news.
    node.chain = [...node.chain.slice(0, 2), blockOn(node.chain.slice(0, 2), [seen, spent, tx(tx())], 9n)]
    await poller.pollOnce()
    node.chain = [...node.chain, blockOn(node.chain, [tx(tx())])]
    await newPoller().pollOnce()
    const later = (await deltas()).slice(-2)
    expect(later.map(({ passed }) => passed)).toEqual([[], []])
    // With the one that entered at last.
    expect(later.map(({ enteredBefore, leftBefore }) => [enteredBefore, leftBefore])).toEqual([
      [3n, 2n],
      [3n, 2n],
    ])
  })

  it('records what leaves without a block as a whole, and whether it or an ancestor signalled a replacement', async () => {
    const [signalling, silent] = [0xffff_fffd, 0xffff_fffe]
    const funding = [tx(), tx(), tx()]
    const parents = funding.map((each, index) => spending(each, index === 0 ? signalling : silent))
    const children = parents.map((parent) => spending(parent, silent))
    const confirmed = spending(tx(), signalling)
    for (const [index, each] of [...parents, ...children, confirmed].entries())
      node.enter(each, 0.00001, 1_700_000_000 + index)
    const poller = newPoller()
    await poller.pollOnce()
    node.mempool.clear()
    // Nothing shows why the last one left.
    for (const each of funding.slice(0, 2)) node.enter(tx(each), 0.00001, 1_700_000_100)
    node.chain = [...node.chain, blockOn(node.chain, [confirmed])]
    await poller.pollOnce()
    const left = (await nodeEvents(log)).flatMap(({ event }) =>
      event.case === 'poolDelta' ? event.value.left : [],
    )
    const figures = left.map(({ txid, raw, firstSeen, signalled }) => [
      hex(txid),
      { raw: hex(raw), firstSeen, signalled },
    ])
    const seen = (index: number, { raw }: FakeTx, signalled?: boolean) => {
      return { raw: hex(raw), firstSeen: 1_700_000_000 + index, signalled }
    }
    expect(Object.fromEntries(figures)).toEqual({
      [parents[0]!.txid]: seen(0, parents[0]!, true),
      [parents[1]!.txid]: seen(1, parents[1]!, false),
      [parents[2]!.txid]: seen(2, parents[2]!),
      [children[0]!.txid]: seen(3, children[0]!, true),
      [children[1]!.txid]: seen(4, children[1]!, false),
      [children[2]!.txid]: seen(5, children[2]!),
      [confirmed.txid]: { raw: '', firstSeen: 1_700_000_006, signalled: undefined },
    })
  })

  it('records the fee rates that the node requires, with each heartbeat', async () => {
    const poller = newPoller()
    await poller.pollOnce()
    node.relayFees = { mempoolminfee: 0.000001, minrelaytxfee: 0.000001 }
    await poller.pollOnce()
    const fees = (await nodeEvents(log)).flatMap(({ event }) =>
      event.case === 'heartbeat' ? [event.value.relayFees] : [],
    )
    expect(fees).toMatchObject([
      { mempoolMin: 1_000n, minRelay: 1_000n, incremental: 1_000n },
      { mempoolMin: 100n, minRelay: 100n },
    ])
    expect(fees.at(-1)?.incremental).toBeUndefined()
  })
})
