import { beforeAll, describe, expect, test } from 'vitest'
import { BITCOIN_REGTEST, BITCOIN_SIGNET } from '../../../pipelines/chain/networks.js'
import { scriptType } from '../../../pipelines/chain/script.js'
import { buildChain, SimChain } from '../../../services/simnode/chain/sim-chain.js'
import { Rpc } from '../../../services/simnode/rpc/methods.js'
import { upTo } from '../../../services/simnode/history.js'
import { Simulation } from '../../../services/simnode/simulation.js'
import { BITCOIN_KINDS } from '../../../services/simnode/wallet/keyring.js'
import { NaiveState } from '../../harness/naive-state.js'
import { baseUnits, type NodeBlock, type NodeOutput, type NodeTx } from '../../harness/node-json.js'

const COIN = 100_000_000n
const network = BITCOIN_REGTEST

function call(rpc: Rpc, method: string, ...params: unknown[]): unknown {
  return JSON.parse(rpc.call(method, params))
}

type PrintedTx = NodeTx & { readonly vsize: number }
type PrintedScript = NodeOutput['scriptPubKey'] & { readonly desc: string }

interface TxOutSet {
  readonly total_amount: number
  readonly txouts: number
}

describe('a simulated chain of Bitcoin', () => {
  let simulation: Simulation
  let rpc: Rpc

  beforeAll(() => {
    simulation = new Simulation(new SimChain({ seed: 'bitcoin', network }), { txsPerBlock: 8 })
    for (const height of simulation.history(upTo(200))) expect(height).toBeLessThanOrEqual(200)
    rpc = new Rpc(simulation)
  })

  test('pays and spends all types of scripts, in transactions of versions 1 to 3', () => {
    const { chain } = simulation
    const paid = new Set<string>()
    const spentTypes = new Set<string>()
    const versions = new Set<number>()
    for (const block of chain.tip.back()) {
      const { txs, spent } = chain.read(block)
      for (const { script } of spent) spentTypes.add(scriptType(script, network))
      for (const tx of txs) {
        versions.add(tx.version)
        for (const { script } of tx.outputs) paid.add(scriptType(script, network))
      }
    }
    const all = [
      'anchor',
      'multisig',
      'nonstandard',
      'nulldata',
      'pubkey',
      'pubkeyhash',
      'scripthash',
      'witness_unknown',
      'witness_v0_keyhash',
      'witness_v0_scripthash',
      'witness_v1_taproot',
    ]
    expect([...paid].sort()).toEqual(all)
    expect([...spentTypes].sort()).toEqual(all.filter((type) => type !== 'nulldata'))
    expect([...versions].sort()).toEqual([1, 2, 3])
  })

  test('repeats coinbases whose outputs are spent, and others whose outputs are not (BIP 30)', () => {
    const { chain } = simulation
    const txids = new Set<string>()
    const kinds = new Set<boolean>()
    for (const block of [...chain.tip.back()].reverse()) {
      const { txs, overwritten } = chain.read(block)
      const [{ txid } = { txid: '' }] = txs
      if (txids.has(txid)) {
        kinds.add(overwritten.length > 0)
        expect((call(rpc, 'getrawtransaction', txid, 1) as { blockhash: string }).blockhash).toBe(
          [...chain.tip.back()].find((each) => chain.read(each).txs[0]?.txid === txid)?.hash,
        )
      }
      txids.add(txid)
    }
    expect([...kinds].sort()).toEqual([false, true])
    const fold = new NaiveState(chain)
    const set = call(rpc, 'gettxoutsetinfo') as TxOutSet
    expect([baseUnits(set.total_amount), set.txouts]).toEqual([fold.supply, fold.utxos().size])
  })

  test('has a mempool of what nodes relay: a restricted transaction has one parent or one child', () => {
    let pairs = 0
    for (let turn = 0; turn < 20; turn++) simulation.enter(5)
    for (const { tx, parents, children } of simulation.mempool.entries()) {
      for (const parent of parents)
        expect([tx.version === 3, parent.tx.version === 3]).not.toContain(tx.version !== 3)
      if (tx.version !== 3) continue
      expect(parents.size + children.size).toBeLessThanOrEqual(1)
      pairs += parents.size
    }
    expect(pairs).toBeGreaterThan(0)
  })
})

