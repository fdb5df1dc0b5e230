import { sumOf } from './amount.js'
import type { Prevout } from './prevout.js'
import type { Tx } from './transaction.js'

/** An output that does not return to the script of an input. */
export interface MovedOutput {
  readonly script: Buffer
  /** Base units. */
  readonly value: bigint
}

type Coins = readonly (Pick<Prevout, 'script'> | undefined)[]

/** Returns the outputs that do not return to the script of an input; none for a coinbase. */
export function movedOutputs(tx: Pick<Tx, 'isCoinbase' | 'outputs'>, coins: Coins): MovedOutput[] {
  if (tx.isCoinbase) return []
  const owners = new Set(coins.map((coin) => coin?.script.toString('latin1')))
  return tx.outputs.filter(({ script }) => !owners.has(script.toString('latin1')))
}

/** Returns the value that leaves the owners of the inputs, in base units: payments without change and fee. */
export function movedBy(tx: Pick<Tx, 'isCoinbase' | 'outputs'>, coins: Coins): bigint {
  return sumOf(movedOutputs(tx, coins))
}
