import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { type GraphqlAnswer, send } from '../services/explorer/faces/graphql/client.js'

/** The long run has more reorganisations, and compares the state after each of them with a clean index. */
const REORGS = Number(process.env['GRAPHQL_REORGS'] ?? 2)
const STATES_PER_CLEAN_INDEX = process.env['GRAPHQL_REORGS'] === undefined ? 2 : 1
const FINALITY = 20
/** Every tenth reorganisation goes below the final height. */
const depthOf = (round: number): number => (round % 10 === 9 ? FINALITY + 4 : 1 + (round % 5))
const READERS = 2
/** Without pauses the readers would use most of the time of the processors. */
const READ_EVERY_MS = 20

/** Blocks by links, their transactions, what these spend and where it went, and the totals of the addresses. */
const OF_CHAIN = `{
  chain { height tip }
  tip { hash miner { balance utxos(limit: 3) { total items { txid } } } previous { hash previous { hash previous { height } } } }
  blocks(limit: 6) { items { hash height transactions(limit: 4) { items {
    txid block { hash }
    inputs(limit: 3) { previous_output { value spending_input { txid } } }
    outputs(limit: 3) { spent_txid addresses { address_summary { balance tx_count } } }
  } } } }
}`

/** Every transaction of the mempool by its link. */
const OF_BOTH = `{
  chain { height tip }
  mempoolSummary { txCount }
  mempoolTransactions(limit: 100) { items { txid transaction { txid block_height inputs(limit: 5) { previous_output { txid } } } } }
}`

interface ChainData {
  readonly chain: { readonly tip: string; readonly height: number }
  readonly tip: { readonly hash: string; readonly previous: { readonly hash: string } }
  readonly blocks: {
    readonly items: readonly {
      readonly hash: string
      readonly height: number
      readonly transactions: { readonly items: readonly { readonly block: { readonly hash: string } }[] }
    }[]
  }
}

const digestOf = (data: unknown): string => createHash('sha256').update(JSON.stringify(data)).digest('base64')

describe('nested GraphQL reads during reorganisations', { timeout: 30 * 60_000 }, () => {
  let node: Simnode | undefined
  let pipeline: Pipeline | undefined

  afterEach(async () => {
    await pipeline?.close()
    await node?.close()
  })

  /** Asks until the explorer can answer: meanwhile the engine may lack processor time. */
  const ask = (url: string, query: string): Promise<GraphqlAnswer> =>
    until('an answer', async () => {
      const answer = await send(url, { query })
      expect(answer.status === 200 || answer.status === 503, JSON.stringify(answer.body)).toBe(true)
      return answer.status === 200 && answer
    })

  it('answer from one state, that of a clean index', async () => {
    const sim = await startSimnode({ seed: 'nested', blocks: 40, txsPerBlock: 4 })
    node = sim
    const options = { nodeUrl: sim.url, engineUrl: inject('engineUrl'), finalityDepth: FINALITY }
    const followed = await Pipeline.start({ ...options, explorer: { auditEveryMs: 0 } })
    pipeline = followed
    const level = (on: Pipeline): Promise<void> =>
      on.level({ tip: sim.chain.tip.hash, mempoolSize: sim.simulation.mempool.size })
    await level(followed)
    /** Digests of the answers that were received for a tip, and of those of a clean index. */
    const received = new Map<string, Set<string>>()
    const expected = new Map<string, string>()
    let isOver = false
    let reads = 0

    async function readChain(): Promise<void> {
      while (!isOver) {
        await sleep(READ_EVERY_MS)
        const { data, headers } = await ask(followed.url, OF_CHAIN)
        const { chain, tip, blocks } = data as ChainData
        expect([headers.get('x-chain-tip'), tip.hash, blocks.items[0]?.hash]).toEqual([
          chain.tip,
          chain.tip,
          chain.tip,
        ])
        expect(tip.previous.hash).toBe(blocks.items[1]?.hash)
        for (const block of blocks.items)
          for (const tx of block.transactions.items) expect(tx.block.hash).toBe(block.hash)
        received.set(chain.tip, (received.get(chain.tip) ?? new Set()).add(digestOf(data)))
        reads++
      }
    }
    /** A transaction of the mempool is unconfirmed in the same answer, and its summary counts as many as the list has. */
    async function readBoth(): Promise<void> {
      while (!isOver) {
        await sleep(READ_EVERY_MS)
        const { data } = await ask(followed.url, OF_BOTH)
        const { items } = data.mempoolTransactions
        expect(Math.min(100, data.mempoolSummary.txCount)).toBe(items.length)
        for (const { txid, transaction } of items)
          expect(transaction).toMatchObject({ txid, block_height: null })
        reads++
      }
    }
    const readers = [...Array.from({ length: READERS }, () => readChain()), readBoth()]
    for (const reader of readers) reader.catch(() => undefined)
    try {
      for (let round = 0; round < REORGS; round++) {
        sim.simulation.enter(3)
        await level(followed)
        sim.simulation.reorg(depthOf(round))
        await level(followed)
        // The answers for other states are compared among themselves.
        if ((round + 1) % STATES_PER_CLEAN_INDEX !== 0) continue
        const clean = await Pipeline.start({ ...options, explorer: { auditEveryMs: 0 } })
        try {
          await level(clean)
          const { data } = await ask(clean.url, OF_CHAIN)
          expected.set(sim.chain.tip.hash, digestOf(data))
          const ours = await ask(followed.url, OF_CHAIN)
          expect(digestOf(ours.data)).toBe(digestOf(data))
        } finally {
          await clean.close()
        }
      }
    } finally {
      isOver = true
      await Promise.all(readers)
    }
    expect(reads).toBeGreaterThan(REORGS)
    for (const [tip, digests] of received) expect([tip, digests.size]).toEqual([tip, 1])
    for (const [tip, digest] of expected) expect([...(received.get(tip) ?? [digest])]).toEqual([digest])
  })
})
