import { describe, expect, it } from 'vitest'
import type { Logger } from '../../../pipelines/logger.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import { NoPrevoutsError, PrunedNodeError } from '../../../pipelines/poll/errors.js'
import { blockOn, grow, tx } from './fake-chain.js'
import { client, log, newPoller, node, quiet, useNodeAndLog } from './node-and-log.js'
import { applyChain, nodeEvents } from './read-log.js'

useNodeAndLog()

interface Line {
  readonly fields: object
  readonly text: string
}

/** Returns a logger that keeps its lines. */
function recorder(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = []
  const keep = (fields: object, text: string): void => void lines.push({ fields, text })
  return { logger: { ...quiet, info: keep, warn: keep }, lines }
}

describe('a pruned node', () => {
  it('is refused with the height from which it has blocks, before anything is written', async () => {
    node.chain = grow(node.chain, 30)
    node.chainInfo = { pruned: true, pruneheight: 12 }
    await expect(newPoller().pollOnce()).rejects.toThrow(PrunedNodeError)
    await expect(newPoller().pollOnce()).rejects.toThrow(/has pruned block 0, .* has blocks from 12 on/)
    expect([await log.last('chain'), await log.last('node')]).toEqual([-1, -1])
  })

  it('is followed if the log contains what it has pruned', async () => {
    node.chain = grow(node.chain, 30)
    await newPoller().pollOnce()
    node.chain = grow(node.chain, 2)
    node.chainInfo = { pruned: true, pruneheight: 31 }
    await newPoller().pollOnce()
    expect((await applyChain(log)).chain).toHaveLength(33)
    node.chain = grow(node.chain, 5)
    node.chainInfo = { pruned: true, pruneheight: 34 }
    await expect(newPoller().pollOnce()).rejects.toThrow(/has pruned block 33, .* has blocks from 34 on/)
  })
})

describe('a node that does not return what inputs spend', () => {
  it('is refused at the first block that spends', async () => {
    const coin = tx()
    node.chain = [...grow(node.chain, 2)]
    node.chain = [...node.chain, blockOn(node.chain, [tx(coin)])]
    node.blockAnswer = ({ tx: txs, ...block }) => ({
      ...block,
      tx: (txs as { vin: { prevout?: object }[] }[]).map(({ vin, ...each }) => ({
        ...each,
        vin: vin.map(({ prevout, ...input }) => input),
      })),
    })
    await expect(newPoller().run(new AbortController().signal)).rejects.toThrow(NoPrevoutsError)
    expect((await applyChain(log)).chain).toHaveLength(3)
  })
})

describe('a node in its initial block download', () => {
  it('is reported as such in heartbeats, with the height of its headers', async () => {
    node.chainInfo = { headers: 14_131, initialblockdownload: true }
    const beat = async () =>
      (await nodeEvents(log)).findLast(({ event }) => event.case === 'heartbeat')?.event
    await newPoller().pollOnce()
    // A regtest node has no peers: it reports a download whenever its newest block is old.
    expect((await beat())?.value).toMatchObject({ headerHeight: 14_131, initialDownload: false })
    node.chainName = 'test'
    const poller = newPoller({ chain: 'btq-test', log })
    await expect(poller.pollOnce()).rejects.toThrow(/the log contains chain btq-regtest/)
  })

  it('shows its progress by transactions: part, rate and time left', async () => {
    let now = 0
    const { logger, lines } = recorder()
    node.chainName = 'test'
    node.chainInfo = { headers: 999, initialblockdownload: true, verificationprogress: 0.2 }
    // The second half of the blocks has nine tenths of the transactions.
    node.transactionsUpTo = ({ height }) => (height <= 50 ? height : 50 + 9 * (height - 50))
    const poller = newPoller({ logger, chain: 'btq-test', now: () => now })
    await poller.pollOnce()
    for (const height of [50, 100]) {
      node.chain = grow(node.chain, height + 1 - node.chain.length)
      now += 31_000
      await poller.pollOnce()
    }
    const reports = lines.filter(({ text }) => text.startsWith('the node downloads the chain'))
    expect(reports).toEqual([
      {
        fields: { height: 0, nodeHeight: 50, headers: 999, percent: 0 },
        text: 'the node downloads the chain: block 0 of 999, 0 %',
      },
      {
        fields: {
          height: 50,
          nodeHeight: 100,
          headers: 999,
          percent: 2,
          blocksPerSecond: 1.6,
          secondsLeft: 1_519,
        },
        text: 'the node downloads the chain: block 50 of 999, 2 %, 1.6 blocks/s, 25 min left',
      },
    ])
    node.transactionsUpTo = undefined
    node.chain = grow(node.chain, 398)
    now += 31_000
    await poller.pollOnce()
    expect(lines.at(-1)?.fields).toMatchObject({ height: 100, nodeHeight: 498, percent: 10 })
  })
})

