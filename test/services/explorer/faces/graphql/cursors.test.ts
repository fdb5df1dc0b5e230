import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import {
  assertNoPage,
  hasCursor,
  kindOf,
  type ListAnswer,
  readAfter,
  type Requested,
  withCursor,
} from '../../../../../services/explorer/faces/graphql/cursors.js'
import { READS } from '../../../../../services/explorer/core/reads/index.js'
import type { ReadContext } from '../../../../../services/explorer/core/reads/read.js'
import { type ChainState, NO_CHAIN } from '../../../../../services/explorer/core/state/state.js'

type Item = Readonly<Record<string, unknown>>

/** A list that changes while a client pages through it. */
class ChangingList {
  items: Item[] = []
  /** The hashes of the chain's blocks. */
  hashes: string[] = []
  reads = 0

  constructor(
    private readonly name: string,
    private readonly args: Item,
  ) {}

  /** Returns the page after a cursor, or the first one. */
  async page(limit: number, cursor?: string | null): Promise<ListAnswer & { next_cursor: string | null }> {
    const read = READS.find(({ name }) => name === this.name)!
    const args = { ...this.args, limit }
    const requested: Requested = { read, args, kind: kindOf(read, args)!, context: this.#context() }
    const answer = this.#read(0, limit)
    const made =
      cursor === undefined || cursor === null
        ? withCursor(requested, { start: 0, answer })
        : await readAfter(requested, cursor, (start, count) => Promise.resolve(this.#read(start, count)))
    return made as ListAnswer & { next_cursor: string | null }
  }

  #read(start: number, count: number): ListAnswer {
    this.reads++
    return { items: this.items.slice(start, start + count), total: this.items.length }
  }

  #context(): ReadContext {
    const { hashes } = this
    const blocks = {
      hashAt: (height: number) => hashes[height],
      has: (height: number, tag: number) => Number.parseInt((hashes[height] ?? '').slice(56), 16) === tag,
    } as unknown as ChainState['blocks']
    const chain: ChainState = { ...NO_CHAIN, network: REGTEST, height: hashes.length - 1, blocks }
    return { chain } as ReadContext
  }
}

const hashOf = (number: number): string => number.toString(16).padStart(64, '0')
const keyOf = ({ block_height: height, txid, vout }: Item): string => JSON.stringify([height, txid, vout])

/** Unspent outputs of random blocks: few heights and txids, so that keys are equal in part. */
const output = fc
  .record({ block_height: fc.nat(20), txid: fc.constantFrom('a', 'b', 'c'), vout: fc.nat(12) })
  .map((item): Item => item)
const inOrder = (one: Item, other: Item): number =>
  Number(other['block_height']) - Number(one['block_height']) ||
  String(one['txid']).localeCompare(String(other['txid'])) ||
  Number(one['vout']) - Number(other['vout'])

describe('a cursor', () => {
  it('of unspent outputs misses none and repeats none, whatever is spent and created meanwhile', async () => {
    const outputs = fc.uniqueArray(output, { selector: keyOf, minLength: 1, maxLength: 60 })
    const changes = fc.array(fc.record({ spent: fc.nat(100), created: fc.nat(3) }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(outputs, changes, fc.integer({ min: 1, max: 9 }), async (initial, steps, limit) => {
        const list = new ChangingList('addressUtxos', { address: 'x', mempool: false })
        list.items = [...initial].sort(inOrder)
        const received: string[] = []
        const spent = new Set<string>()
        let height = 21
        let cursor: string | null | undefined
        for (let step = 0; cursor !== null; step++) {
          const page = await list.page(limit, cursor)
          received.push(...page.items.map(keyOf))
          cursor = page.next_cursor
          const change = steps[step]
          if (change === undefined) continue
          const [gone] = list.items.splice(change.spent % Math.max(1, list.items.length), 1)
          if (gone !== undefined) spent.add(keyOf(gone))
          for (let vout = 0; vout < change.created; vout++)
            list.items.unshift({ block_height: height, txid: 'a', vout: change.created - vout })
          height++
        }
        expect(new Set(received).size).toBe(received.length)
        const lasting = initial.map(keyOf).filter((key) => !spent.has(key))
        expect(lasting.filter((key) => !received.includes(key))).toEqual([])
      }),
      { numRuns: 300, seed: 7 },
    )
  })

  it('finds its place in a long list by a few reads', async () => {
    const list = new ChangingList('addressUtxos', { address: 'x' })
    list.items = Array.from({ length: 100_000 }, (_, index): Item => ({
      block_height: 0,
      txid: 'a',
      vout: index,
    }))
    const { next_cursor: cursor } = await list.page(500)
    list.reads = 0
    await list.page(500, cursor)
    expect(list.reads).toBe(4)
    list.items = list.items.filter(({ vout }) => Number(vout) < 500 || Number(vout) % 7 !== 0)
    list.reads = 0
    expect((await list.page(500, cursor)).items[0]).toMatchObject({ vout: 500 })
    expect(list.reads).toBeLessThan(25)
  })

  it('of OP_RETURN outputs belongs to the chain, that of transactions to the block', async () => {
    const outputs = new ChangingList('opReturns', {})
    outputs.hashes = [0, 1, 2].map(hashOf)
    outputs.items = [2, 1, 0].map((height): Item => ({ block_height: height }))
    const { next_cursor: cursor } = await outputs.page(1)
    outputs.hashes.push(hashOf(3))
    outputs.items.unshift({ block_height: 3 })
    expect((await outputs.page(1, cursor)).items).toEqual([{ block_height: 1 }])
    outputs.hashes[2] = hashOf(12)
    await expect(outputs.page(1, cursor)).rejects.toMatchObject({ code: 'HW_CURSOR_OUTDATED' })

    const txs = new ChangingList('blockTransactions', { heightOrHash: '7' })
    txs.items = ['a', 'b', 'c'].map((txid): Item => ({ txid, block_hash: hashOf(7) }))
    const { next_cursor: next } = await txs.page(2)
    expect((await txs.page(2, next)).items).toMatchObject([{ txid: 'c' }])
    txs.items = ['a', 'b', 'c'].map((txid): Item => ({ txid, block_hash: hashOf(17) }))
    await expect(txs.page(2, next)).rejects.toMatchObject({ code: 'HW_CURSOR_OUTDATED' })
  })

  it('of the rich list continues below the balance of the last address', async () => {
    const list = new ChangingList('richList', {})
    const rich = (address: string, balance: string): Item => ({ address, balance })
    list.items = [rich('b', '10000000000000000001'), rich('a', '9'), rich('c', '9'), rich('d', '8')]
    const { next_cursor: cursor } = await list.page(2)
    list.items.unshift(rich('e', '20000000000000000000'))
    expect((await list.page(2, cursor)).items).toEqual([rich('c', '9'), rich('d', '8')])
  })

  it('is refused if it is of another list, or is none', async () => {
    const list = new ChangingList('addressUtxos', { address: 'x' })
    list.items = [1, 2, 3].map((vout): Item => ({ block_height: 0, txid: 'a', vout }))
    const { next_cursor: cursor } = await list.page(1)
    const other = new ChangingList('addressUtxos', { address: 'y' })
    for (const text of [cursor, '', 'abc', 'a'.repeat(200)])
      await expect(other.page(1, text)).rejects.toMatchObject({ code: 'HW_INVALID_ARGUMENT' })
    expect(() => assertNoPage({ page: 2 })).toThrow('after cannot be combined')
    expect(() => assertNoPage({ page: 1, offset: 0 })).not.toThrow()
  })

  it('is there for every list that changes, in REST or here', () => {
    const lists = READS.filter(hasCursor).map(({ name }) => name)
    expect(lists).toEqual([
      'blocks',
      'blockTransactions',
      'addressTransactions',
      'addressUtxos',
      'walletTransactions',
      'richList',
      'mempoolTxids',
      'mempoolReplacements',
      'opReturns',
    ])
  })
})
