import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../pipelines/chain/networks.js'
import { parseBlock } from '../../../pipelines/chain/block.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { NodeFaultError } from '../../../pipelines/node/errors.js'
import type { Poller } from '../../../pipelines/poll/poller.js'
import { PoolLeft_Reason } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { blockJson, blockOn, forkAt, grow, tx, type FakeBlock } from './fake-chain.js'
import { until } from '../../harness/until.js'
import { log, newPoller, node, useNodeAndLog } from './node-and-log.js'
import { applyChain, chainEvents, chainStory, hex, mempoolFromLog, nodeEvents, removals } from './read-log.js'

const hashes = (chain: readonly FakeBlock[]): string[] => chain.map((block) => block.hash)

const BACKOFF = { firstMs: 5, maxMs: 40 }

useNodeAndLog()

/** Polls, and checks that the log's chain then equals the node's. */
async function level(poller: Poller): Promise<{ chain: string[]; visible: string[][] }> {
  await poller.pollOnce()
  const applied = await applyChain(log)
  expect(applied.chain).toEqual(hashes(node.chain))
  expect(applied.visible.at(-1)).toEqual(applied.chain)
  return applied
}

describe('an internal error', () => {
  it('ends the poller instead of being retried indefinitely, and one of the node does not', async () => {
    let polls = 0
    const stop = new AbortController()
    const broken = {
      chainInfo: () =>
        Promise.reject(++polls < 3 ? new NodeFaultError('busy', 'later') : new TypeError('ours')),
    }
    const poller = newPoller({ node: broken as unknown as NodeClient, pollIntervalMs: 1 })
    await expect(poller.run(stop.signal)).rejects.toThrow(new TypeError('ours'))
    expect(polls).toBe(3)
  })
})

describe('following a chain', () => {
  it('writes block 0 alone', async () => {
    await level(newPoller())
    expect(await chainStory(log)).toEqual(['epoch 1!', `+${node.chain[0]?.hash}!`])
  })

  it('writes each block complete: its bytes, what it spends, its work', async () => {
    const first = tx()
    const spend = tx(first, tx())
    node.chain = [...grow([], 2)]
    node.chain = [...node.chain, blockOn(node.chain, [first, spend])]
    await level(newPoller())
    const last = (await chainEvents(log)).at(-1)?.event
    if (last?.case !== 'blockConnected') throw new Error('no block')
    const block = parseBlock(last.value.raw, REGTEST)
    expect(block.hash).toBe(node.chain[2]?.hash)
    expect(block.txs.map((each) => each.txid)).toEqual(node.chain[2]?.txs.map((each) => each.txid))
    expect(hex(last.value.chainwork)).toBe(node.chain[2]?.work)
    expect(last.value.prevouts.map(({ value, height }) => [value, height])).toEqual([
      [100_000_000n, 1],
      [100_000_000n, 1],
    ])
  })

  it('fetches several blocks at once and still writes them in order', async () => {
    node.chain = grow(node.chain, 200)
    node.fault = (method) => (method === 'getblock' ? { kind: 'slow', ms: Math.random() * 6 } : undefined)
    await level(newPoller())
    expect(node.maxBlocksAtOnce).toBe(4)
    expect(node.count('getblock')).toBe(201)
    expect(node.count('getblockhash')).toBeLessThan(12)
  })

  it('continues from the end of the log, in a new epoch, without fetching it again', async () => {
    node.chain = grow(node.chain, 150)
    await level(newPoller())
    const fetched = node.count('getblock')
    node.chain = grow(node.chain, 3)
    await level(newPoller())
    expect(node.count('getblock')).toBe(fetched + 3)
    expect((await chainStory(log)).filter((line) => line.startsWith('epoch'))).toEqual([
      'epoch 1!',
      'epoch 2!',
    ])
  })

  it('survives many consecutive starts that wrote nothing', async () => {
    node.chain = grow(node.chain, 3)
    for (let i = 0; i < 150; i++) await newPoller().pollOnce()
    node.chain = forkAt(node.chain, 1, 4)
    await level(newPoller())
    expect((await chainStory(log)).filter((line) => line.startsWith('epoch'))).toHaveLength(151)
  })
})