describe('the replies of other versions', () => {
  it('of Bitcoin Core 30 are read: fees below one base unit per byte, and fields that earlier versions lack', async () => {
    const { logger, lines } = recorder()
    node.version = 300_000
    node.chainInfo = {
      headers: 0,
      bits: '207fffff',
      target: '7fffff'.padEnd(64, '0'),
      initialblockdownload: false,
      warnings: ['an array since 28'],
    }
    node.relayFees = { mempoolminfee: 0.000001, minrelaytxfee: 0.000001, incrementalrelayfee: 0.000001 }
    await newPoller({ logger }).pollOnce()
    const beat = (await nodeEvents(log)).find(({ event }) => event.case === 'heartbeat')?.event
    expect(beat?.value).toMatchObject({ relayFees: { mempoolMin: 100n, minRelay: 100n, incremental: 100n } })
    expect(lines.map(({ text }) => text)).toEqual(['following'])
  })

  const chainInfo = { headers: 0, initialblockdownload: false, verificationprogress: 1, size_on_disk: 293 }
  it.each([
    { name: '25', version: 250_000, chain: { warnings: '' }, mempool: { fullrbf: false } },
    { name: '26', version: 260_000, chain: { warnings: '' }, mempool: { fullrbf: false } },
    {
      name: '27',
      version: 270_000,
      chain: { warnings: 'This is a pre-release test build' },
      mempool: { fullrbf: false },
    },
    { name: '28', version: 280_100, chain: { warnings: [] }, mempool: { fullrbf: true } },
    {
      name: 'Knots 28',
      version: 280_100,
      variant: 'Knots:20250305/',
      chain: { warnings: [] },
      mempool: {
        fullrbf: true,
        rbf_policy: 'always',
        truc_policy: 'accept',
        maxscriptsize: 1_650,
        acceptdatacarrier: true,
      },
    },
  ])('of $name are followed, and lack nothing', async ({ version, variant = '', chain, mempool }) => {
    const { logger, lines } = recorder()
    Object.assign(node, { version, variant, chainInfo: { ...chainInfo, ...chain }, mempoolInfo: mempool })
    node.chain = grow(node.chain, 5)
    await newPoller({ logger }).pollOnce()
    expect((await applyChain(log)).chain).toHaveLength(6)
    const beat = (await nodeEvents(log)).find(({ event }) => event.case === 'heartbeat')?.event
    expect(beat?.value).toMatchObject({ relayFees: { minRelay: 1000n }, gaps: [] })
    expect(lines.filter(({ text }) => text !== 'following')).toEqual([])
  })

  it('that lack fields are followed, and each field is named once with its consequence', async () => {
    const { logger, lines } = recorder()
    node.relayFees = { mempoolminfee: 0.00001 }
    const poller = newPoller({ logger })
    await poller.pollOnce()
    await poller.pollOnce()
    const gaps = lines.map(({ text }) => text).filter((text) => text.includes(' has no '))
    expect(gaps.map((text) => /has no (\w+): \w/.exec(text)?.[1])).toEqual([
      'initialblockdownload',
      'headers',
      'minrelaytxfee',
      'incrementalrelayfee',
    ])
    const beat = (await nodeEvents(log)).findLast(({ event }) => event.case === 'heartbeat')?.event
    expect(beat?.value).toMatchObject({ gaps })
  })

  it('of a node that denies getnetworkinfo do not matter', async () => {
    node.fault = (method) => (method === 'getnetworkinfo' ? { kind: 'status', status: 403 } : undefined)
    await newPoller().pollOnce()
    const other = new NodeClient(node.url)
    await expect(newPoller({ node: other, chain: undefined }).pollOnce()).rejects.toThrow(
      /the node at \S+ \(of unknown version\) follows a chain that is not known/,
    )
    other.close()
    expect(client.address).toBe(other.address)
  })
})
