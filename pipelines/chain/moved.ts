import { sumOf } from './amount.js'
import type { Prevout } from './prevout.js'
import type { Tx } from './transaction.js'

/** An output that does not go back to a script among the inputs. */
export interface MovedOutput {
  readonly script: Buffer
  /** Base units. */
  readonly value: bigint
}

type Coins = readonly (Pick<Prevout, 'script'> | undefined)[]

/** The outputs by which value leaves its owners: all but those that return to a script among the inputs. None of a coinbase. */
export function movedOutputs(tx: Pick<Tx, 'isCoinbase' | 'outputs'>, coins: Coins): MovedOutput[] {
  if (tx.isCoinbase) return []
  const owners = new Set(coins.map((coin) => coin?.script.toString('latin1')))
  return tx.outputs.filter(({ script }) => !owners.has(script.toString('latin1')))
}

/** What a transaction takes from its owners, base units: payments, without change and fee. */
export function movedBy(tx: Pick<Tx, 'isCoinbase' | 'outputs'>, coins: Coins): bigint {
  return sumOf(movedOutputs(tx, coins))
}