describe('reorganisations', () => {
  it.each([1, 2, 6, 64, 65, 400])('of depth %i are published in one step', async (depth) => {
    node.chain = grow(node.chain, depth + 5)
    const poller = newPoller()
    await level(poller)
    const old = hashes(node.chain)
    node.chain = forkAt(node.chain, 5, depth + 1)
    const { visible } = await level(poller)
    expect(
      visible.filter((chain) => chain.length < old.length && !old.join().startsWith(chain.join())),
    ).toEqual([])
    expect(visible.slice(-2)).toEqual([old, hashes(node.chain)])
  })

  it('during a downtime of all processes are followed from the log alone, at any depth', async () => {
    node.chain = grow(node.chain, 100)
    await level(newPoller())
    node.chain = forkAt(node.chain, 3, 110)
    await level(newPoller())
    node.chain = forkAt(node.chain, 50, 70)
    await level(newPoller())
  })

  it("back and forth between two branches end at the node's tip", async () => {
    const base = grow(node.chain, 10)
    const a = grow(base, 5)
    const b = grow(base, 6)
    const poller = newPoller()
    for (const chain of [a, b, grow(a, 3), b, a, grow(b, 20)]) {
      node.chain = chain
      await level(poller)
    }
  })

  it('to a shorter branch with more work are followed', async () => {
    node.chain = grow(node.chain, 10)
    const poller = newPoller()
    await level(poller)
    node.chain = forkAt(node.chain, 5, 2, 100n)
    await level(poller)
  })

  it('to a node that has lost blocks are followed down, and up again', async () => {
    const whole = grow(node.chain, 130)
    node.chain = whole
    const poller = newPoller()
    await level(poller)
    node.chain = whole.slice(0, 31)
    const { visible } = await level(poller)
    expect(visible.slice(-2)).toEqual([hashes(whole), hashes(node.chain)])
    node.chain = whole.slice(0, 1)
    await level(poller)
    node.chain = whole
    await level(newPoller())
  })

  it('during backfill are detected by the block that does not fit', async () => {
    const old = grow(node.chain, 120)
    const other = forkAt(old, 40, 90)
    node.chain = old
    let served = 0
    node.fault = (method) => {
      if (method === 'getblock' && ++served === 70) node.chain = other
      return undefined
    }
    await level(newPoller())
    expect((await chainStory(log)).filter((line) => line.startsWith('-')).length).toBeGreaterThan(0)
  })

  it('during backfill to a node that is then shorter are followed', async () => {
    const old = grow(node.chain, 120)
    node.chain = old
    let served = 0
    node.fault = (method) => {
      if (method === 'getblock' && ++served === 70) node.chain = old.slice(0, 30)
      return undefined
    }
    await level(newPoller())
  })

  it('to a branch whose last block the node takes back are published without a further block', async () => {
    node.chain = grow(node.chain, 20)
    const poller = newPoller({ inFlight: 1 })
    await level(poller)
    const sameWork = forkAt(node.chain, 10, 10)
    node.chain = grow(sameWork, 1)
    const taken = node.chain.at(-1)?.hash
    const error = { code: -5, message: 'Block not found' }
    node.fault = (method, [hash]) => {
      if (method !== 'getblock' || hash !== taken) return undefined
      node.chain = sameWork
      return { kind: 'status', status: 500, body: JSON.stringify({ id: 0, result: null, error }) }
    }
    await level(poller)
    const last = sameWork.at(-1)?.hash
    expect((await chainStory(log)).slice(-2)).toEqual([`+${last}`, 'epoch 2!'])
    // A start reads that the state is settled: less work than its is not published on the way to another branch.
    node.chain = forkAt(sameWork, 15, 6)
    const { visible } = await level(newPoller())
    expect(visible.slice(-3).map((chain) => chain.length)).toEqual([21, 21, 22])
  })

  it('that a crash interrupted are not published until a later start has completed them', async () => {
    node.chain = grow(node.chain, 20)
    await level(newPoller())
    const old = hashes(node.chain)
    const end = await log.last('chain')
    node.chain = forkAt(node.chain, 10, 12)
    const seventh = node.chain[17]?.hash
    // The node fails permanently at the 17th block; so does the poller, after it has written an epoch, ten
    // disconnected blocks and six connected ones.
    const stop = new AbortController()
    node.fault = (method, [hash]) =>
      method === 'getblock' && hash === seventh ? { kind: 'hang' } : undefined
    void until('all is written', async () => (await log.last('chain')) >= end + 17).then(() => {
      stop.abort()
    })
    await expect(newPoller({ inFlight: 1 }).pollOnce(stop.signal)).rejects.toThrow()
    const between = await applyChain(log)
    expect(between.chain.length).toBeLessThan(old.length)
    expect(between.visible.at(-1)).toEqual(old)
    node.fault = () => undefined
    const { visible } = await level(newPoller())
    // With the 22nd block the new branch has more work than the old one.
    expect(visible.slice(-3).map((chain) => chain.length)).toEqual([21, 22, 23])
    expect(visible.at(-3)).toEqual(old)
  })
})

