import { expect, inject, it } from 'vitest'
import { addressOf } from '../../../pipelines/chain/address.js'
import { scriptHash } from '../../../pipelines/chain/script.js'
import { newestList } from '../../../pipelines/tables/unspent.js'
import { startSimnode } from '../../../services/simnode/node.js'
import { buildChain, forkAt } from '../../../services/simnode/sim-chain.js'
import { Pipeline } from '../../harness/pipeline.js'

it('lists the unspent outputs of a script that changes much; pages are right through blocks and a reorganisation', async () => {
  const chain = buildChain({ seed: 'listed', blocks: 3 })
  const script = chain.keyring.ownerOf('p2wpkh').script
  const address = addressOf(script, 'regtest') ?? ''
  const paid = chain.mine({ coinbaseOutputs: [{ value: 100_000_000n, script }] })
  const from = [{ txid: chain.read(paid).txs[0]?.txid ?? '', vout: 0 }]
  const to = Array.from({ length: 40 }, () => ({ value: 1_000_000n, script }))
  const fan = chain.pay({ from, to, change: script })
  chain.mine({ txs: [fan] })
  /** Spends one of the forty, to the same script. */
  const spend = (vout: number) => chain.pay({ from: [{ tx: fan, vout }], to: [], change: script })
  const node = await startSimnode({ chain })
  const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), listTail: 10 })
  const heights: number[] = []
  /** Where the list is now, after every page was compared with what the rows of outputs say. */
  const look = async (): Promise<void> => {
    await pipeline.level()
    const unspent = new Map<string, number>()
    for (let height = 0; height <= chain.tip.height; height++) {
      const block = chain.at(height)
      for (const tx of block === undefined ? [] : chain.read(block).txs) {
        for (const { prevTxid, prevVout } of tx.inputs) unspent.delete(`${prevTxid}:${String(prevVout)}`)
        for (const [vout, output] of tx.outputs.entries())
          if (output.script.equals(script)) unspent.set(`${tx.txid}:${String(vout)}`, height)
      }
    }
    const found: string[] = []
    for (let offset = 0; ; offset += 7) {
      const { body } = await pipeline.get(`/address/${address}/utxos?limit=7&offset=${String(offset)}`)
      expect(body.total).toBe(unspent.size)
      for (const { txid, vout, block_height } of body.items) {
        expect(block_height).toBe(unspent.get(`${txid}:${String(vout)}`))
        found.push(`${txid}:${String(vout)}`)
      }
      if (body.items.length < 7) break
    }
    expect(found.sort()).toEqual([...unspent.keys()].sort())
    heights.push((await newestList(pipeline.db, { scriptHash: scriptHash(script), filter: '1' })).height)
  }
  try {
    await look()
    for (let block = 0; block < 4; block++) {
      chain.mine({ txs: [0, 1, 2, 3, 4, 5].map((index) => spend(6 * block + index)) })
      await look()
    }
    const listed = heights.at(-1) ?? -1
    expect(listed).toBeGreaterThan(5)
    // The blocks that it is of are replaced: the newest list is of another branch then.
    const fork = forkAt(chain, listed - 2)
    fork.mine({}, { txs: [spend(30)] }, {}, {}, {}, {})
    fork.activate()
    await look()
    expect(new Set(heights).size).toBeGreaterThan(1)
  } finally {
    await pipeline.close()
    await node.close()
  }
})
