import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pino } from 'pino'
import { decodePrevouts, outpointOf } from '../../../../../pipelines/chain/prevout.js'
import { parseTx } from '../../../../../pipelines/chain/transaction.js'
import type { LocatedTx } from '../../../../../pipelines/tables/bodies.js'
import { NodeUnavailable } from '../../../../../pipelines/node/errors.js'
import { NodeBodies } from '../../../../../services/explorer/core/node/node-bodies.js'
import { NodeConnection } from '../../../../../services/explorer/core/node/node-connection.js'
import { type Simnode, startSimnode } from '../../../../../services/simnode/node.js'

describe('transactions of the node', () => {
  let node: Simnode
  let url: string | undefined
  let connection: NodeConnection
  let calls: string[]
  let bodies: NodeBodies

  beforeEach(async () => {
    node = await startSimnode({ seed: 'node-bodies', blocks: 20, txsPerBlock: 20 })
    url = node.url
    calls = []
    connection = new NodeConnection({ locate: () => Promise.resolve(url), logger: pino({ level: 'silent' }) })
    bodies = reading(() => undefined)
  })

  afterEach(async () => {
    connection.close()
    await node.close()
  })

  /** Returns a reader of a node of which some replies are changed. */
  function reading(change: (method: string, reply: unknown) => unknown): NodeBodies {
    return new NodeBodies({
      call: (make, isVerdict) =>
        connection.call(async (client, signal) => {
          const observed = new Proxy(client, {
            get: (target, name) => {
              const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>
              return async (...args: unknown[]) => {
                calls.push(String(name))
                const reply = await method.apply(target, args)
                return change(String(name), reply) ?? reply
              }
            },
          })
          return make(observed, signal)
        }, isVerdict),
    })
  }

  const contentAt = (height: number) => node.chain.read(node.chain.at(height)!)
  const located = (height: number, count = Infinity): LocatedTx[] =>
    contentAt(height)
      .txs.slice(0, count)
      .map(({ txid }) => ({ txid, hash: node.chain.at(height)?.hash ?? '' }))

  async function expectAll(wanted: readonly LocatedTx[], height: number): Promise<void> {
    const { txs, spent } = contentAt(height)
    const found = await bodies.read(wanted)
    expect(found).toHaveLength(wanted.length)
    for (const [at, { body, witness, prevouts }] of found.entries()) {
      const index = txs.findIndex(({ txid }) => txid === wanted[at]?.txid)
      const tx = txs[index]
      const parsed = parseTx(tx?.raw ?? Buffer.alloc(0))
      expect([body, witness]).toEqual([parsed.body, parsed.witness])
      const first = txs.slice(1, index).reduce((sum, { inputs }) => sum + inputs.length, 0)
      const own = index === 0 ? [] : spent.slice(first, first + (tx?.inputs.length ?? 0))
      expect(decodePrevouts(prevouts)).toEqual(own.map(({ value, script }) => ({ value, script })))
    }
  }

  it('are read by themselves if they are few, and once', async () => {
    await expectAll(located(15, 3), 15)
    await expectAll(located(15, 3).toReversed(), 15)
    expect(calls).toEqual(['transactionsOf'])
  })

  it('are read with their block if they are many', async () => {
    await expectAll(located(15), 15)
    expect(calls).toEqual(['block'])
  })

  it('are read with their block from nodes that have prevouts in blocks only, and the coinbase of block 0', async () => {
    bodies = reading((method, reply) =>
      method === 'transactionsOf'
        ? (reply as ({ vin: object[] } | undefined)[]).map(
            (tx) => tx && { ...tx, vin: tx.vin.map((each) => ({ ...each, prevout: undefined })) },
          )
        : undefined,
    )
    await expectAll(located(15, 3), 15)
    expect(calls).toEqual(['transactionsOf', 'block'])
    await expectAll(located(0), 0)
  })

  it('are of the block that is named, also after it has left the chain', async () => {
    const wanted = located(20, 3)
    const expected = await bodies.read(wanted)
    node.simulation.reorg(3)
    bodies = reading(() => undefined)
    expect(await bodies.read(wanted)).toEqual(expected)
  })

  it('are not what another transaction has, or one that the block does not contain', async () => {
    const [one, two] = located(15, 3).slice(1)
    if (one === undefined || two === undefined) throw new Error('too few transactions')
    await expect(bodies.read([{ ...one, hash: node.chain.at(14)?.hash ?? '' }])).rejects.toThrow(
      NodeUnavailable,
    )
    await expect(bodies.read([{ ...one, hash: 'ab'.repeat(32) }])).rejects.toThrow(NodeUnavailable)
    bodies = reading((method, reply) =>
      method === 'transactionsOf' ? [...(reply as unknown[])].reverse() : undefined,
    )
    await expectAll([one, two], 15)
    bodies = reading((_, reply) => {
      const of = (tx: object) => ({ ...tx, hex: contentAt(3).txs[0]?.raw.toString('hex') })
      return Array.isArray(reply)
        ? reply.map(of)
        : { ...(reply as object), tx: (reply as { tx: object[] }).tx.map(of) }
    })
    await expect(bodies.read([one])).rejects.toThrow(/it hashes to/)
  })

  it('cannot be read while there is no node', async () => {
    url = undefined
    await expect(bodies.read(located(15, 1))).rejects.toThrow(NodeUnavailable)
    url = node.url
    await expectAll(located(15, 1), 15)
  })

  it('have unspent outputs, without those that are spent', async () => {
    const outpoints = [...Array.from({ length: 21 }, (_, height) => contentAt(height).txs).flat()].flatMap(
      (tx) => tx.outputs.map((_, vout) => outpointOf(tx.txid, vout)),
    )
    const coins = await bodies.coins(outpoints)
    const expected = outpoints.filter((each) =>
      node.chain.coins.get(each.slice(0, 64), Number(each.slice(65))),
    )
    expect(outpoints.length).toBeGreaterThan(256)
    expect(expected.length).toBeLessThan(outpoints.length)
    expect([...coins.keys()].sort()).toEqual(expected.sort())
    for (const [outpoint, coin] of coins) {
      const { value, script } = node.chain.coins.get(outpoint.slice(0, 64), Number(outpoint.slice(65)))!
      expect(coin).toEqual({ value, script })
    }
  })
})
