import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { hash160 } from '../../../../../pipelines/chain/hash.js'
import { keyHashScripts, keyScript } from '../../../../../pipelines/chain/keys/public-key.js'
import { forkAt, SimChain } from '../../../../../services/simnode/chain/sim-chain.js'
import { startSimnode } from '../../../../../services/simnode/node.js'
import { Simulation } from '../../../../../services/simnode/simulation.js'
import { NaiveExposure, type NaiveRevelation } from '../../../../harness/naive-exposure.js'
import { hasSpentDilithium } from '../../../../harness/naive-statistics.js'
import type { NodeBlock } from '../../../../harness/node-json.js'
import { Pipeline } from '../../../../harness/pipeline.js'
import { sampled } from '../../../../harness/whole.js'

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
    expect(quantum).toContain('P2PK <small><code>pubkey</code></small>')
    expect(quantum).not.toContain('No address')
    expect(await page('/large')).toContain('move more than 1,000 BTQ to other owners')
  })

  /** @param each whether the revelations of all addresses are compared. */
  async function expectExposure({ each }: { readonly each: boolean }): Promise<void> {
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
    const [newest, before = newest] = (await body('/stats/value/history')).items
    expect(newest).toEqual({
      date: expect.any(String),
      height: chain.tip.height,
      types: now.types.map(({ script_type, value, exposed, protected: safe }: Record<string, string>) => ({
        script_type,
        value,
        exposed,
        protected: safe,
      })),
    })
    // An earlier day has the figures of its last block.
    const earlier = new NaiveExposure(hasSpentDilithium)
    for (const block of (await nodeBlocks()).filter(({ height }) => height <= before.height))
      earlier.push(block)
    for (const { script_type, value, exposed, protected: safe } of before.types) {
      const expected = earlier.figuresOf(script_type)
      expect([value, exposed, safe], script_type).toEqual(
        [expected.value, expected.exposed, expected.protected].map(String),
      )
    }
    const protections = new Set<string>()
    for (const [address, script] of sampled([...addresses], 3)) {
      const { protection, ...summary } = await body(`/address/${address}`)
      expect(protection, address).toBe(naive.protectionOf(script))
      if (each) await expectRevelation({ ...summary, address, protection }, naive.revelationOf(script))
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

  async function expectRevelation(
    summary: Record<'address' | 'protection' | 'protection_by' | 'balance', string>,
    first: NaiveRevelation | undefined,
  ): Promise<void> {
    const { address, protection, balance } = summary
    const exposure = await body(`/address/${address}/exposure`)
    const { txid, vin, vout, block_height } = exposure.revelation ?? {}
    // A spend that waits in the mempool.
    if (exposure.reason === 'unconfirmed') {
      expect([protection, block_height, first], address).toEqual([
        expect.not.stringMatching('exposed'),
        null,
        undefined,
      ])
      return
    }
    expect(exposure, address).toMatchObject({
      protection,
      reason: protection === 'hidden' ? 'hash' : summary.protection_by,
      balance,
      at_risk: protection === 'exposed' ? balance : '0',
    })
    expect(txid && { txid, vin, vout, block_height }, address).toEqual(first)
  }

  it('is that of a count over all blocks, also after a reorganisation', async () => {
    await expectExposure({ each: false })
    const fork = forkAt(chain, chain.tip.height - 12)
    for (let count = 0; count < 14; count++) fork.mine({})
    fork.activate()
    await expectExposure({ each: true })
  })

  it('names the first transaction that shows a key, also by another script of it, and while it is unconfirmed', async () => {
    const { keyring } = chain
    const owner = keyring.ownerOf('p2pkh', 10)
    const [key = Buffer.alloc(0)] = keyring.secretsOf(owner).keys
    const addresses = keyHashScripts(hash160(key)).map((script) => addressOf(script, chain.network))
    const [legacy = '', witness = '', nested = ''] = addresses
    const coins = [...chain.coins.coins].filter(
      ({ script, value }) => value > 1_000_000n && keyring.find(script, 0),
    )
    const paid = (script: Buffer) => ({ script, value: 10_000n })
    const [coin, other] = coins
    if (coin === undefined || other === undefined) throw new Error('the chain has no coins')
    const funding = chain.pay({
      from: [coin],
      to: keyHashScripts(hash160(key)).map(paid),
      change: coin.script,
    })
    chain.mine({ txs: [funding] })
    const funded = chain.tip
    await pipeline.level({ tip: chain.tip.hash })
    const exposure = async (address: string) => await body(`/address/${address}/exposure`)
    const hidden = { protection: 'hidden', reason: 'hash', at_risk: '0', revelation: null, keys: [] }
    expect(await exposure(legacy)).toMatchObject(hidden)
    expect(await exposure(witness)).toMatchObject({
      ...hidden,
      balance: '10000',
      same_key: [legacy, nested].map((address) => ({ address, balance: '10000', tx_count: 1 })),
    })
    // What a P2SH script commits to is not known.
    expect(await exposure(nested)).toMatchObject({ ...hidden, same_key: [] })

    const spend = chain.pay({ from: [{ tx: funding, vout: 0 }], to: [], change: coin.script })
    expect(node.simulation.mempool.accept(spend)).toBeDefined()
    await pipeline.level({ tip: chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    const revelation = { txid: spend.txid, block_height: null, vin: 0, vout: null, address: legacy }
    for (const address of [legacy, witness])
      expect(await exposure(address)).toMatchObject({
        protection: 'exposed',
        reason: 'unconfirmed',
        at_risk: '10000',
        revelation,
      })

    const fork = forkAt(chain, funded)
    chain.mine({})
    chain.mine({ txs: [spend] })
    const expectConfirmed = async (): Promise<void> => {
      await pipeline.level({ tip: chain.tip.hash })
      const confirmed = {
        protection: 'exposed',
        revelation: { ...revelation, block_height: chain.tip.height },
        keys: [{ key: key.toString('hex'), isDilithium: false }],
      }
      expect(await exposure(legacy)).toMatchObject({ ...confirmed, reason: 'spend', at_risk: '0' })
      expect(await exposure(witness)).toMatchObject({ ...confirmed, reason: 'same_key', at_risk: '10000' })
    }
    await expectConfirmed()
    const page = await (
      await fetch(`${pipeline.url}/address/${witness}`, { headers: { accept: 'text/html' } })
    ).text()
    expect(page).toContain(`href="/tx/${spend.txid}"`)
    // A reorganisation moves the spend to another height.
    fork.mine({}, {}, { txs: [spend] })
    fork.activate()
    await expectConfirmed()
    // Another one shows the key earlier: a P2PK output contains it.
    const earlier = forkAt(chain, funded)
    const keyed = chain.pay({
      from: [other],
      to: [paid(keyScript(key, chain.network) as Buffer)],
      change: other.script,
    })
    earlier.mine({ txs: [keyed] }, { txs: [spend] }, {}, {}, {})
    earlier.activate()
    await pipeline.level({ tip: chain.tip.hash })
    const byOutput = { txid: keyed.txid, block_height: funded.height + 1, vin: null, vout: 0, address: null }
    for (const address of [legacy, witness])
      expect(await exposure(address)).toMatchObject({ reason: 'same_key', revelation: byOutput })
    expect(await exposure(key.toString('hex'))).toMatchObject({ reason: 'script', revelation: byOutput })
  })

  it('names the script and the keys that the spend of a hash shows', async () => {
    const owner = chain.keyring.ownerOf('p2sh-multisig', 10)
    const coin = [...chain.coins.coins].find(
      ({ script, value }) => value > 1_000_000n && chain.keyring.find(script, 0),
    )
    if (coin === undefined) throw new Error('the chain has no coin')
    const funding = chain.pay({
      from: [coin],
      to: [{ script: owner.script, value: 10_000n }],
      change: coin.script,
    })
    const spend = chain.pay({ from: [{ tx: funding, vout: 0 }], to: [], change: owner.script })
    chain.mine({ txs: [funding] })
    chain.mine({ txs: [spend] })
    await pipeline.level({ tip: chain.tip.hash })
    const address = addressOf(owner.script, chain.network) ?? ''
    expect(await body(`/address/${address}/exposure`)).toMatchObject({
      reason: 'spend',
      at_risk: '9000',
      revelation: { txid: spend.txid, script_type: 'scripthash', inner_script_type: 'multisig' },
      keys: chain.keyring.secretsOf(owner).keys.map((key) => ({ key: key.toString('hex') })),
    })
  })
})
