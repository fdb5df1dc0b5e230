import { outpointOf } from '../../../pipelines/chain/prevout.js'
import { parseTx } from '../../../pipelines/chain/transaction.js'
import { type Coin, isResolved, shownTx, type ShownTx } from './shown-tx.js'
import type { Tables } from '../tables/tables.js'

/**
 * Finds the outputs that unconfirmed transactions spend: in each other, in the mempool, or in the chain. A txid determines its
 * outputs, so they are the same on every branch.
 * @returns the transactions for which further outputs were found.
 * @throws DatabaseUnavailable.
 */
export async function resolveCoins(
  txs: readonly ShownTx[],
  mempool: (txid: string) => ShownTx | undefined,
  tables: Pick<Tables, 'bodies'>,
): Promise<ShownTx[]> {
  const open = txs.filter((tx) => !isResolved(tx))
  const own = new Map(txs.map((tx) => [tx.txid, tx]))
  const parents = new Set(
    open.flatMap((tx) => tx.outpoints.filter((_, index) => tx.coins[index] === undefined).map(txidOf)),
  )
  const serialised = new Map<string, Buffer>()
  const elsewhere: string[] = []
  for (const txid of parents) {
    const parent = own.get(txid) ?? mempool(txid)
    if (parent === undefined) elsewhere.push(txid)
    else serialised.set(txid, parent.raw)
  }
  for (const [txid, { body }] of await tables.bodies.getAll(elsewhere)) serialised.set(txid, body)
  const coins = coinsOf(serialised)
  return open
    .map((tx) => fill(tx, coins))
    .filter((tx, index) => missing(tx) < missing(open[index] as ShownTx))
}

const txidOf = (outpoint: string): string => outpoint.slice(0, 64)
const missing = (tx: ShownTx): number => tx.coins.filter((coin) => coin === undefined).length

function coinsOf(serialised: ReadonlyMap<string, Buffer>): Map<string, Coin> {
  const coins = new Map<string, Coin>()
  for (const [txid, bytes] of serialised) {
    for (const [vout, { value, script }] of parseTx(bytes).outputs.entries())
      coins.set(outpointOf(txid, vout), { value, script: Buffer.from(script) })
  }
  return coins
}

function fill(tx: ShownTx, coins: ReadonlyMap<string, Coin>): ShownTx {
  const found = tx.outpoints.map((outpoint, index) => tx.coins[index] ?? coins.get(outpoint))
  return shownTx(tx, found)
}
