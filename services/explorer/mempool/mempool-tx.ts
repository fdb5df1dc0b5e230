import { movedBy } from '../../../pipelines/chain/moved.js'
import { inputShowsDilithium } from '../../../pipelines/chain/dilithium.js'
import { parseTx, type Tx } from '../../../pipelines/chain/transaction.js'
import { scriptHash } from '../../../pipelines/chain/script.js'

/** An output that an input spends. */
export interface Coin {
  /** Base units. */
  readonly value: bigint
  readonly script: Buffer
}

/** An unconfirmed transaction. */
export interface PoolTx {
  readonly txid: string
  /** Serialised with witnesses. */
  readonly raw: Buffer
  /** Base units. */
  readonly fee: bigint
  /** Unix seconds. */
  readonly firstSeen: number
  readonly size: number
  readonly vsize: number
  readonly weight: number
  /** Σ outputs, base units. */
  readonly value: bigint
  /** What the inputs spend, `txid:vout`. */
  readonly outpoints: readonly string[]
  /** By input, undefined where what it spends was not found yet. */
  readonly coins: readonly (Coin | undefined)[]
  readonly isDilithium: boolean
  /** What leaves its owners, base units; undefined while an owner is not known. */
  readonly moved: bigint | undefined
  /** By script hash: received minus sent. */
  readonly changes: ReadonlyMap<string, bigint>
}

export interface PoolTxFacts {
  readonly raw: Buffer
  readonly fee: bigint
  readonly firstSeen: number
}

export const outpointOf = (txid: string, vout: number): string => `${txid}:${String(vout)}`

/** @throws RangeError for bytes that are no transaction. */
export function poolTx(facts: PoolTxFacts, coins: readonly (Coin | undefined)[] = []): PoolTx {
  const tx = parseTx(facts.raw)
  const { txid, size, vsize, weight } = tx
  const known = tx.inputs.map((_, index) => coins[index])
  return {
    ...facts,
    txid,
    size,
    vsize,
    weight,
    value: tx.outputs.reduce((sum, output) => sum + output.value, 0n),
    outpoints: tx.inputs.map((input) => outpointOf(input.prevTxid, input.prevVout)),
    coins: known,
    isDilithium: tx.inputs.some((input, index) => inputShowsDilithium(input, known[index]?.script)),
    changes: changesOf(tx, known),
    moved: known.includes(undefined) ? undefined : movedBy(tx, known),
  }
}

export function isResolved(tx: PoolTx): boolean {
  return tx.coins.every((coin) => coin !== undefined)
}

function changesOf(tx: Tx, coins: readonly (Coin | undefined)[]): Map<string, bigint> {
  const changes = new Map<string, bigint>()
  const add = (script: Buffer, value: bigint): void => {
    const hash = scriptHash(script)
    changes.set(hash, (changes.get(hash) ?? 0n) + value)
  }
  for (const coin of coins) if (coin !== undefined) add(coin.script, -coin.value)
  for (const output of tx.outputs) add(output.script, output.value)
  return changes
}
