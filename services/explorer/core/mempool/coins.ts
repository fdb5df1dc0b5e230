import { outpointOf } from '../../../../pipelines/chain/prevout.js'
import { parseTx } from '../../../../pipelines/chain/transaction.js'
import { type Coin, isResolved, shownTx, type ShownTx } from './shown-tx.js'
import type { Tables } from '../tables/tables.js'
import { eachBody } from '../tables/transactions.js'

/**
 * Finds the outputs that unconfirmed transactions spend: in each other, in the mempool, or in the chain. A txid determines its
 * outputs, so the branch does not matter.
 * @returns the transactions for which further outputs were found.
 * @throws DatabaseUnavailable.
 */
export async function resolveCoins(
  txs: readonly ShownTx[],
  mempool: (txid: string) => ShownTx | undefined,
  tables: Pick<Tables, 'bodies' | 'largeBodies' | 'unspent'>,
): Promise<ShownTx[]> {
  const open = txs.filter((tx) => !isResolved(tx))
  const own = new Map(txs.map((tx) => [tx.txid, tx]))
  const coins = new Map<string, Coin | undefined>()
  for (const tx of open)
    for (const [index, outpoint] of tx.outpoints.entries())
      if (tx.coins[index] === undefined) coins.set(outpoint, undefined)
  const elsewhere = new Set<string>()
  for (const txid of new Set(Array.from(coins.keys(), txidOf))) {
    const parent = own.get(txid) ?? mempool(txid)
    if (parent === undefined) elsewhere.add(txid)
    else addCoins(coins, txid, parent.raw)
  }
  const wanted = [...coins.keys()].filter((outpoint) => elsewhere.has(txidOf(outpoint)))
  for (const [outpoint, coin] of await tables.unspent(wanted)) coins.set(outpoint, coin)
  const others = wanted.filter((outpoint) => coins.get(outpoint) === undefined)
  await eachBody(tables, [...new Set(others.map(txidOf))], ({ txid, body }) => {
    addCoins(coins, txid, body)
  })
  return open
    .map((tx) => fill(tx, coins))
    .filter((tx, index) => missing(tx) < missing(open[index] as ShownTx))
}

const txidOf = (outpoint: string): string => outpoint.slice(0, 64)
const missing = (tx: ShownTx): number => tx.coins.filter((coin) => coin === undefined).length

/** Adds the wanted outputs of a transaction. */
function addCoins(coins: Map<string, Coin | undefined>, txid: string, bytes: Buffer): void {
  for (const [vout, { value, script }] of parseTx(bytes).outputs.entries()) {
    const outpoint = outpointOf(txid, vout)
    // A copy: the script is a view of a whole response.
    if (coins.has(outpoint)) coins.set(outpoint, { value, script: Buffer.from(script) })
  }
}

function fill(tx: ShownTx, coins: ReadonlyMap<string, Coin | undefined>): ShownTx {
  const allCoins = tx.outpoints.map((outpoint, index) => tx.coins[index] ?? coins.get(outpoint))
  return shownTx(tx, allCoins)
}