describe('the poller refuses', () => {
  it('a node with another block 0, on start and later', async () => {
    node.chain = grow(node.chain, 5)
    const poller = newPoller()
    await level(poller)
    const before = await chainStory(log)
    const beats = await log.last('node')
    node.chain = grow([], 9)
    await expect(poller.pollOnce()).rejects.toThrow(
      /followed chain btq-regtest .* and now .* set NODE_RPC_URL/,
    )
    await expect(newPoller().run(new AbortController().signal)).rejects.toThrow(
      /the log contains chain btq-regtest/,
    )
    expect(await chainStory(log)).toEqual(before)
    expect(await log.last('node')).toBe(beats)
  })

  it('a node on another network than the configuration or the log', async () => {
    await expect(newPoller({ chain: 'btq-main' }).pollOnce()).rejects.toThrow(/chain that is not known/)
    await level(newPoller())
    node.chainName = 'test'
    await expect(newPoller({ chain: 'btq-test' }).pollOnce()).rejects.toThrow(
      /the log contains chain btq-regtest .* follows btq-test/,
    )
  })

  it('to write after a newer poller has started', async () => {
    const older = newPoller()
    await level(older)
    const newer = newPoller()
    await level(newer)
    node.chain = grow(node.chain, 1)
    await expect(older.run(new AbortController().signal)).rejects.toThrow(
      /another poller writes to this log: its epoch 2/,
    )
    await level(newer)
    expect(await chainStory(log)).toHaveLength(4)
  })

  it('one of two that start at once: they take two epochs, and one of them continues', async () => {
    node.chain = grow(node.chain, 30)
    const results = await Promise.allSettled([
      newPoller().pollOnce(),
      newPoller().pollOnce(),
      newPoller().pollOnce(),
    ])
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    await level(newPoller())
  })
})