describe('a simulated node of Bitcoin', () => {
  /** Two blocks: outputs for every kind of owner, which the second one spends. */
  function chainOfKinds(): SimChain {
    const chain = buildChain({
      network,
      blocks: [{ coinbaseOutputs: [{ value: 50n * COIN, script: Buffer.from('51', 'hex') }] }],
    })
    const from = [{ txid: chain.read(chain.tip).txs[0]?.txid ?? '', vout: 0 }]
    const to = BITCOIN_KINDS.map((kind) => ({ value: COIN, script: chain.keyring.ownerOf(kind).script }))
    const fan = chain.pay({ from, to })
    chain.mine({ txs: [fan] })
    const spends = BITCOIN_KINDS.map((_, vout) =>
      chain.pay({
        from: [{ tx: fan, vout }],
        to: [{ value: COIN - 1000n, script: Buffer.from('51', 'hex') }],
      }),
    )
    chain.mine({ txs: spends })
    return chain
  }

  test('answers as Bitcoin Core 28.1: types, addresses, descriptors and vsizes of all kinds of outputs', () => {
    const chain = chainOfKinds()
    const rpc = new Rpc(new Simulation(chain))
    const [, fan] = (call(rpc, 'getblock', chain.at(2)?.hash, 3) as NodeBlock).tx
    const [, ...spends] = (call(rpc, 'getblock', chain.tip.hash, 3) as NodeBlock).tx as PrintedTx[]
    const answers = BITCOIN_KINDS.map((kind, n) => {
      const scriptPubKey = fan?.vout[n]?.scriptPubKey as PrintedScript
      expect(spends[n]?.vin[0]?.prevout).toMatchObject({ height: 2, generated: false, scriptPubKey })
      const { type, address = '', desc } = scriptPubKey
      return [kind, type, address.slice(0, 6), desc.slice(0, 6), spends[n]?.vsize]
    })
    // 61 vbytes without signatures: 10, an input of 41, and an output of 10.
    expect(answers).toEqual([
      ['p2wpkh', 'witness_v0_keyhash', 'bcrt1q', 'addr(b', 89],
      ['p2pkh', 'pubkeyhash', 'n1U8C6', 'addr(n', 167],
      ['p2tr', 'witness_v1_taproot', 'bcrt1p', 'rawtr(', 78],
      ['p2tr-script', 'witness_v1_taproot', 'bcrt1p', 'rawtr(', 96],
      ['p2sh-p2wpkh', 'scripthash', '2N31DW', 'addr(2', 112],
      ['p2sh-p2wsh', 'scripthash', '2N5GC9', 'addr(2', 160],
      ['p2sh-multisig', 'scripthash', '2N45ZS', 'addr(2', 313],
      ['p2wsh', 'witness_v0_scripthash', 'bcrt1q', 'addr(b', 125],
      ['p2pk', 'pubkey', '', 'pk(02e', 133],
      ['p2pk-uncompressed', 'pubkey', '', 'pk(04b', 133],
      ['multisig', 'multisig', '', 'multi(', 134],
      ['multisig-2of3', 'multisig', '', 'multi(', 206],
      ['anchor', 'anchor', 'bcrt1p', 'addr(b', 61],
      ['nonstandard', 'nonstandard', '', 'raw(14', 61],
      ['witness-unknown', 'witness_unknown', 'bcrt1r', 'addr(b', 61],
    ])
    expect(call(rpc, 'getnetworkinfo')).toMatchObject({ version: 280_100, warnings: [] })
    expect(call(rpc, 'getblockchaininfo')).toMatchObject({ chain: 'regtest', warnings: [] })
    const anchor = fan?.vout[BITCOIN_KINDS.indexOf('anchor')]?.scriptPubKey.address
    expect(anchor).toBe('bcrt1pfeesnyr2tx')
  })

  test('names the challenge of a signet', () => {
    const rpc = new Rpc(new Simulation(buildChain({ network: BITCOIN_SIGNET })))
    expect(call(rpc, 'getblockchaininfo')).toMatchObject({
      chain: 'signet',
      signet_challenge: BITCOIN_SIGNET.signetChallenge,
      difficulty: 0.001126515290698186,
    })
  })
})
