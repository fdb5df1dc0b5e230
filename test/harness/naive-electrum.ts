import { createHash } from 'node:crypto'
import { callNode, type RpcNode } from './follow-node.js'
import type { NaiveChain } from './naive-chain.js'
import { baseUnits, type NodeTx } from './node-json.js'

/** An unconfirmed transaction of a script. */
export interface Unconfirmed {
  readonly txid: string
  /** -1 if it spends an unconfirmed output, otherwise 0. */
  readonly height: number
  readonly fee: number
  /** Received minus sent, in base units. */
  readonly change: bigint
}

interface MempoolEntry {
  readonly depends: readonly string[]
  readonly fees: { readonly base: number }
}

/** Returns the unconfirmed transactions of each script, as the node describes them, in the order of the Electrum protocol. */
export async function unconfirmedByScript(
  chain: NaiveChain,
  node: RpcNode,
): Promise<ReadonlyMap<string, readonly Unconfirmed[]>> {
  const entries = Object.entries(await callNode<Record<string, MempoolEntry>>(node, 'getrawmempool', true))
  const txs = new Map<string, NodeTx>()
  for (const [txid] of entries) txs.set(txid, await callNode<NodeTx>(node, 'getrawtransaction', txid, 1))
  const coinOf = (txid: string, vout: number): { script: string; value: bigint } | undefined => {
    const output = txs.get(txid)?.vout[vout]
    return output === undefined
      ? chain.coins.get(`${txid}:${String(vout)}`)
      : { script: output.scriptPubKey.hex, value: baseUnits(output.value) }
  }
  const byScript = new Map<string, Unconfirmed[]>()
  for (const [txid, { depends, fees }] of entries) {
    const tx = txs.get(txid)
    const changes = new Map<string, bigint>()
    const add = (script: string, value: bigint) => changes.set(script, (changes.get(script) ?? 0n) + value)
    for (const { scriptPubKey, value } of tx?.vout ?? []) add(scriptPubKey.hex, baseUnits(value))
    for (const input of tx?.vin ?? []) {
      const coin = coinOf(input.txid ?? '', input.vout ?? 0)
      if (coin !== undefined) add(coin.script, -coin.value)
    }
    const height = depends.length > 0 ? -1 : 0
    for (const [script, change] of changes)
      byScript.set(script, [
        ...(byScript.get(script) ?? []),
        { txid, height, fee: Number(baseUnits(fees.base)), change },
      ])
  }
  for (const list of byScript.values())
    list.sort((one, other) => other.height - one.height || (one.txid < other.txid ? -1 : 1))
  return byScript
}

/** Returns the status of a script with a history, as the Electrum protocol defines it. */
export function electrumStatus(
  history: readonly { readonly txid: string; readonly height: number }[],
): string | null {
  if (history.length === 0) return null
  const lines = history.map(({ txid, height }) => `${txid}:${String(height)}:`)
  return createHash('sha256').update(lines.join('')).digest('hex')
}

/** Returns the name of a script (hex) in the Electrum protocol. */
export function electrumHash(script: string): string {
  return createHash('sha256').update(Buffer.from(script, 'hex')).digest().reverse().toString('hex')
}
