import { createHash } from 'node:crypto'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { scriptHash, scriptKeyOf } from '../../../../../pipelines/chain/script.js'
import { AddressFeed, type AddressMessage } from '../../../../../services/explorer/core/feed/address-feed.js'
import { ScriptFeed, type ScriptMessage } from '../../../../../services/explorer/core/feed/script-feed.js'
import type { ShownTx } from '../../../../../services/explorer/core/mempool/shown-tx.js'
import { type ChainState, NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { blockTxKey } from '../../../../../services/explorer/core/tables/point-keys.js'
import type { BlockTx, ScriptRow } from '../../../../../services/explorer/core/tables/lookups.js'
import type { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { until } from '../../../../harness/until.js'

const SCRIPT = Buffer.from(`0014${'ab'.repeat(20)}`, 'hex')
const HASH = scriptHash(SCRIPT)
const ADDRESS = addressOf(SCRIPT, REGTEST)!

interface FakeBlock {
  readonly hash: string
  readonly txids: readonly string[]
}

const blockOf = (name: string, ...txids: string[]): FakeBlock => {
  return { hash: createHash('sha256').update(name).digest('hex'), txids }
}
const tagOf = ({ hash }: FakeBlock): number => Number.parseInt(hash.slice(56), 16)
const unconfirmed = (txid: string): ShownTx =>
  ({ txid, firstSeen: 1_771_804_900, outpoints: [], changes: new Map([[HASH, 5n]]) }) as unknown as ShownTx

/** Chains in which each transaction pays the script one base unit; tables with the rows of all of them. */
class FakeChains {
  readonly #rows: ScriptRow[] = []
  readonly #txs = new Map<string, BlockTx>()
  /** The heads, for a client that resumes. */
  readonly heads: { position: number; tip: string; joined: string[]; gone: string[] }[] = []

  /** Returns the state of a chain, whose rows are in the tables from now on. */
  stateOf(chain: readonly FakeBlock[], position: number): ChainState {
    let ordinal = 0
    for (const [height, block] of chain.entries()) {
      for (const [txIndex, txid] of block.txids.entries()) {
        const at = { height, blockTag: tagOf(block), txIndex }
        const totals = { totalReceived: BigInt(++ordinal), totalSent: 0n, unspentCount: ordinal }
        this.#rows.push({ scriptHash: HASH, ordinal, ...at, ...totals, fundedCount: 0, spendKinds: 0 })
        this.#txs.set(blockTxKey(at), { txid, ...at } as unknown as BlockTx)
      }
    }
    const blocks = {
      length: chain.length,
      hashAt: (height: number) => chain[height]!.hash,
      timeAt: () => 1_771_804_800,
      has: (height: number, tag: number) => chain[height] !== undefined && tagOf(chain[height]) === tag,
    } as unknown as ChainState['blocks']
    const view = { tagFilter: () => '1' } as unknown as ChainState['view']
    const tipHash = chain.at(-1)?.hash ?? ''
    return { ...NO_CHAIN, view, position, network: REGTEST, height: chain.length - 1, tipHash, blocks }
  }

  get tables(): Tables {
    return {
      fence: () => Promise.resolve(0n),
      endsOfScript: (_: string, visible: (row: ScriptRow) => boolean) => {
        const rows = this.#rows.filter(visible).sort((one, other) => one.ordinal - other.ordinal)
        return Promise.resolve([rows[0], rows.at(-1)])
      },
      scriptRows: (_: string, from: number, to: number) =>
        Promise.resolve(this.#rows.filter(({ ordinal }) => ordinal >= from && ordinal <= to)),
      txids: {
        getAll: (keys: Iterable<string>) =>
          Promise.resolve(new Map([...keys].map((key) => [key, this.#txs.get(key)!.txid]))),
      },
      query: (_: string, { from, to }: { from: number; to: number }) =>
        Promise.resolve(this.heads.filter(({ position }) => position > from && position <= to)),
    } as unknown as Tables
  }
}

describe('the feed of addresses', () => {
  const feeds: ScriptFeed[] = []
  afterEach(() => {
    for (const feed of feeds.splice(0)) feed.close()
  })

  const base = [blockOf('0'), blockOf('1', 't1')]

  function start() {
    const chains = new FakeChains()
    const state = new State()
    state.adopt(chains.stateOf(base, 10))
    state.mempoolLoaded()
    const scripts = new ScriptFeed({ state, tables: chains.tables, logger: pino({ level: 'silent' }) })
    feeds.push(scripts)
    const feed = new AddressFeed(state, scripts)
    const subscribe = (since?: number) => {
      const messages: AddressMessage[] = []
      const end = feed.subscribe(ADDRESS, since, (message) => messages.push(message))
      /** Returns what was received so far, as soon as there are this many messages, and none more after a while. */
      const received = async (count: number): Promise<unknown[]> => {
        await until(`${String(count)} messages`, () => messages.length >= count)
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
        return messages.map(({ seq, data }) =>
          data === undefined ? ['resync', seq] : [data.status, data.txid, data.block_height, seq],
        )
      }
      return { messages, end, received }
    }
    const touched = new Set([HASH])
    return { chains, state, feed, scripts, subscribe, touched }
  }

  it('sends what enters the mempool, is confirmed, replaced, disconnected and confirmed again', async () => {
    const { chains, state, subscribe, touched } = start()
    const { messages, received } = subscribe()
    const expected: unknown[] = [['synced', null, null, 10]]
    expect(await received(1)).toEqual(expected)
    state.mempool.change([unconfirmed('m1'), unconfirmed('m2')], [], 10)
    expected.push(['unconfirmed', 'm1', null, 10], ['unconfirmed', 'm2', null, 10])
    expect(await received(3)).toEqual(expected)
    state.mempool.change([], ['m2'], 10)
    expected.push(['removed', 'm2', null, 10])
    expect(await received(4)).toEqual(expected)
    // Confirmed, and not removed: both change in one turn.
    const first = [...base, blockOf('2a', 'm1', 'm3')]
    state.adopt(chains.stateOf(first, 20), [], touched)
    state.mempool.change([], ['m1'], 20)
    // Only the last event has the new position: a client that misses it resumes before all of them.
    expected.push(['confirmed', 'm1', 2, 10], ['confirmed', 'm3', 2, 20])
    expect(await received(6)).toEqual(expected)
    // One is confirmed again at another height, one falls back, and one was in the replaced branch only.
    const second = [...base, blockOf('2b'), blockOf('3b', 'm1')]
    state.adopt(chains.stateOf(second, 30), [], touched)
    expected.push(['removed', 'm3', null, 20], ['confirmed', 'm1', 3, 30])
    expect(await received(8)).toEqual(expected)
    state.adopt(chains.stateOf([...base, blockOf('2c')], 40), [], touched)
    state.mempool.change([unconfirmed('m1')], [], 40)
    expected.push(['unconfirmed', 'm1', null, 40])
    expect(await received(9)).toEqual(expected)
    const changes = messages.map(({ data }) => data?.value_change)
    expect(changes).toEqual([null, '5', '5', null, '1', '1', null, '1', '5'])
    // Nothing that touches another script.
    state.adopt(chains.stateOf([...base, blockOf('2c'), blockOf('3c')], 50), [], new Set(['other']))
    expect(await received(9)).toEqual(expected)
  })

  it('is that of scripts, which an Electrum script hash names too, and a script without an address', async () => {
    const { chains, state, scripts, subscribe, touched } = start()
    const electrumHash = createHash('sha256').update(SCRIPT).digest().reverse().toString('hex')
    const script = scriptKeyOf(electrumHash)!
    const byHash: ScriptMessage[] = []
    const end = scripts.subscribe({ script, since: undefined, send: (message) => byHash.push(message) })
    const other: ScriptMessage[] = []
    const unnamed = scriptHash(Buffer.from('6a', 'hex'))
    scripts.subscribe({ script: unnamed, since: undefined, send: (message) => other.push(message) })
    const { messages, received } = subscribe()
    await received(1)
    state.mempool.change([unconfirmed('m1')], [], 10)
    await received(2)
    state.adopt(chains.stateOf([...base, blockOf('2a', 'm1')], 20), [], touched)
    state.mempool.change([], ['m1'], 20)
    const events = await received(3)
    expect(events.at(-1)).toEqual(['confirmed', 'm1', 2, 20])
    expect(byHash).toEqual(
      messages.map(({ seq, data: { address, ...data } = { address: '' } }) => {
        expect(address).toBe(ADDRESS)
        return { seq, data }
      }),
    )
    expect(other.map(({ data }) => data?.status)).toEqual(['synced'])
    end()
    state.mempool.change([unconfirmed('m2')], [], 20)
    await received(4)
    expect(byHash).toHaveLength(3)
  })

  it('sends a client what it has missed since a position, and then what is unconfirmed', async () => {
    const { chains, state, subscribe } = start()
    const [old, now] = [blockOf('2a', 'm1', 'm2'), blockOf('2b', 'm1')]
    chains.stateOf([...base, old], 20)
    const next = blockOf('3b', 'm4')
    state.adopt(chains.stateOf([...base, now, next], 30))
    state.mempool.change([unconfirmed('m5')], [], 30)
    chains.heads.push(
      { position: 20, tip: '2', joined: [old.hash], gone: [] },
      { position: 30, tip: '3', joined: [now.hash, next.hash], gone: [old.hash] },
    )
    const fromStart = await subscribe(10).received(4)
    expect(fromStart).toEqual([
      ['confirmed', 'm1', 2, 10],
      ['confirmed', 'm4', 3, 10],
      ['unconfirmed', 'm5', null, 10],
      ['synced', null, null, 30],
    ])
    expect(await subscribe(30).received(2)).toEqual([
      ['unconfirmed', 'm5', null, 30],
      ['synced', null, null, 30],
    ])
    const ahead = subscribe(31)
    state.adopt(chains.stateOf([...base, now, next, blockOf('4b', 'm6')], 31), [], new Set([HASH]))
    expect((await ahead.received(2)).at(-1)).toEqual(['synced', null, null, 31])
  })

  it('has one position for all addresses of a stream, which only the last event of a change moves', async () => {
    const { chains, state, feed, touched } = start()
    const follow = async (since: number | undefined, first: number, change: () => void, count: number) => {
      const [seqs, stream]: [number[], object] = [[], {}]
      const ends = [1, 2].map(() => feed.subscribe(ADDRESS, since, ({ seq }) => seqs.push(seq), stream))
      await until('both are synced', () => seqs.length === first)
      change()
      await until('both have the change', () => seqs.length === count)
      for (const end of ends) end()
      return seqs
    }
    const block = blockOf('2a', 'm1')
    const live = await follow(
      undefined,
      2,
      () => state.adopt(chains.stateOf([...base, block], 20), [], touched),
      4,
    )
    expect(live).toEqual([10, 10, 10, 20])
    chains.heads.push({ position: 20, tip: '2', joined: [block.hash], gone: [] })
    expect(await follow(10, 4, () => undefined, 4)).toEqual([10, 10, 20, 20])
  })

  it('asks for a resync from a position that is never reached, and forgets subscribers that have left', async () => {
    const { feed, scripts, state, subscribe } = start()
    const unknown = subscribe(2 ** 50)
    expect(await unknown.received(2)).toEqual([
      ['resync', 10],
      ['synced', null, null, 10],
    ])
    const { end, received } = subscribe()
    await received(1)
    expect(scripts.size).toBe(2)
    end()
    unknown.end()
    expect(scripts.size).toBe(0)
    state.mempool.change([unconfirmed('m1')], [], 10)
    expect(await received(1)).toHaveLength(1)
    expect(() => feed.subscribe('abc', undefined, () => undefined)).toThrow('well-formed address')
  })
})
