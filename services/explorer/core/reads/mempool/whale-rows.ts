import { isoTime } from '../../../../../pipelines/chain/time.js'
import { addressOf } from '../../../../../pipelines/chain/address.js'
import { sumOf } from '../../../../../pipelines/chain/amount.js'
import { movedOutputs } from '../../../../../pipelines/chain/moved.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { decodePrevouts } from '../../../../../pipelines/chain/prevout.js'
import { electrumHashOf, scriptHash, scriptType } from '../../../../../pipelines/chain/script.js'
import { parseBody, parseTx, type Tx } from '../../../../../pipelines/chain/transaction.js'
import type { Labels } from '../../definitions/labels.js'
import type { Coin, ShownTx } from '../../mempool/shown-tx.js'
import type { BlockTx } from '../../tables/lookups.js'
import type { Tables } from '../../tables/tables.js'
import { bodyOf } from '../../tables/transactions.js'
import type { AnswerSize } from '../answer-size.js'
import type { WhaleAlert, WhaleParty } from '../shapes.js'

/** The spelling and the labels of addresses. */
export interface Naming {
  readonly network: Network
  readonly labels: Labels
}

/** The options of making an alert. */
export interface Alerting extends Naming {
  /** The maximum number of senders, and of recipients. Not set: all. */
  readonly most?: number
  /** Bounds the size of the answer. Not set: it is not bounded. */
  readonly size?: Pick<AnswerSize, 'add' | 'reserve'>
}

/** An alert with the largest senders and recipients. The numbers of all are set only if there is a maximum. */
export type BriefAlert = WhaleAlert & { from_count?: number; to_count?: number }

/** About the characters of senders and recipients for each byte of a body with what it spends. */
const CHARACTERS_PER_BYTE = 3
/** About the characters of a sender or recipient, and of an alert without them. */
const CHARACTERS = { party: 150, alert: 250 }

/** The fields of an alert that depend on the block, or on the mempool. */
type TxFields = Pick<WhaleAlert, 'block_height' | 'timestamp' | 'is_dilithium'>

/** Returns the alert of an unconfirmed transaction. @param tx with all its coins. */
export function unconfirmedAlert(tx: ShownTx, how: Alerting): BriefAlert {
  const { firstSeen, isDilithium, coins } = tx
  const fields = { block_height: null, timestamp: isoTime(firstSeen), is_dilithium: isDilithium }
  const knownCoins = coins.filter((coin) => coin !== undefined)
  return alertOf(parseTx(tx.raw), knownCoins, fields, how)
}

/**
 * Returns the alerts of transactions of blocks, in their order.
 * @param timeOf returns the time of the block of a transaction, unix seconds.
 */
export async function confirmedAlerts(
  located: readonly BlockTx[],
  tables: Pick<Tables, 'bodies' | 'largeBodies'>,
  timeOf: (located: BlockTx) => number,
  how: Alerting,
): Promise<BriefAlert[]> {
  const bodies = await tables.bodies.getAll(located.map(({ txid }) => txid))
  const bytes = [...bodies.values()].reduce((sum, { bodySize }) => sum + bodySize, 0)
  await how.size?.reserve(CHARACTERS_PER_BYTE * bytes)
  const alerts: BriefAlert[] = []
  for (const each of located) {
    const { txid, height, isDilithium } = each
    const row = bodies.get(txid)
    if (row === undefined) throw new Error(`table txs lacks transaction ${txid}, which is in a block`)
    const { body, prevouts } = await bodyOf(tables, row)
    const fields = { block_height: height, timestamp: isoTime(timeOf(each)), is_dilithium: isDilithium }
    alerts.push(alertOf(parseBody(body), decodePrevouts(prevouts), fields, how))
  }
  return alerts
}

/** @throws AnswerTooLarge. */
function alertOf(tx: Tx, coins: readonly Coin[], fields: TxFields, how: Alerting): BriefAlert {
  const moved = movedOutputs(tx, coins)
  const { block_height, timestamp, is_dilithium } = fields
  const [from, to] = [parties(coins), parties(moved)]
  const { most = Number.POSITIVE_INFINITY, size } = how
  size?.add(CHARACTERS.alert + CHARACTERS.party * (Math.min(from.length, most) + Math.min(to.length, most)))
  return {
    txid: tx.txid,
    block_height,
    timestamp,
    value: sumOf(moved).toString(),
    fee: (sumOf(coins) - sumOf(tx.outputs)).toString(),
    is_dilithium,
    from: from.slice(0, most).map((party) => named(party, how)),
    to: to.slice(0, most).map((party) => named(party, how)),
    ...(how.most === undefined ? {} : { from_count: from.length, to_count: to.length }),
  }
}

/** The value that belongs to a script. */
interface Party {
  readonly hash: string
  readonly script: Buffer
  value: bigint
}

/** Sums the values per script, largest first. Scripts with a total of 0 are omitted. */
function parties(coins: readonly Coin[]): Party[] {
  const byScript = new Map<string, Party>()
  for (const { script, value } of coins) {
    const hash = scriptHash(script)
    const party = byScript.get(hash)
    if (party === undefined) byScript.set(hash, { hash, script, value })
    else party.value += value
  }
  return [...byScript.values()]
    .filter(({ value }) => value > 0n)
    .sort((one, other) => (one.value < other.value ? 1 : one.value > other.value ? -1 : 0))
}

function named({ hash, script, value }: Party, { network, labels }: Naming): WhaleParty {
  const address = addressOf(script, network)
  return {
    address: address ?? null,
    ...(address === undefined
      ? { script: { script_type: scriptType(script, network), scripthash: electrumHashOf(script) } }
      : {}),
    label: labels.ofScript(hash)?.label ?? null,
    value: value.toString(),
  }
}