describe('a node that fails', () => {
  it('gets its requests again until it answers, and nothing is skipped', async () => {
    node.chain = grow(node.chain, 60)
    const faults = [
      { kind: 'status', status: 503 },
      { kind: 'status', status: 500, body: 'Work queue depth exceeded' },
      { kind: 'reset' },
      { kind: 'truncate' },
      { kind: 'hang' },
      { kind: 'result', result: { nonsense: true } },
    ] as const
    let requested = 0
    node.fault = () => (++requested % 9 === 0 ? faults[(requested / 9) % faults.length] : undefined)
    const impatient = new NodeClient(node.url, { timeoutMs: 300, backoff: BACKOFF })
    await level(newPoller({ node: impatient }))
    impatient.close()
    expect(requested).toBeGreaterThan(70)
  })

  it('that returns a block with wrong merkle root, header or prevouts gets the request again; the block is never stored', async () => {
    const spent = tx()
    node.chain = [...grow(node.chain, 3)]
    node.chain = [...node.chain, blockOn(node.chain, [spent, tx(spent)])]
    const poller = newPoller()
    let lies = 0
    node.fault = (method, [hash]) => {
      const block = node.chain.find((each) => each.hash === hash)
      if (method !== 'getblock' || block?.height !== 4 || lies >= 4) return undefined
      const json = blockJson(block) as { tx: { vin: { prevout?: unknown }[] }[] }
      lies++
      if (lies === 1) return { kind: 'result', result: { ...json, tx: json.tx.slice(0, 2) } }
      if (lies === 2) return { kind: 'result', result: { ...json, nonce: 1 } }
      if (lies === 3) return { kind: 'result', result: blockJson(node.chain[3] ?? block) }
      delete json.tx[2]?.vin[0]?.prevout
      return { kind: 'result', result: json }
    }
    await level(poller)
    expect(lies).toBe(4)
  })

  it('that keeps returning a wrong block ends the poll with the reason, and the blocks before it are kept', async () => {
    node.chain = grow(node.chain, 9)
    node.fault = (method, [hash]) => {
      const block = node.chain.find((each) => each.hash === hash)
      if (method !== 'getblock' || block?.height !== 5) return undefined
      return { kind: 'result', result: { ...blockJson(block), time: block.time + 1 } }
    }
    const poller = newPoller()
    await expect(poller.pollOnce()).rejects.toThrow(/its header hashes to/)
    expect((await applyChain(log)).chain).toEqual(hashes(node.chain).slice(0, 5))
    node.fault = () => undefined
    await level(poller)
    expect((await chainStory(log)).filter((line) => line.startsWith('epoch'))).toHaveLength(1)
  })

  it('whose tip has no known parent is not followed indefinitely', async () => {
    const poller = newPoller()
    await level(poller)
    node.fault = (method) =>
      method === 'getblockchaininfo'
        ? { kind: 'result', result: { chain: 'regtest', blocks: 7, bestblockhash: 'ab'.repeat(32) } }
        : undefined
    await expect(poller.pollOnce()).rejects.toThrow(/reports a tip that its blocks do not lead to/)
  })

  it('leads to no heartbeat while it does not answer, and to one for each poll when it does', async () => {
    const stop = new AbortController()
    const running = newPoller({ pollIntervalMs: 20 }).run(stop.signal)
    await log.wait('node', 5, 60_000)
    let refused = 0
    node.fault = () => {
      refused++
      return { kind: 'status', status: 503 }
    }
    // Earlier answers have been written when the poller sends its next request.
    await until('it is refused', () => refused > 0)
    const before = await log.last('node')
    await until('it is refused again and again', () => refused > 10)
    expect(await log.last('node')).toBe(before)
    node.fault = () => undefined
    await log.wait('node', before + 2, 60_000)
    stop.abort()
    await running
    const beats = (await nodeEvents(log)).filter(({ event }) => event.case === 'heartbeat')
    expect(beats.at(-1)?.event.value).toMatchObject({ nodeHeight: 0, pollIntervalMs: 20 })
    expect(beats.at(-1)?.chainPosition).toBe(await log.last('chain').then(BigInt))
  })

  it('is reported alive during a long backfill', async () => {
    node.chain = grow(node.chain, 60)
    const positions = async (): Promise<number[]> =>
      (await nodeEvents(log)).flatMap(({ event, chainPosition }) =>
        event.case === 'heartbeat' ? [Number(chainPosition)] : [],
      )
    // At most ten more blocks before there is a heartbeat at a new position.
    node.fault = (method, [hash]) => {
      const height = node.chain.findIndex((block) => block.hash === hash)
      const beats = Math.floor(height / 10)
      return method === 'getblock' && beats > 0
        ? { kind: 'after', ready: until('a heartbeat', async () => new Set(await positions()).size >= beats) }
        : undefined
    }
    await newPoller({ pollIntervalMs: 40 }).pollOnce()
    const beats = await positions()
    expect(new Set(beats).size).toBeGreaterThanOrEqual(6)
    expect(beats).toEqual([...beats].sort((a, b) => a - b))
  })
})

