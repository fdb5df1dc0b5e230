import { describe, expect, test } from 'vitest'
import { BITCOIN_REGTEST, REGTEST } from '../../../../pipelines/chain/networks.js'
import { hasDilithiumSignature } from '../../../../pipelines/chain/dilithium.js'
import { scriptType } from '../../../../pipelines/chain/script.js'
import { NaiveState } from '../../../harness/naive-state.js'
import { OWNER_KINDS } from '../../../../services/simnode/wallet/keyring.js'
import { buildChain, forkAt, type SimChain } from '../../../../services/simnode/chain/sim-chain.js'
import type { SimBlock } from '../../../../services/simnode/chain/sim-block.js'
import type { OutPoint } from '../../../../services/simnode/chain/payment.js'

const COIN = 100_000_000n

function coinbaseOf(chain: SimChain, block: SimBlock | undefined): { txid: string; vout: number } {
  if (block === undefined) throw new Error('no such block')
  return { txid: chain.read(block).txs[0]?.txid ?? '', vout: 0 }
}

function expectCoinsToEqualNaiveState(chain: SimChain): void {
  const fold = new NaiveState(chain)
  expect(chain.coins.total).toBe(fold.supply)
  const kept = chain.coins.coins.map(
    (coin) =>
      `${coin.txid}:${String(coin.vout)} ${String(coin.value)} ${coin.script.toString('hex')} ${String(coin.height)}`,
  )
  const applied = [...fold.utxos().values()].map(
    (coin) => `${coin.txid}:${String(coin.vout)} ${String(coin.value)} ${coin.script} ${String(coin.height)}`,
  )
  expect(kept.sort()).toEqual(applied.sort())
}

describe('a scripted chain', () => {
  test('starts with the genesis block of the recorded node', () => {
    const chain = buildChain()
    expect(chain.tip.hash).toBe('5a6c309a7e9bb2fa314e63630520ca3c598c86a91dd2c6737e160cfadfc50f38')
    expect(chain.coins.size).toBe(0)
  })

  test('has the same hashes for the same calls, and others for another seed', () => {
    const build = (seed: string): string => {
      const chain = buildChain({ seed, blocks: 5 })
      const tx = chain.pay({
        from: [coinbaseOf(chain, chain.at(2))],
        to: [],
        change: chain.keyring.owner(3).script,
      })
      return chain.mine({ txs: [tx] }).hash
    }
    expect(build('a')).toBe(build('a'))
    expect(build('a')).not.toBe(build('b'))
  })

  test('confirms a transaction in a branch and, at another height, in the branch that replaces it', () => {
    const chain = buildChain({ blocks: 3 })
    const alice = chain.keyring.ownerOf('p2wpkh').script
    const bob = chain.keyring.ownerOf('dilithium-pubkeyhash').script
    const pays = chain.pay({
      from: [coinbaseOf(chain, chain.at(1))],
      to: [{ value: 2n * COIN, script: alice }],
      change: bob,
      fee: 500n,
    })
    const stale = chain.mine({ txs: [pays], tag: '/stale/' })
    const fork = forkAt(chain, 3)
    fork.mine({ tag: '/empty/' }, { txs: [pays] })
    expect(chain.tip).toBe(stale)
    expect(chain.findTx(pays.txid)?.block).toBe(stale)
    fork.activate()
    expect(chain.tip.height).toBe(5)
    expect(chain.findTx(pays.txid)?.block.height).toBe(5)
    expect(chain.isActive(stale)).toBe(false)
    expectCoinsToEqualNaiveState(chain)
    const fold = new NaiveState(chain)
    expect(fold.balances().get(alice.toString('hex'))).toBe(2n * COIN)
    expect(fold.history(bob.toString('hex'))).toMatchObject([
      { txid: pays.txid, height: 5, index: 1, received: 3n * COIN - 500n },
    ])
    expect(new NaiveState(chain, stale).history(alice.toString('hex'))).toMatchObject([
      { height: 4, index: 1 },
    ])
  })

  test('can set the tip to any block, back and forth, and the coins follow', () => {
    const chain = buildChain({ blocks: 4 })
    const first = chain.pay({
      from: [coinbaseOf(chain, chain.at(1))],
      to: [],
      change: chain.keyring.owner(0).script,
    })
    const second = chain.pay({
      from: [{ tx: first, vout: 0 }],
      to: [],
      change: chain.keyring.owner(1).script,
    })
    const tip = chain.mine({ txs: [first, second] })
    chain.setTip(chain.at(2)?.hash ?? '')
    expectCoinsToEqualNaiveState(chain)
    chain.setTip(tip.hash)
    expectCoinsToEqualNaiveState(chain)
    expect(chain.coins.get(second.txid, 0)?.value).toBe(5n * COIN - 2000n)
  })

  test('is unchanged by a block with a transaction that spends nothing', () => {
    const chain = buildChain({ blocks: 3 })
    const spend = { from: [coinbaseOf(chain, chain.at(1))], to: [], change: chain.keyring.owner(0).script }
    const [once, twice] = [chain.pay(spend), chain.pay(spend)]
    expect(() => chain.mine({ txs: [once, twice] })).toThrow('not unspent')
    expect(chain.tip.height).toBe(3)
    expectCoinsToEqualNaiveState(chain)
  })

  test('pays every kind of owner by its script type, and the spends carry Dilithium signatures exactly where they should', () => {
    const chain = buildChain({ blocks: OWNER_KINDS.length })
    const outputs = OWNER_KINDS.map((kind) => ({ value: 1000n, script: chain.keyring.ownerOf(kind).script }))
    const fan = chain.pay({ from: [coinbaseOf(chain, chain.at(1))], to: outputs })
    const spends = OWNER_KINDS.map((_, vout) =>
      chain.pay({
        from: [{ tx: fan, vout }],
        to: [],
        change: outputs[0]?.script ?? Buffer.alloc(0),
        fee: 1n,
      }),
    )
    chain.mine({ txs: [fan, ...spends] })
    const shown = OWNER_KINDS.map((kind, at) => {
      const [input] = spends[at]?.inputs ?? []
      const script = outputs[at]?.script ?? Buffer.alloc(0)
      return [
        kind,
        scriptType(script, REGTEST),
        input !== undefined && hasDilithiumSignature(input, script, REGTEST),
      ]
    })
    expect(shown).toEqual([
      ['p2wpkh', 'witness_v0_keyhash', false],
      ['p2pkh', 'pubkeyhash', false],
      ['p2tr', 'witness_v1_taproot', false],
      ['p2sh-p2wpkh', 'scripthash', false],
      ['p2wsh', 'witness_v0_scripthash', false],
      ['p2pk', 'pubkey', false],
      ['multisig', 'multisig', false],
      ['p2mr', 'witness_v2_p2mr', true],
      ['p2mr-plain', 'witness_v2_p2mr', false],
      ['dilithium-pubkeyhash', 'dilithium_pubkeyhash', true],
      ['dilithium-pubkey', 'dilithium_pubkey', true],
      ['dilithium-wpkh', 'witness_v0_keyhash', true],
      ['dilithium-p2sh', 'scripthash', true],
      ['dilithium-p2wsh', 'witness_v0_scripthash', true],
      ['dilithium-multisig', 'dilithium_multisig', true],
      ['nonstandard', 'nonstandard', false],
      ['witness-unknown', 'witness_unknown', false],
    ])
    expectCoinsToEqualNaiveState(chain)
  })
})

