import { isoTime } from '../../../../../pipelines/chain/time.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import type { ScriptRow } from '../../tables/lookups.js'
import { AnswerTooLarge } from '../answer-size.js'
import type { ReadContext } from '../read.js'
import { changeOf, locatedOf, pageOfScript } from '../script.js'
import type { WalletTransaction } from '../shapes.js'
import type { WalletScript } from './scan.js'

/** The maximum numbers of rows and of outputs that an answer reads: a transaction has a row for each of its scripts. */
const MAX_ROWS = 20_000
/** The number of scripts with a long history that are read at once. */
const SCRIPTS_AT_ONCE = 8

/** Returns whether the histories and unspent outputs of scripts are few enough to be read for one answer. */
export function isReadable(scripts: readonly WalletScript[]): boolean {
  let [rows, outputs] = [0, 0]
  for (const script of scripts) {
    const last = script.rows.at(-1)
    rows += last?.ordinal ?? 0
    outputs += last?.unspentCount ?? 0
  }
  return rows <= MAX_ROWS && outputs <= MAX_ROWS
}

/** Checks that scripts are readable, see `isReadable`. @throws AnswerTooLarge. */
export function assertReadable(scripts: readonly WalletScript[]): void {
  if (!isReadable(scripts))
    throw new AnswerTooLarge(
      `the addresses of the wallet have more than ${String(MAX_ROWS)} transactions or unspent outputs: read them one by one`,
    )
}

/** A confirmed transaction of a wallet. */
export interface WalletChange {
  readonly row: ScriptRow
  /** Received minus sent by all scripts of the wallet, base units. */
  readonly change: bigint
}

/** Returns the confirmed transactions of scripts, each once, newest first. @throws DatabaseUnavailable. */
export async function changesOf(
  context: ReadContext,
  scripts: readonly WalletScript[],
): Promise<WalletChange[]> {
  const changes = new Map<string, WalletChange>()
  for (let from = 0; from < scripts.length; from += SCRIPTS_AT_ONCE) {
    const some = scripts.slice(from, from + SCRIPTS_AT_ONCE).map(({ scriptHash, rows }) => {
      const to = rows.at(-1)?.ordinal ?? 0
      return pageOfScript(context, scriptHash, { from: 1, to }, rows)
    })
    for (const { row, change } of (await Promise.all(some)).flat()) {
      const key = `${String(row.height)} ${String(row.txIndex)}`
      changes.set(key, { row, change: change + (changes.get(key)?.change ?? 0n) })
    }
  }
  return [...changes.values()].sort(
    ({ row: one }, { row: other }) => other.height - one.height || other.txIndex - one.txIndex,
  )
}

/** An unconfirmed transaction of a wallet. */
export interface UnconfirmedChange {
  readonly tx: ShownTx
  readonly change: bigint
}

/** Returns the unconfirmed transactions of scripts, each once, newest first. */
export function unconfirmedChanges(scripts: readonly WalletScript[]): UnconfirmedChange[] {
  const changes = new Map<ShownTx, bigint>()
  for (const { unconfirmed, scriptHash } of scripts)
    for (const tx of unconfirmed) changes.set(tx, (changes.get(tx) ?? 0n) + changeOf(tx, scriptHash))
  return [...changes]
    .map(([tx, change]) => ({ tx, change }))
    .sort(({ tx: one }, { tx: other }) => other.firstSeen - one.firstSeen || (one.txid < other.txid ? -1 : 1))
}

/** Returns items of the history of a wallet: unconfirmed transactions, and confirmed ones. */
export async function itemsOf(
  context: ReadContext,
  unconfirmed: readonly UnconfirmedChange[],
  confirmed: readonly WalletChange[],
): Promise<WalletTransaction[]> {
  const located = await locatedOf(confirmed, context)
  return [
    ...unconfirmed.map(({ tx, change }) => {
      return {
        txid: tx.txid,
        block_height: null,
        tx_index: null,
        value_change: change.toString(),
        timestamp: isoTime(tx.firstSeen),
      }
    }),
    ...confirmed.map(({ row, change }, at) => {
      return {
        txid: located[at]?.txid ?? '',
        block_height: row.height,
        tx_index: row.txIndex,
        value_change: change.toString(),
        timestamp: isoTime(context.chain.blocks.timeAt(row.height)),
      }
    }),
  ]
}
