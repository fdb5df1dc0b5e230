import { describe, expect, it } from 'vitest'
import { type RecordedNode, startRecordedNode } from '../../../services/recorded-node/node.js'
import { type Oracles, readOracles, timelineOf } from '../../harness/recording.js'

/** The answers of a real node. That of the main chain's first blocks had no mempool. */
type Answers = Partial<Pick<Oracles, 'addresses' | 'scripts' | 'mempool' | 'transactions'>> & {
  readonly txoutset: object
  readonly chaininfo: object
  readonly networkinfo: { readonly version: number }
}

async function call(node: RecordedNode, method: string, ...params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ id: 1, method, params })
  const response = await fetch(node.url, { method: 'POST', body })
  const { result, error } = (await response.json()) as { result: unknown; error: unknown }
  expect(error).toBeNull()
  return result
}

describe.each(['bitcoin-regtest', 'bitcoin-main'])(
  'the recorded node of %s, at its last frame',
  (recording) => {
    it('answers what the real node answered', async () => {
      const oracles: Answers = readOracles(recording) as Oracles & Answers
      const node = await startRecordedNode({ timeline: timelineOf(recording), frame: 1e9 })
      const rpc = (method: string, ...params: unknown[]): Promise<unknown> => call(node, method, ...params)
      expect(await rpc('gettxoutsetinfo')).toEqual(oracles.txoutset)
      // The main chain's node was in its initial block download.
      expect(await rpc('getblockchaininfo')).toEqual(oracles.chaininfo)
      expect(await rpc('getnetworkinfo')).toMatchObject({
        version: oracles.networkinfo.version,
        warnings: [],
      })
      expect(await rpc('getrawmempool', true)).toEqual(oracles.mempool ?? {})
      const scripts = [
        ...Object.entries(oracles.addresses ?? {}).map(
          ([address, each]) => [`addr(${address})`, each] as const,
        ),
        ...Object.entries(oracles.scripts ?? {}).map(([script, each]) => [`raw(${script})`, each] as const),
      ]
      for (const [descriptor, { balance, utxos }] of scripts) {
        const scan = await rpc('scantxoutset', 'start', [descriptor])
        const { total_amount, unspents } = scan as { total_amount: number; unspents: readonly unknown[] }
        expect([descriptor, total_amount, unspents.length]).toEqual([descriptor, balance, utxos])
      }
      for (const [txid, answer] of Object.entries(oracles.transactions ?? {})) {
        const { in_active_chain, ...rest } = answer as typeof answer & { in_active_chain: boolean }
        expect(await rpc('getrawtransaction', txid, 1)).toMatchObject(rest)
      }
      await node.close()
    })
  },
)

it('names the later block of a coinbase that is in two (BIP 30)', async () => {
  const node = await startRecordedNode({ timeline: timelineOf('bitcoin-regtest'), frame: 1e9 })
  const blockAt = async (height: number): Promise<{ hash: string; tx: string[] }> =>
    (await call(node, 'getblock', await call(node, 'getblockhash', height))) as { hash: string; tx: string[] }
  const [first, second] = await Promise.all([blockAt(121), blockAt(321)])
  expect(second.tx[0]).toBe(first.tx[0])
  expect(await call(node, 'getrawtransaction', first.tx[0], 1)).toMatchObject({ blockhash: second.hash })
  await node.close()
})