describe('the mempool', () => {
  it('is written with bytes, fee and time, and counted', async () => {
    const a = tx(tx())
    const b = tx(a)
    node.enter(a, 0.00000123, 1_800_000_005)
    node.enter(b, 21, 1_800_000_001)
    await newPoller().pollOnce()
    const [snapshot, delta] = (await nodeEvents(log))
      .filter(({ event }) => event.case !== 'heartbeat')
      .map(({ event }) => event)
    expect(snapshot).toMatchObject({
      case: 'poolSnapshot',
      value: { part: 0, parts: 1, enteredBefore: 0n, entries: [] },
    })
    if (delta?.case !== 'poolDelta') throw new Error('no delta')
    expect(delta.value.entered.map(({ txid, fee, firstSeen }) => [hex(txid), fee, firstSeen])).toEqual([
      [b.txid, 2_100_000_000n, 1_800_000_001],
      [a.txid, 123n, 1_800_000_005],
    ])
    expect(Buffer.from(delta.value.entered[1]?.raw ?? []).equals(a.raw)).toBe(true)
  })

  it('loses transactions as confirmed, replaced (in the mempool, by a block, or an ancestor), or evicted', async () => {
    const [coinA, coinB, coinC, coinD] = [tx(), tx(), tx(), tx()]
    const [confirmed, replaced, outdone, evicted] = [tx(coinA), tx(coinB), tx(coinC), tx(coinD)]
    const child = tx(replaced)
    for (const each of [confirmed, replaced, outdone, evicted, child]) node.enter(each)
    const poller = newPoller()
    await poller.pollOnce()
    const replacement = tx(coinB)
    const winner = tx(coinC)
    node.mempool.clear()
    node.enter(replacement)
    node.chain = [...node.chain, blockOn(node.chain, [confirmed, winner])]
    node.relayFees.mempoolminfee = 0.00002
    await poller.pollOnce()
    expect((await removals(log)).sort()).toEqual(
      [
        [confirmed.txid, PoolLeft_Reason.CONFIRMED, node.chain[1]?.hash],
        [replaced.txid, PoolLeft_Reason.REPLACED, replacement.txid],
        [outdone.txid, PoolLeft_Reason.REPLACED, winner.txid],
        [evicted.txid, PoolLeft_Reason.EVICTED, ''],
        [child.txid, PoolLeft_Reason.REPLACED, replacement.txid],
      ].sort(),
    )
    expect(await mempoolFromLog(log)).toEqual(new Set([replacement.txid]))
  })

  it('contains a transaction again after a reorganisation, until the block that contains it in the end', async () => {
    const spend = tx(tx())
    const base = grow(node.chain, 3)
    node.chain = base
    node.enter(spend)
    const poller = newPoller()
    await poller.pollOnce()
    node.mempool.clear()
    node.chain = [...base, blockOn(base, [spend])]
    await poller.pollOnce()
    node.chain = grow(base, 2)
    node.enter(spend)
    await poller.pollOnce()
    expect(await mempoolFromLog(log)).toEqual(new Set([spend.txid]))
    node.mempool.clear()
    const stale = [...node.chain, blockOn(node.chain, [spend])]
    node.chain = [...grow(node.chain, 1)]
    node.chain = [...node.chain, blockOn(node.chain, [spend])]
    expect(stale).toHaveLength(node.chain.length - 1)
    await poller.pollOnce()
    expect((await removals(log)).map(([, reason, by]) => [reason, by])).toEqual([
      [PoolLeft_Reason.CONFIRMED, (await chainStory(log)).find((line) => line.startsWith('-'))?.slice(1, 65)],
      [PoolLeft_Reason.CONFIRMED, node.chain.at(-1)?.hash],
    ])
  })

  // Chaos, seed 1, "power cut": readers took transactions of the lost blocks for unconfirmed, for as long as nothing
  // entered.
  it('is written after a reorganisation, and after a start, even if nothing in it has changed', async () => {
    const reported = async (): Promise<[position: number, changed: number][]> =>
      (await nodeEvents(log)).flatMap(({ chainPosition, event }) =>
        event.case === 'poolDelta'
          ? [[Number(chainPosition), event.value.entered.length + event.value.left.length]]
          : [],
      )
    const base = grow(node.chain, 3)
    node.chain = [...base, blockOn(base, [tx(tx())])]
    const poller = newPoller()
    await poller.pollOnce()
    await poller.pollOnce()
    node.chain = grow(base, 2)
    await poller.pollOnce()
    const end = await log.last('chain')
    await poller.pollOnce()
    expect(await reported()).toEqual([
      [expect.any(Number), 0],
      [end, 0],
    ])
    await newPoller().pollOnce()
    expect((await reported()).at(-1)).toEqual([end + 1, 0])
  })

  it('is continued after a restart, and what confirmed a transaction is known although the poller died in between', async () => {
    const [kept, confirmed] = [tx(tx()), tx(tx())]
    node.enter(kept)
    node.enter(confirmed)
    await newPoller().pollOnce()
    node.mempool.delete(confirmed.txid)
    node.chain = [...node.chain, blockOn(node.chain, [confirmed])]
    const stop = new AbortController()
    node.fault = (method) => {
      if (method !== 'getrawmempool') return undefined
      stop.abort()
      return { kind: 'hang' }
    }
    await expect(newPoller().pollOnce(stop.signal)).rejects.toThrow()
    node.fault = () => undefined
    const raws = node.count('getrawtransaction')
    await newPoller().pollOnce()
    expect(await removals(log)).toEqual([[confirmed.txid, PoolLeft_Reason.CONFIRMED, node.chain[1]?.hash]])
    expect(node.count('getrawtransaction')).toBe(raws)
    expect(await mempoolFromLog(log)).toEqual(new Set([kept.txid]))
  })

  // Chaos, seed 12, "late poller": explorers waited for a head at the position of an event from which no head is ever
  // made.
  it('is written with the position of a valid event, whatever a superseded poller wrote after it', async () => {
    await newPoller().pollOnce()
    const poller = newPoller()
    await poller.pollOnce()
    const own = await log.last('chain')
    const [late] = await log.read('chain', 1, 1)
    await log.append('chain', [late?.value ?? Buffer.alloc(0)])
    node.enter(tx(tx()))
    await poller.pollOnce()
    const seen = (await nodeEvents(log)).filter(({ event }) => event.case === 'poolDelta').at(-1)
    expect(Number(seen?.chainPosition)).toBe(own)
  })

  // Chaos, seed 12, "delivered twice": the feed's numbers had a gap after the next start.
  it('ignores the duplicates of a retry in its counts', async () => {
    for (let count = 0; count < 3; count++) {
      node.enter(tx(tx()))
      await newPoller().pollOnce()
    }
    const retried = await log.read('node', 0, 100)
    await log.append(
      'node',
      retried.map(({ value }) => value),
    )
    node.enter(tx(tx()))
    await newPoller().pollOnce()
    const counts = (await nodeEvents(log)).flatMap(({ event }) =>
      event.case === 'poolDelta' ? [event.value.enteredBefore] : [],
    )
    expect(counts).toEqual([0n, 1n, 2n, 0n, 1n, 2n, 3n])
  })

  it('omits a transaction that vanished before its bytes were fetched, and includes it when it is back', async () => {
    const [here, gone] = [tx(tx()), tx(tx())]
    node.enter(here)
    node.enter(gone)
    node.fault = (method) => {
      if (method === 'getrawtransaction') node.mempool.delete(gone.txid)
      return undefined
    }
    const poller = newPoller()
    await poller.pollOnce()
    expect(await mempoolFromLog(log)).toEqual(new Set([here.txid]))
    node.fault = () => undefined
    node.enter(gone)
    await poller.pollOnce()
    expect(await mempoolFromLog(log)).toEqual(new Set([here.txid, gone.txid]))
  })

  it('is not read while the node is at another block than the log', async () => {
    const [early, late] = [tx(tx()), tx(tx())]
    node.enter(early)
    node.fault = (method) => {
      if (method === 'getrawmempool' && node.chain.length === 1) {
        node.chain = grow(node.chain, 1)
        node.mempool.clear()
        node.enter(late)
      }
      return undefined
    }
    await level(newPoller())
    const deltas = (await nodeEvents(log)).filter(({ event }) => event.case === 'poolDelta')
    expect(deltas.map(({ chainPosition }) => Number(chainPosition))).toEqual([2])
    expect(await mempoolFromLog(log)).toEqual(new Set([late.txid]))
  })

  it('of thousands is written in events of bounded size, and so are its snapshots', async () => {
    for (let i = 0; i < 4500; i++) node.enter(tx(tx(), tx(), tx(), tx(), tx()))
    const poller = newPoller()
    await poller.pollOnce()
    const events = await nodeEvents(log)
    const deltas = events.flatMap(({ event }) => (event.case === 'poolDelta' ? [event.value] : []))
    expect(deltas.length).toBeGreaterThan(3)
    let before = 0n
    for (const { enteredBefore, entered } of deltas) {
      expect(enteredBefore).toBe(before)
      before += BigInt(entered.length)
    }
    expect(await mempoolFromLog(log)).toEqual(new Set(node.mempool.keys()))
    for (const { value } of await log.read('node', 0, 1000)) expect(value.length).toBeLessThan(600 * 1024)
  })
})
