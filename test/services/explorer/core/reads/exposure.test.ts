import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { forkAt, SimChain } from '../../../../../services/simnode/chain/sim-chain.js'
import { startSimnode } from '../../../../../services/simnode/node.js'
import { Simulation } from '../../../../../services/simnode/simulation.js'
import { NaiveExposure } from '../../../../harness/naive-exposure.js'
import { hasSpentDilithium } from '../../../../harness/naive-statistics.js'
import type { NodeBlock } from '../../../../harness/node-json.js'
import { Pipeline } from '../../../../harness/pipeline.js'

describe('the exposure of a chain with Dilithium signatures', () => {
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline

  beforeAll(async () => {
    chain = new SimChain({ seed: 'exposure' })
    const simulation = new Simulation(chain, { txsPerBlock: 4 })
    simulation.mine({ blocks: 150 })
    simulation.end()
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 8 })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  /** Returns the blocks of the chain as the node prints them. */
  async function nodeBlocks(): Promise<NodeBlock[]> {
    const hashes = [...chain.tip.back()].reverse().map(({ hash }) => hash)
    const calls = hashes.map((hash, id) => ({ id, method: 'getblock', params: [hash, 3] }))
    const { origin, username, password } = new URL(node.url)
    const answer = await fetch(origin, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
      body: JSON.stringify(calls),
    })
    return ((await answer.json()) as { result: NodeBlock }[]).map(({ result }) => result)
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers are read as a client would
  const body = async (path: string): Promise<any> => {
    const answer = await pipeline.get(path)
    expect(answer.status, path).toBe(200)
    return answer.body
  }

  it('is on a page that names scripts without an address as other pages do, and units', async () => {
    await pipeline.level({ tip: chain.tip.hash })
    const page = async (path: string): Promise<string> => {
      const answer = await fetch(pipeline.url + path, { headers: { accept: 'text/html' } })
      return (await answer.text()).replaceAll(/\s+/g, ' ')
    }
    const quantum = await page('/quantum')
    expect(quantum).toContain('P2PK <code>pubkey</code>')
    expect(quantum).not.toContain('No address')
    expect(await page('/large')).toContain('move more than 1,000 BTQ to other owners')
  })

  async function expectExposure(): Promise<void> {
    await pipeline.level({ tip: chain.tip.hash })
    const naive = new NaiveExposure(hasSpentDilithium)
    const addresses = new Map<string, string>()
    for (const block of await nodeBlocks()) {
      naive.push(block)
      for (const { scriptPubKey } of block.tx.flatMap(({ vout }) => vout))
        if (scriptPubKey.address !== undefined) addresses.set(scriptPubKey.address, scriptPubKey.hex)
    }
    const now = await body('/stats/exposure')
    expect(now.height).toBe(chain.tip.height)
    const sums = { value: 0n, exposed: 0n, protected: 0n, hidden: 0n, unknown: 0n }
    for (const type of now.types) {
      const { value, exposed, outputs, ...expected } = naive.figuresOf(type.script_type)
      expect(type, type.script_type).toMatchObject({
        value: String(value),
        exposed: String(exposed),
        protected: String(expected.protected),
        outputs,
        addresses: type.addresses === null ? null : expected.funded,
      })
      sums.value += value
      sums.exposed += exposed
      sums.protected += expected.protected
      if (type.protection === 'unknown') sums.unknown += value
    }
    sums.hidden = sums.value - sums.exposed - sums.protected - sums.unknown
    const texts = Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, String(sum)]))
    expect(now).toMatchObject(texts)
    expect(now.value).toBe((await body('/stats/supply')).circulatingSupply)
    expect((await body('/stats/value')).items).toEqual(now.types)
    expect((await body('/stats/exposure/history')).items[0]).toMatchObject({
      height: chain.tip.height,
      ...texts,
    })
    const protections = new Set<string>()
    for (const [address, script] of addresses) {
      const { protection, ...summary } = await body(`/address/${address}`)
      expect(protection, address).toBe(naive.protectionOf(script))
      expect(summary.spent_count, address).toBe(summary.funded_count - summary.unspent_count)
      protections.add(`${String(protection)} by ${String(summary.protection_by)}`)
    }
    expect([...protections].sort()).toEqual(
      expect.arrayContaining([
        'exposed by script',
        'exposed by spend',
        'hidden by script',
        'protected by script',
        'protected by spend',
      ]),
    )
  }

  it('is that of a count over all blocks, also after a reorganisation', async () => {
    await expectExposure()
    const fork = forkAt(chain, chain.tip.height - 12)
    for (let count = 0; count < 14; count++) fork.mine({})
    fork.activate()
    await expectExposure()
  })
})
