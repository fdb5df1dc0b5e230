import { beforeEach, describe, expect, it } from 'vitest'
import type { Poller } from '../../../../pipelines/poll/poller.js'
import { blockOn, type FakeTx, forkAt, grow, tx } from '../fake-chain.js'
import { log, newPoller, node, useNodeAndLog } from '../node-and-log.js'
import { mempoolFromLog } from '../read-log.js'

const MINUTE = 60_000

let poller: Poller
let now = 0

useNodeAndLog()
beforeEach(() => {
  poller = newPoller({ now: () => now })
})

/** The number of times that a poll listed the whole mempool, after which the log's equals the node's. */
async function listed(): Promise<number> {
  const before = node.count('getrawmempool')
  await poller.pollOnce()
  expect(await mempoolFromLog(log)).toEqual(new Set(node.mempool.keys()))
  return node.count('getrawmempool') - before
}

/** Replaces one transaction by another of the same size, fee and time: getmempoolinfo stays as it was. */
function swap(old: FakeTx): FakeTx {
  const other = tx(tx())
  expect(other.raw.length).toBe(old.raw.length)
  node.mempool.delete(old.txid)
  node.enter(other)
  return other
}

describe('the mempool', () => {
  it('is not listed while nothing indicates a change', async () => {
    node.enter(tx(tx()))
    expect(await listed()).toBe(1)
    now += MINUTE - 1
    const before = node.calls.length
    expect(await listed()).toBe(0)
    expect(node.calls.slice(before).map(({ method }) => method)).toEqual([
      'getblockchaininfo',
      'getmempoolinfo',
    ])
  })

  it('is compared if its size or fees have changed, and only new transactions are fetched', async () => {
    node.enter(tx(tx()))
    await listed()
    const late = tx(tx())
    node.enter(late)
    const before = node.calls.length
    expect(await listed()).toBe(1)
    const fetched = node.calls.slice(before).filter(({ method }) => /entry|rawtransaction/.test(method))
    expect(fetched.map(({ method, params }) => [method, params[0]])).toEqual([
      ['getmempoolentry', late.txid],
      ['getrawtransaction', late.txid],
    ])
    node.mempool.delete(late.txid)
    expect(await listed()).toBe(1)
    expect(await listed()).toBe(0)
  })

  it('is compared once a minute, because equal figures prove nothing', async () => {
    const old = tx(tx())
    node.enter(old)
    await listed()
    now += MINUTE - 1
    const other = swap(old)
    await poller.pollOnce()
    // Nothing can reveal this change.
    expect(await mempoolFromLog(log)).toEqual(new Set([old.txid]))
    now += 1
    expect(await listed()).toBe(1)
    expect(await mempoolFromLog(log)).toEqual(new Set([other.txid]))
    now += MINUTE - 1
    expect(await listed()).toBe(0)
    now += 1
    expect(await listed()).toBe(1)
  })

  it('is compared at every new tip, and after a block was disconnected', async () => {
    let last = tx(tx())
    node.enter(last)
    await listed()
    node.chain = grow(node.chain, 2)
    last = swap(last)
    expect(await listed()).toBe(1)
    // Another block at the tip, with a mempool of the same figures.
    node.chain = forkAt(node.chain, 1, 1)
    swap(last)
    expect(await listed()).toBe(1)
  })

  it('is compared at the next poll if something was omitted, although its figures are the same', async () => {
    const [here, shy] = [tx(tx()), tx(tx())]
    node.enter(here)
    node.enter(shy)
    node.fault = (method) => {
      if (method === 'getrawtransaction') node.mempool.delete(shy.txid)
      return undefined
    }
    await poller.pollOnce()
    expect(await mempoolFromLog(log)).toEqual(new Set([here.txid]))
    node.fault = () => undefined
    node.enter(shy)
    expect(await listed()).toBe(1)
  })

  it('is fetched in requests of bounded number and size', async () => {
    for (let i = 0; i < 250; i++) node.enter(tx(tx()))
    await poller.pollOnce()
    expect(node.count('getmempoolentry')).toBe(3)
    expect(node.count('getrawtransaction')).toBe(3)
    node.sizes.length = 0
    // As large as a standard transaction may be.
    node.weight = 400_000
    for (let i = 0; i < 100; i++) node.enter(tx(tx()))
    expect(await listed()).toBe(1)
    const raws = node.sizes.filter(({ method }) => method === 'getrawtransaction')
    expect(raws.map(({ calls }) => calls)).toEqual(Array.from({ length: 50 }, () => 2))
  })

  it('of thousands is listed twice, however many polls it takes', async () => {
    for (let i = 0; i < 6500; i++) node.enter(tx(tx()))
    expect(await listed()).toBe(2)
  })

  it('is listed again if a block arrived while thousands were fetched, and nothing is lost', async () => {
    const txs = Array.from({ length: 4500 }, () => tx(tx()))
    for (const each of txs) node.enter(each)
    const mined = txs[4400] ?? tx()
    node.fault = (method, [txid]) => {
      if (method === 'getmempoolentry' && txid === txs[2000]?.txid && node.chain.length === 1) {
        node.chain = [...node.chain, blockOn(node.chain, [mined])]
        node.mempool.delete(mined.txid)
      }
      return undefined
    }
    await poller.pollOnce()
    expect(node.chain).toHaveLength(2)
    expect(await mempoolFromLog(log)).toEqual(new Set(node.mempool.keys()))
  })
})
