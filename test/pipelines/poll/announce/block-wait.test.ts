import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BlockWait } from '../../../../pipelines/poll/announce/block-wait.js'
import { until } from '../../../harness/until.js'
import { grow, tx } from '../fake-chain.js'
import { log, newPoller, node, useNodeAndLog } from '../node-and-log.js'
import { applyChain, mempoolFromLog } from '../read-log.js'

/** Longer than any test: what is in the log earlier was announced. */
const HOUR = 3_600_000

useNodeAndLog()

const reasons: unknown[] = []
const note = (fields: object): void => {
  if ('reason' in fields) reasons.push(fields.reason)
}
const logger = { debug: note, info: note, warn: note, error: note }

let stop: AbortController
let running: Promise<void>[]

beforeEach(() => {
  reasons.length = 0
  stop = new AbortController()
  running = []
})
afterEach(async () => {
  stop.abort()
  await Promise.all(running)
})

/** Starts a poller that waits for blocks. @returns the promise of its end. */
function run(pollIntervalMs: number, waitMs = 20, signal = stop.signal): Promise<void> {
  const announcements = [new BlockWait({ url: node.url, logger, waitMs })]
  const ended = newPoller({ pollIntervalMs, announcements }).run(signal)
  running.push(ended)
  return ended
}

const isLevel = async (): Promise<boolean> => (await applyChain(log)).chain.length === node.chain.length

describe('waitfornewblock', () => {
  it('brings blocks into the log before the next poll is due, one by one and several at once', async () => {
    node.hasBlockWait = true
    void run(HOUR)
    for (const count of [1, 1, 3, 1]) {
      await until('the poller waits', () => node.waits === 1)
      node.chain = grow(node.chain, count)
      await until('the blocks are in the log', isLevel)
    }
    expect(node.maxWaitsAtOnce).toBe(1)
  })

  it('brings a reorganisation into the log', async () => {
    node.hasBlockWait = true
    node.chain = grow(node.chain, 5)
    void run(HOUR)
    await until('the poller waits', () => node.waits === 1)
    node.chain = grow(node.chain.slice(0, 3), 4)
    await until('the branch is in the log', async () => {
      return (await applyChain(log)).visible.at(-1)?.at(-1) === node.chain.at(-1)?.hash
    })
  })

  it('does not replace regular polls, which find transactions', async () => {
    node.hasBlockWait = true
    void run(15)
    await until('the poller waits', () => node.waits === 1)
    const entered = tx(tx())
    node.enter(entered)
    await until('it is in the log', async () => (await mempoolFromLog(log)).has(entered.txid))
  })

  it('occupies one thread at most, although processes end during a call and others start', async () => {
    node.hasBlockWait = true
    for (let start = 0; start < 4; start++) {
      const own = new AbortController()
      const ended = run(HOUR, 200, own.signal)
      await until('it waits', () => node.waits > 0)
      own.abort()
      await ended
    }
    void run(HOUR, 200)
    const calls = node.count('waitfornewblock')
    await until('it has waited again', () => node.count('waitfornewblock') > calls + 2)
    expect(node.maxWaitsAtOnce).toBe(1)
  })

  it('is not called during a backfill', async () => {
    node.hasBlockWait = true
    node.chain = grow(node.chain, 60)
    const waits: number[] = []
    node.fault = (method) => {
      if (method !== 'getblock') return undefined
      waits.push(node.count('waitfornewblock'))
      return { kind: 'slow', ms: 3 }
    }
    void run(HOUR, 1)
    await until('the poller waits', () => node.count('waitfornewblock') > 0)
    expect(await isLevel()).toBe(true)
    expect(new Set(waits)).toEqual(new Set([0]))
  })

  it('is aborted when the poller stops, which does not wait for the node', async () => {
    node.hasBlockWait = true
    const ended = run(HOUR, 2_000)
    await until('it waits', () => node.waits === 1)
    stop.abort()
    await ended
    expect(node.waits).toBe(1)
  })
})

describe('without waitfornewblock', () => {
  it.each([
    ['a node that does not have it', () => undefined, /error -32601/],
    [
      'a node that denies it',
      (method: string) =>
        method === 'waitfornewblock' ? ({ kind: 'status', status: 403 } as const) : undefined,
      /HTTP 403/,
    ],
    [
      'a proxy that answers without waiting',
      (method: string) =>
        method === 'waitfornewblock'
          ? ({ kind: 'result', result: { hash: 'ab'.repeat(32), height: 1 } } as const)
          : undefined,
      /without waiting/,
    ],
  ])('%s is polled, and not called again', async (_, fault, reason) => {
    node.fault = fault
    void run(15, 20)
    await until('it is reported', () => reasons.length > 0)
    expect(reasons).toEqual([expect.stringMatching(reason)])
    const calls = node.count('waitfornewblock')
    node.chain = grow(node.chain, 2)
    await until('the blocks are in the log', isLevel)
    const polls = node.count('getblockchaininfo')
    await until('it is polled again', () => node.count('getblockchaininfo') > polls + 5)
    expect(node.count('waitfornewblock')).toBe(calls)
  })

  it('an error is retried, and blocks are found by polling meanwhile', async () => {
    node.hasBlockWait = true
    let failures = 0
    node.fault = (method) => {
      if (method !== 'waitfornewblock' || failures >= 3) return undefined
      failures++
      return failures === 1 ? { kind: 'reset' } : { kind: 'status', status: 503 }
    }
    void run(15, 10)
    await until('it has failed', () => failures > 0)
    node.chain = grow(node.chain, 1)
    await until('the block is in the log', isLevel)
    await until(
      'the call after the failures waits',
      () => node.count('waitfornewblock') > 3 && node.waits === 1,
    )
    expect(failures).toBe(3)
    expect(reasons).toEqual([])
  })
})
