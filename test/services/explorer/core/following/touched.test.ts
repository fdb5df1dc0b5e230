import { describe, expect, it } from 'vitest'
import type { BlockId } from '../../../../../pipelines/chain/block.js'
import { REGTEST } from '../../../../../pipelines/chain/networks.js'
import { encodePrevouts } from '../../../../../pipelines/chain/prevout.js'
import { scriptHash } from '../../../../../pipelines/chain/script.js'
import { parseTx, serializeTx } from '../../../../../pipelines/chain/transaction.js'
import { shownTx, type ShownTx } from '../../../../../services/explorer/core/mempool/shown-tx.js'
import { touchedBy } from '../../../../../services/explorer/core/following/touched.js'
import type { Body } from '../../../../../services/explorer/core/tables/lookups.js'
import type { Tables } from '../../../../../services/explorer/core/tables/tables.js'

const hashOf = (number: number): string => number.toString(16).padStart(64, '0')
const script = (byte: number): Buffer => Buffer.from([0x51, byte])
const HEAD = { position: 5, previous: 4, tipHeight: 10, connected: [hashOf(900)], disconnected: [] }

/** A transaction that spends an output of `prevTxid` with one script, and pays to another. */
function payment(prevTxid: string, from: number, to: number) {
  const input = { prevTxid, prevVout: 0, scriptSig: Buffer.alloc(0), sequence: 0, witness: [] }
  const outputs = [{ value: 1n, script: script(to) }]
  const raw = serializeTx({ version: 2, locktime: 0, inputs: [input], outputs }, false)
  const coin = { value: 2n, script: script(from) }
  const { txid } = parseTx(raw)
  const body: Body = { txid, body: raw, prevouts: encodePrevouts([coin]) }
  const inMempool = (coins = [coin]): ShownTx =>
    shownTx({ raw, fee: 1n, firstSeen: 1, network: REGTEST }, coins)
  return { txid, body, inMempool }
}

/** Tables with these transactions in every block that is asked for. */
function tablesWith(bodies: readonly Body[]) {
  const read: string[] = []
  const queries: unknown[] = []
  const txidsOf = (blocks: readonly BlockId[]): Promise<ReadonlySet<string>> => {
    queries.push(blocks)
    return Promise.resolve(new Set(blocks.length === 0 ? [] : bodies.map(({ txid }) => txid)))
  }
  const tables = {
    bodies: {
      getAll: (txids: readonly string[]) => {
        read.push(...txids)
        const small = ({ txid, body, prevouts }: Body) => ({ txid, smallBody: body, smallPrevouts: prevouts })
        return Promise.resolve(new Map(bodies.map((body) => [body.txid, small(body)])))
      },
    },
  } as unknown as Pick<Tables, 'bodies' | 'largeBodies'>
  return { tables, read, queries, txidsOf }
}

describe('what heads touch', () => {
  const one = payment(hashOf(1), 0x52, 0x53)
  const ofOne = [hashOf(900), one.txid, hashOf(1), scriptHash(script(0x52)), scriptHash(script(0x53))]
  const none = { getAny: () => undefined }

  it('are blocks, their transactions, those whose outputs these spend, and all their scripts', async () => {
    const { tables, txidsOf } = tablesWith([one.body])
    const touched = await touchedBy([HEAD], 4, none, tables, txidsOf)
    expect([...(touched ?? [])].sort()).toEqual(ofOne.toSorted())
    const gone = { ...HEAD, tipHeight: 9, connected: [], disconnected: [hashOf(900)] }
    expect(await touchedBy([gone], 4, none, tables, txidsOf)).toEqual(touched)
  })

  it('are known from the mempool without reading, if all its inputs are', async () => {
    const mempool = { getAny: () => one.inMempool() }
    const { tables, read, txidsOf } = tablesWith([one.body])
    const touched = await touchedBy([HEAD], 4, mempool, tables, txidsOf)
    expect([...(touched ?? [])].sort()).toEqual(ofOne.toSorted())
    expect(read).toEqual([])
    const unresolved = { getAny: () => one.inMempool([]) }
    expect(await touchedBy([HEAD], 4, unresolved, tables, txidsOf)).toEqual(touched)
    expect(read).toEqual([one.txid])
  })

  it('are not known if heads do not continue the state, or change too much', async () => {
    const { tables, queries, txidsOf } = tablesWith([one.body])
    expect(await touchedBy([HEAD], 3, none, tables, txidsOf)).toBeUndefined()
    const next = { ...HEAD, position: 7, previous: 6 }
    expect(await touchedBy([HEAD, next], 4, none, tables, txidsOf)).toBeUndefined()
    const connected = Array.from({ length: 101 }, (_, index) => hashOf(index))
    expect(await touchedBy([{ ...HEAD, connected }], 4, none, tables, txidsOf)).toBeUndefined()
    expect(queries).toEqual([])
  })

  it('are not known while a transaction is missing from the tables', async () => {
    const { tables, txidsOf } = tablesWith([one.body])
    const lacking = { ...tables, bodies: { getAll: () => Promise.resolve(new Map()) } } as never
    expect(await touchedBy([HEAD], 4, none, lacking, txidsOf)).toBeUndefined()
  })
})
