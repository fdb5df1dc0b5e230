import { describe, expect, it } from 'vitest'
import { sealTx, type SimTx } from '../../../../services/simnode/chain/sim-tx.js'
import { SimChain } from '../../../../services/simnode/chain/sim-chain.js'
import { MATURITY } from '../../../../services/simnode/mempool/traffic.js'
import { Rpc } from '../../../../services/simnode/rpc/methods.js'
import { Simulation } from '../../../../services/simnode/simulation.js'

/** A simulation with a coin that two owners may fight for. */
function start() {
  const chain = new SimChain({ seed: 'broadcast-rpc' })
  const simulation = new Simulation(chain, { txsPerBlock: 3 })
  simulation.mine({ blocks: 40 })
  const rpc = new Rpc(simulation)
  const coin = chain.coins.coins.find((each) => !each.coinbase && each.value > 1_000_000n)!
  const send = (tx: SimTx, ...more: unknown[]): unknown =>
    JSON.parse(rpc.call('sendrawtransaction', [tx.raw.toString('hex'), ...more]))
  const accepted = (tx: SimTx) =>
    (JSON.parse(rpc.call('testmempoolaccept', [[tx.raw.toString('hex')]])) as Record<string, unknown>[])[0]
  const pay = (fee: bigint, sequence = 0xfffffffd) =>
    chain.pay({ from: [coin], to: [], change: coin.script, fee, sequence })
  return { chain, simulation, rpc, coin, send, accepted, pay }
}

describe('sendrawtransaction and testmempoolaccept', () => {
  it('accept a transaction once, and know it afterwards', () => {
    const { simulation, send, accepted, pay, chain } = start()
    const tx = pay(5_000n)
    expect(accepted(tx)).toMatchObject({
      txid: tx.txid,
      wtxid: tx.wtxid,
      allowed: true,
      fees: { base: 0.00005 },
    })
    expect(simulation.mempool.size).toBe(0)
    expect(send(tx)).toBe(tx.txid)
    expect(simulation.mempool.get(tx.txid)?.fee).toBe(5_000n)
    expect(accepted(tx)).toMatchObject({ allowed: false, 'reject-reason': 'txn-already-in-mempool' })
    expect(send(tx)).toBe(tx.txid)
    chain.mine({ txs: [tx] })
    expect(() => send(tx)).toThrow('Transaction already in block chain')
    const next = chain.pay({ from: [{ tx, vout: 0 }], to: [], change: tx.outputs[0]!.script, fee: 5_000n })
    expect(send(next)).toBe(next.txid)
    chain.mine({ txs: [next] })
    expect(() => send(tx)).toThrow('bad-txns-inputs-missingorspent')
  })

  it('accept a child of an unconfirmed transaction, and no second spender of its output', () => {
    const { chain, send, pay } = start()
    const parent = pay(5_000n)
    const script = parent.outputs[0]!.script
    const child = (fee: bigint) =>
      chain.pay({ from: [{ tx: parent, vout: 0 }], to: [], change: script, fee, sequence: 0xffffffff })
    expect(() => send(child(9_000n))).toThrow('bad-txns-inputs-missingorspent')
    send(parent)
    send(child(9_000n))
    expect(() => send(child(90_000n))).toThrow('txn-mempool-conflict')
  })

  it('replace only what allows it, for a higher fee', () => {
    const { simulation, send, pay } = start()
    const [first, more, second] = [pay(5_000n), pay(5_001n), pay(50_000n)]
    send(first)
    expect(() => send(more)).toThrow(/^insufficient fee, rejecting replacement/)
    send(second)
    expect([...simulation.mempool.entries()].map(({ tx }) => tx.txid)).toEqual([second.txid])
  })

  it('reject what is malformed, too large, too cheap or too dear', () => {
    const { chain, rpc, coin, send, accepted, pay } = start()
    const valid = pay(5_000n)
    const [input] = valid.inputs
    const reasons: [SimTx, RegExp][] = [
      [pay(10n), /^min relay fee not met, 10 < \d+$/],
      [
        sealTx({ ...valid, inputs: [{ ...input!, prevTxid: 'ab'.repeat(32) }] }),
        /^bad-txns-inputs-missingorspent$/,
      ],
      [sealTx({ ...valid, inputs: [input!, input!] }), /^bad-txns-inputs-duplicate$/],
      [
        sealTx({ ...valid, outputs: [{ value: coin.value + 1n, script: coin.script }] }),
        /^bad-txns-in-belowout, value in \(\d+\.\d{8}\) < value out \(\d+\.\d{8}\)$/,
      ],
      [
        sealTx({ ...valid, outputs: [{ value: 2n ** 63n, script: coin.script }] }),
        /^bad-txns-vout-negative$/,
      ],
      [
        sealTx({ ...valid, outputs: [{ value: 2_100_000_000_000_001n, script: coin.script }] }),
        /^bad-txns-vout-toolarge$/,
      ],
      [sealTx({ ...valid, outputs: [] }), /^bad-txns-vout-empty$/],
      [sealTx({ ...valid, outputs: [{ value: 0n, script: Buffer.alloc(60_000, 0x6a) }] }), /^tx-size$/],
      [
        sealTx({ ...valid, outputs: [{ value: 0n, script: Buffer.alloc(600_000, 0x6a) }] }),
        /^bad-txns-oversize$/,
      ],
    ]
    for (const [tx, reason] of reasons) {
      expect(() => send(tx)).toThrow(reason)
      expect(accepted(tx)).toMatchObject({
        allowed: false,
        'reject-reason': expect.stringMatching(reason) as string,
      })
    }
    expect(() => send(pay(coin.value))).toThrow('Fee exceeds maximum configured by user')
    expect(send(pay(coin.value), 0)).toBe(pay(coin.value).txid)
    for (const hex of ['', '00', 'zz', `${valid.raw.toString('hex')}00`])
      expect(() => rpc.call('sendrawtransaction', [hex])).toThrow(/^TX decode failed/)
    expect(() => rpc.call('sendrawtransaction', [5])).toThrow('JSON value is not of expected type string')
    const minted = chain.coins.coins.find(
      (each) => each.coinbase && chain.tip.height + 1 - (each.height ?? 0) < MATURITY,
    )!
    const young = chain.pay({ from: [minted], to: [], change: minted.script, fee: 5_000n })
    expect(() => send(young)).toThrow('bad-txns-premature-spend-of-coinbase')
  })
})