describe('a coinbase that is in two blocks (BIP 30)', () => {
  /** A chain with ten blocks, of which the third one pays `alice`; the second copy follows at height 11. */
  function chainWithCoinbase(): { chain: SimChain; alice: Buffer; first: SimBlock; point: OutPoint } {
    const chain = buildChain({ network: BITCOIN_REGTEST, seed: 'bip30', blocks: 2 })
    const alice = chain.keyring.ownerOf('p2pkh').script
    const first = chain.mine({ coinbaseOutputs: [{ value: 50n * COIN, script: alice }] })
    const point = coinbaseOf(chain, first)
    for (let height = 4; height <= 10; height++) chain.mine()
    return { chain, alice, first, point }
  }

  test('replaces the first output if it is unspent, and restores it if the second block is disconnected', () => {
    const { chain, alice, first, point } = chainWithCoinbase()
    const before = { total: chain.coins.total, size: chain.coins.size }
    const second = chain.mine({ repeats: first })
    expect(chain.read(second).txs[0]?.raw).toEqual(chain.read(first).txs[0]?.raw)
    expect({ total: chain.coins.total, size: chain.coins.size }).toEqual(before)
    expect(chain.coins.get(point.txid, 0)).toMatchObject({ height: 11, value: 50n * COIN, script: alice })
    expect(chain.findTx(point.txid)?.block).toBe(second)
    expectCoinsToEqualNaiveState(chain)

    const spend = chain.pay({ from: [point], to: [], change: alice })
    const third = chain.mine({ txs: [spend] })
    expect(chain.read(third).spent).toMatchObject([{ height: 11, coinbase: true }])
    expectCoinsToEqualNaiveState(chain)

    chain.setTip(second.parent?.hash ?? '')
    expect(chain.coins.get(point.txid, 0)).toMatchObject({ height: 3, coinbase: true, script: alice })
    expect(chain.findTx(point.txid)?.block).toBe(first)
    expectCoinsToEqualNaiveState(chain)
    // The same transaction spends the first one on another branch.
    const other = chain.mine({ txs: [spend] })
    expect(chain.read(other).spent).toMatchObject([{ height: 3, coinbase: true }])
    expectCoinsToEqualNaiveState(chain)

    chain.setTip(third.hash)
    expect(chain.findTx(spend.txid)?.block).toBe(third)
    expectCoinsToEqualNaiveState(chain)
  })

  test('exists again if the first output was spent, and is gone again if the second block is disconnected', () => {
    const { chain, alice, first, point } = chainWithCoinbase()
    chain.mine({ txs: [chain.pay({ from: [point], to: [], change: alice, fee: 1000n })] })
    const second = chain.mine({ repeats: first })
    expect(chain.read(second).overwritten).toEqual([])
    expect(chain.coins.get(point.txid, 0)?.height).toBe(12)
    expectCoinsToEqualNaiveState(chain)
    chain.setTip(chain.at(11)?.hash ?? '')
    expect(chain.coins.get(point.txid, 0)).toBeUndefined()
    expectCoinsToEqualNaiveState(chain)
  })

  test('is refused, without a change, in a block in which a node would refuse it', () => {
    const { chain, alice, first, point } = chainWithCoinbase()
    const before = chain.coins.size
    const spend = chain.pay({ from: [point], to: [], change: alice })
    expect(() => chain.mine({ repeats: first, txs: [spend] })).toThrow('in a block that spends it')
    const witness = [Buffer.alloc(64)]
    const segwit = chain.pay({
      from: [coinbaseOf(chain, chain.at(1))],
      to: [],
      unlock: () => ({ scriptSig: Buffer.alloc(0), witness }),
    })
    expect(() => chain.mine({ repeats: first, txs: [segwit] })).toThrow('witnesses')
    for (let height = 11; height < 150; height++) chain.mine()
    expect(() => chain.mine({ repeats: first })).toThrow('more than the reward')
    expect(chain.tip.height).toBe(149)
    expect(chain.coins.size).toBe(before + 139)
    expectCoinsToEqualNaiveState(chain)
  })
})
