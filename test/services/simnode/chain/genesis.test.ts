import { describe, expect, test } from 'vitest'
import { parseBlock } from '../../../../pipelines/chain/block.js'
import { BITCOIN_MAIN, NETWORKS, REGTEST } from '../../../../pipelines/chain/networks.js'
import { genesisOf } from '../../../../services/simnode/chain/genesis.js'
import { buildChain } from '../../../../services/simnode/chain/sim-chain.js'

describe('block 0 of a simulated chain', () => {
  test.each([...NETWORKS.values()])('is that of $name', (network) => {
    const chain = buildChain({ network, blocks: 1 })
    const block = parseBlock(chain.read(chain.genesis).raw, network)
    expect(block.hash).toBe(network.genesisHash)
    expect(chain.genesis).toMatchObject({ hash: network.genesisHash, time: block.header.time })
    expect(chain.tip.time).toBe(block.header.time + network.blockSpacing)
    expect(chain.coins.total).toBe(network.firstSubsidy)
  })

  test('has the work of its own bits', () => {
    const chain = buildChain({ network: BITCOIN_MAIN, blocks: 1 })
    expect([chain.genesis, chain.tip].map(({ chainwork }) => chainwork)).toEqual([0x100010001n, 0x100010003n])
  })

  test('is refused for a network whose block 0 is another one', () => {
    const network = { ...REGTEST, name: 'restarted', genesisHash: '00'.repeat(32) }
    expect(() => genesisOf(network)).toThrow('restarted cannot be simulated')
  })
})
