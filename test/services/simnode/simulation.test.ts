import { describe, expect, test } from 'vitest'
import { BITCOIN_REGTEST, REGTEST, subsidy } from '../../../pipelines/chain/networks.js'
import { merkleRoot, parseBlock } from '../../../pipelines/chain/block.js'
import { sha256d } from '../../../pipelines/chain/hash.js'
import { scriptType } from '../../../pipelines/chain/script.js'
import { NaiveState } from '../../harness/naive-state.js'
import { Mempool } from '../../../services/simnode/mempool/mempool.js'
import { SimChain } from '../../../services/simnode/chain/sim-chain.js'
import { upTo } from '../../../services/simnode/history.js'
import { Simulation } from '../../../services/simnode/simulation.js'

function simulate(seed: string, blocks: number, txsPerBlock: number, network = REGTEST): Simulation {
  const simulation = new Simulation(new SimChain({ seed, network }), { txsPerBlock })
  for (const height of simulation.history(upTo(blocks))) expect(height).toBeLessThanOrEqual(blocks)
  return simulation
}

function expectStateToEqualNaiveState({ chain }: Simulation): void {
  const fold = new NaiveState(chain)
  expect(chain.coins.total).toBe(fold.supply)
  expect(chain.coins.size).toBe(fold.utxos().size)
  for (const coin of chain.coins.coins) {
    const applied = fold.utxos().get(`${coin.txid}:${String(coin.vout)}`)
    expect(applied).toMatchObject({
      value: coin.value,
      script: coin.script.toString('hex'),
      height: coin.height,
    })
  }
}

/** Checks that the transactions of the mempool could have entered one by one. */
function expectMempoolToBeSound({ chain, mempool }: Simulation): void {
  const fresh = new Mempool(chain.coins, chain.network)
  const links = (of: Mempool): unknown =>
    [...of.entries()].map(({ tx, fee, parents, children, spends }) => ({
      txid: tx.txid,
      fee,
      parents: [...parents].map((entry) => entry.tx.txid).sort(),
      children: [...children].map((entry) => entry.tx.txid).sort(),
      spends: spends.map((coin) => [coin.txid, coin.vout, coin.height]),
    }))
  for (const entry of mempool.entries()) expect(fresh.accept(entry.tx)).toBeDefined()
  expect(links(mempool)).toEqual(links(fresh))
  expect(mempool.coins.size).toBe(fresh.coins.size)
  expect(mempool.coins.total).toBe(fresh.coins.total)
}

function mempoolIds({ mempool }: Simulation): string[] {
  return [...mempool.entries()].map((entry) => entry.tx.txid)
}

/** Networks of both coins. */
const CHAINS = [REGTEST, BITCOIN_REGTEST]

