import { addressOf } from '../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../pipelines/chain/amount.js'
import { movedOutputs } from '../../../../pipelines/chain/moved.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { decodePrevouts } from '../../../../pipelines/chain/prevout.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import { parseBody, parseTx, type Tx } from '../../../../pipelines/chain/transaction.js'
import type { Labels } from '../../definitions/labels.js'
import type { Coin, ShownTx } from '../../mempool/shown-tx.js'
import type { BlockTx, Tables } from '../../tables/tables.js'
import { isoTime } from '../chain/block-rows.js'
import type { WhaleAlert, WhaleParty } from '../shapes.js'

/** The spelling and the labels of addresses. */
export interface Naming {
  readonly network: Network
  readonly labels: Labels
}

/** The fields of an alert that depend on the block, or on the mempool. */
type TxFields = Pick<WhaleAlert, 'block_height' | 'timestamp' | 'is_dilithium'>

/** Returns the alert of an unconfirmed transaction. @param tx with all its coins. */
export function unconfirmedAlert(tx: ShownTx, naming: Naming): WhaleAlert {
  const { firstSeen, isDilithium, coins } = tx
  const fields = { block_height: null, timestamp: isoTime(firstSeen), is_dilithium: isDilithium }
  const known = coins.filter((coin) => coin !== undefined)
  return alertOf(parseTx(tx.raw), known, fields, naming)
}

/**
 * Returns the alerts of transactions of blocks, in their order.
 * @param timeOf returns the time of the block of a transaction, unix seconds.
 */
export async function confirmedAlerts(
  located: readonly BlockTx[],
  tables: Pick<Tables, 'bodies'>,
  timeOf: (located: BlockTx) => number,
  naming: Naming,
): Promise<WhaleAlert[]> {
  const bodies = await tables.bodies.getAll(located.map(({ txid }) => txid))
  return located.map((each) => {
    const { txid, height, isDilithium } = each
    const found = bodies.get(txid)
    if (found === undefined) throw new Error(`table txs lacks transaction ${txid}, which is in a block`)
    const fields = { block_height: height, timestamp: isoTime(timeOf(each)), is_dilithium: isDilithium }
    return alertOf(parseBody(found.body), decodePrevouts(found.prevouts), fields, naming)
  })
}

function alertOf(tx: Tx, coins: readonly Coin[], fields: TxFields, naming: Naming): WhaleAlert {
  const moved = movedOutputs(tx, coins)
  const { block_height, timestamp, is_dilithium } = fields
  return {
    txid: tx.txid,
    block_height,
    timestamp,
    value: sumOf(moved).toString(),
    fee: (sumOf(coins) - sumOf(tx.outputs)).toString(),
    is_dilithium,
    from: parties(coins, naming),
    to: parties(moved, naming),
  }
}

/** Sums the values per script, largest first. Scripts with a total of 0 are omitted. */
function parties(coins: readonly Coin[], { network, labels }: Naming): WhaleParty[] {
  const byScript = new Map<string, { readonly script: Buffer; value: bigint }>()
  for (const { script, value } of coins) {
    const hash = scriptHash(script)
    const party = byScript.get(hash)
    if (party === undefined) byScript.set(hash, { script, value })
    else party.value += value
  }
  return [...byScript]
    .filter(([, { value }]) => value > 0n)
    .sort(([, one], [, other]) => (one.value < other.value ? 1 : one.value > other.value ? -1 : 0))
    .map(([hash, { script, value }]) => ({
      address: addressOf(script, network) ?? null,
      label: labels.ofScript(hash)?.label ?? null,
      value: value.toString(),
    }))
}
