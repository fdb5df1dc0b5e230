import { PLAIN_SPEND, protectionOf, spendKindsOf } from '../../../../../pipelines/chain/columns/protection.js'
import { hasDilithiumSignature } from '../../../../../pipelines/chain/dilithium.js'
import { innerScripts } from '../../../../../pipelines/chain/forms/inner-scripts.js'
import { keysOfSpend } from '../../../../../pipelines/chain/forms/spend-keys.js'
import { keyHashOf } from '../../../../../pipelines/chain/keys/public-key.js'
import { hash160 } from '../../../../../pipelines/chain/hash.js'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import { decodePrevouts } from '../../../../../pipelines/chain/prevout.js'
import { isPlainKey, scriptHash, scriptType } from '../../../../../pipelines/chain/script.js'
import { parseBody, parseTx, type Tx } from '../../../../../pipelines/chain/transaction.js'
import type { ShownTx } from '../../mempool/shown-tx.js'
import type { ScriptRow } from '../../tables/lookups.js'
import { blockTxKey } from '../../tables/point-keys.js'
import { storedOf, transactionAt } from '../../tables/transactions.js'
import type { ReadContext } from '../read.js'
import { endsOfScript } from '../script.js'

/** A script, with the transactions of chain and mempool that concern its keys. */
export interface Use {
  readonly script: Buffer
  readonly hash: string
  /** Its last transaction in the chain; undefined if there is none. */
  readonly last: ScriptRow | undefined
  /** The first transaction of the chain that shows a key of it that is not of Dilithium; undefined if none does. */
  readonly shownBy: ScriptRow | undefined
  readonly unconfirmed: readonly ShownTx[]
}

/** A transaction that shows a key, or the script of which a script has the hash. */
export interface Revelation {
  readonly script: Buffer
  readonly txid: string
  /** Height of its block; undefined for an unconfirmed one. */
  readonly height: number | undefined
  /** The input that does so, or the output, if the script itself shows the key. */
  readonly vin: number | undefined
  readonly vout: number | undefined
  /** Those that the input shows; none for an output. */
  readonly keys: readonly Buffer[]
  /** The script of which the spent script has the hash. */
  readonly innerScript: Buffer | undefined
}

/** Returns what chain and mempool know of a script, and records that the answer depends on it. */
export async function useOf(context: ReadContext, script: Buffer, network: Network): Promise<Use> {
  const hash = scriptHash(script)
  context.validity.dependsOn(hash)
  const [first, last] = await endsOfScript(context, hash)
  return {
    script,
    hash,
    last,
    shownBy: await shownByOf(context, script, network, { hash, first, last }),
    unconfirmed: context.mempool.ofScript(hash),
  }
}

interface Ends {
  readonly hash: string
  readonly first: ScriptRow | undefined
  readonly last: ScriptRow | undefined
}

async function shownByOf(
  { chain: { view }, tables }: ReadContext,
  script: Buffer,
  network: Network,
  { hash, first, last }: Ends,
): Promise<ScriptRow | undefined> {
  const type = scriptType(script, network)
  if (protectionOf(type, 0) === 'exposed') return first
  if (last === undefined || view === undefined || protectionOf(type, last.spendKinds) !== 'exposed')
    return undefined
  const row = await tables.firstSpendOfScript(hash, PLAIN_SPEND, view.tagFilter())
  if (row === undefined) throw new Error(`table script_txs lacks the first spend of script ${hash}`)
  return row
}

/** Returns the first transaction of the chain that shows a key of one of several scripts; undefined if none does. */
export async function firstRevelation(
  context: ReadContext,
  uses: readonly Use[],
  network: Network,
): Promise<Revelation | undefined> {
  const [earliest] = uses
    .flatMap(({ script, shownBy }) => (shownBy === undefined ? [] : [{ script, row: shownBy }]))
    .sort(({ row: one }, { row: other }) => one.height - other.height || one.txIndex - other.txIndex)
  return earliest && revelationAt(context, earliest.script, earliest.row, network)
}

async function revelationAt(
  { tables, size }: ReadContext,
  script: Buffer,
  row: ScriptRow,
  network: Network,
): Promise<Revelation> {
  const at = await tables.blockTxs.get(blockTxKey(row))
  if (at === undefined) throw new Error(`table block_txs lacks a transaction at height ${String(row.height)}`)
  const stored = await storedOf(tables, [at], true)
  const sizes = stored.get(at.txid)
  await size.reserve(2 * ((sizes?.bodySize ?? 0) + (sizes?.witnessSize ?? 0)))
  const { txid, height, body, prevouts, witness } = await transactionAt(tables, at, stored)
  const tx = parseBody(body, witness)
  const place = placeIn(tx, decodePrevouts(prevouts), script, network)
  if (place === undefined)
    throw new Error(`transaction ${txid} does not show a key of script ${scriptHash(script)}`)
  return { script, txid, height, ...place }
}

/** Returns the oldest unconfirmed transaction that shows a key of one of several scripts; undefined if none does. */
export function unconfirmedRevelation(uses: readonly Use[], network: Network): Revelation | undefined {
  const found = uses.flatMap(({ script, unconfirmed }) =>
    unconfirmed.flatMap(({ raw, coins, txid, firstSeen }) => {
      const place = placeIn(parseTx(raw), coins, script, network)
      return place === undefined ? [] : [{ script, txid, height: undefined, firstSeen, ...place }]
    }),
  )
  return found.sort((one, other) => one.firstSeen - other.firstSeen)[0]
}

/** Returns where a transaction shows a key of a script; undefined if it does not. @param coins the outputs that its inputs spend. */
function placeIn(
  tx: Tx,
  coins: readonly ({ readonly script: Buffer } | undefined)[],
  script: Buffer,
  network: Network,
): Pick<Revelation, 'vin' | 'vout' | 'keys' | 'innerScript'> | undefined {
  const type = scriptType(script, network)
  if (protectionOf(type, PLAIN_SPEND) !== 'exposed') return undefined
  if (protectionOf(type, 0) === 'exposed') {
    const vout = tx.outputs.findIndex((output) => output.script.equals(script))
    return vout < 0 ? undefined : { vin: undefined, vout, keys: [], innerScript: undefined }
  }
  const vin = tx.inputs.findIndex((input, index) => {
    if (coins[index]?.script.equals(script) !== true) return false
    const isDilithium = hasDilithiumSignature(input, script, network)
    return (spendKindsOf(isDilithium, input, script, network) & PLAIN_SPEND) !== 0
  })
  const input = tx.inputs[vin]
  if (input === undefined) return undefined
  const { redeemScript, witnessScript } = innerScripts(input, script, network)
  return {
    vin,
    vout: undefined,
    keys: keysOfSpend(input, script, network),
    innerScript: witnessScript ?? redeemScript,
  }
}

/** Returns the plain public key that a spend of the hash of a key shows; undefined for spends of other scripts. */
export function singleKeyOf({ script, keys, innerScript }: Revelation, network: Network): Buffer | undefined {
  const hash = keyHashOf(script, network) ?? (innerScript && keyHashOf(innerScript, network))
  return hash && keys.find((key) => isPlainKey(key) && hash160(key).equals(hash))
}