describe('a simulated chain', () => {
  test('has the same tip for the same seed, also if it has changed meanwhile', () => {
    const [one, two] = [simulate('same', 60, 6), simulate('same', 60, 6)]
    for (const simulation of [one, two]) {
      simulation.enter(20)
      simulation.replace(3)
      simulation.evict(2)
      simulation.reorg(3)
    }
    expect(one.chain.tip.hash).toBe(two.chain.tip.hash)
    expect(mempoolIds(one)).toEqual(mempoolIds(two))
    expect(simulate('other', 60, 6).chain.tip.hash).not.toBe(one.chain.tip.hash)
  })

  test.each(CHAINS)(
    'of $name has only valid blocks: hash, merkle root, target, commitment, reward',
    (network) => {
      const { chain } = simulate('whole', 150, 8, network)
      for (const block of chain.tip.back()) {
        const { raw, spent } = chain.read(block)
        const parsed = parseBlock(raw, network)
        expect(parsed.hash).toBe(block.hash)
        expect(parsed.hash < '7fffff').toBe(true)
        expect(parsed.header.merkleRoot).toBe(merkleRoot(parsed.txs.map((tx) => tx.txid)))
        if (block.parent === undefined) continue
        expect(parsed.header.prevHash).toBe(block.parent.hash)
        const [coinbase, ...others] = parsed.txs
        const paid = (outputs: readonly { value: bigint }[]): bigint =>
          outputs.reduce((sum, { value }) => sum + value, 0n)
        const fees = paid(spent) - others.reduce((sum, tx) => sum + paid(tx.outputs), 0n)
        expect(paid(coinbase?.outputs ?? [])).toBe(subsidy(block.height, chain.network) + fees)
        if (!others.some((tx) => tx.hasWitness)) continue
        const root = merkleRoot(['0'.repeat(64), ...others.map((tx) => tx.wtxid)])
        const commitment = sha256d(
          Buffer.concat([Buffer.from(root, 'hex').reverse(), Buffer.alloc(32)]),
        ).toString('hex')
        expect(coinbase?.outputs.at(-1)?.script.toString('hex')).toBe(`6a24aa21a9ed${commitment}`)
      }
    },
  )

  test('pays and spends all script types, with data of all kinds, and moves large amounts', () => {
    const { chain } = simulate('types', 480, 8)
    const paid = new Set<string>()
    const spentTypes = new Set<string>()
    const tags = new Set<string>()
    let whales = 0
    for (const block of chain.tip.back()) {
      const { txs, spent } = chain.read(block)
      for (const { script } of spent) spentTypes.add(scriptType(script, REGTEST))
      for (const tx of txs) {
        for (const { script } of tx.outputs) paid.add(scriptType(script, REGTEST))
        if (tx.outputs.some(({ value }) => value > 100_000_000_000n)) whales++
      }
      tags.add(/\/.*\//.exec(txs[0]?.inputs[0]?.scriptSig.toString('latin1') ?? '')?.[0] ?? '')
    }
    const all = [
      'dilithium_multisig',
      'dilithium_pubkey',
      'dilithium_pubkeyhash',
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
      'witness_v2_p2mr',
    ]
    expect([...paid].sort()).toEqual(all)
    expect([...spentTypes].sort()).toEqual(all.filter((type) => type !== 'nulldata'))
    expect(whales).toBeGreaterThan(0)
    expect(tags.size).toBeGreaterThan(5)
  })

  test.each(CHAINS)(
    'of $name has after every reorganisation the coins of a clean computation, and a valid mempool',
    (network) => {
      const simulation = simulate('reorgs', 80, 8, network)
      for (let round = 1; round <= 12; round++) {
        simulation.enter(12)
        simulation.replace(2)
        if (round % 4 === 0) simulation.tipBack(2)
        else simulation.reorg(round, round % 3 === 0 ? round + 3 : round + 1)
        expectStateToEqualNaiveState(simulation)
        expectMempoolToBeSound(simulation)
        simulation.mine({ txs: 4 })
        expectMempoolToBeSound(simulation)
      }
    },
  )

  test('confirms some transactions of a reorganisation again, elsewhere, and returns some to the mempool', () => {
    const simulation = simulate('again', 80, 12)
    const { chain } = simulation
    const locationsOf = (depth: number): Map<string, string> => {
      const places = new Map<string, string>()
      for (const block of chain.tip.back()) {
        if (block.height <= chain.tip.height - depth) break
        chain
          .read(block)
          .txs.forEach((tx, at) => places.set(tx.txid, `${String(block.height)}/${String(at)}`))
      }
      return places
    }
    const before = locationsOf(4)
    simulation.reorg(4)
    const after = locationsOf(5)
    const again = [...before].filter(([txid]) => after.has(txid))
    expect(again.length).toBeGreaterThan(5)
    expect(again.some(([txid, place]) => after.get(txid) !== place)).toBe(true)
    expect(mempoolIds(simulation).some((txid) => before.has(txid))).toBe(true)
    expect(
      [...before.keys()].some((txid) => !after.has(txid) && simulation.mempool.get(txid) === undefined),
    ).toBe(true)
  })

  test('has a changing mempool: parents and children, replacement by a higher fee, eviction, confirmation', () => {
    const simulation = simulate('mempool', 80, 8)
    const { mempool } = simulation
    expect(simulation.enter(60)).toBeGreaterThan(40)
    expect([...mempool.entries()].some((entry) => entry.parents.size > 0)).toBe(true)
    expect([...mempool.entries()].every((entry) => entry.fee > 0n)).toBe(true)
    const before = new Map([...mempool.entries()].map((entry) => [entry.tx.txid, entry]))
    expect(simulation.replace(5)).toBeGreaterThan(0)
    const fresh = [...mempool.entries()].filter((entry) => !before.has(entry.tx.txid))
    expect(fresh.length).toBeGreaterThan(0)
    const size = mempool.size
    expect(simulation.evict(3)).toBeGreaterThanOrEqual(3)
    expect(mempool.size).toBeLessThanOrEqual(size - 3)
    const waiting = new Set(mempoolIds(simulation))
    simulation.mine({ txs: 10 })
    const confirmed = simulation.chain.read(simulation.chain.tip).txs.filter((tx) => waiting.has(tx.txid))
    expect(confirmed).toHaveLength(10)
    expect(mempool.size).toBe(waiting.size - 10)
    expectStateToEqualNaiveState(simulation)
  })

  test('can make a block of a given size', () => {
    const simulation = simulate('big', 40, 5)
    const block = simulation.mine({ bytes: 1_000_000 })
    const { raw, strippedSize } = simulation.chain.read(block)
    expect(raw.length).toBeGreaterThan(1_000_000)
    expect(15 * strippedSize + raw.length).toBeLessThanOrEqual(8_000_000)
    expectStateToEqualNaiveState(simulation)
  })

  test('makes blocks fast enough', () => {
    const chain = new SimChain({ seed: 'speed', mix: 'cheap' })
    const simulation = new Simulation(chain, { txsPerBlock: 50 })
    const start = process.cpuUsage()
    for (const height of simulation.history(upTo(400))) expect(height).toBeGreaterThan(0)
    const { user, system } = process.cpuUsage(start)
    const perSecond = 400_000_000 / (user + system)
    console.info(
      `simnode makes ${perSecond.toFixed(0)} blocks of 50 transactions in a second of processor time`,
    )
    // A limit on processor time, which does not depend on the load of the machine; usually 550.
    expect(perSecond).toBeGreaterThan(50)
  })
})
