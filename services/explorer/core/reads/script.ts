import { addressOf, type DecodedAddress, decodeAddress } from '../../../../pipelines/chain/address.js'
import { ByteReader } from '../../../../pipelines/chain/bytes.js'
import { reverseHex, sha256 } from '../../../../pipelines/chain/hash.js'
import { keyScript } from '../../../../pipelines/chain/keys/public-key.js'
import { type Network, NETWORKS } from '../../../../pipelines/chain/networks.js'
import {
  electrumHashOf,
  multisigOf,
  scriptHash,
  scriptKeyOf,
  type ScriptType,
  scriptType,
} from '../../../../pipelines/chain/script.js'
import { readTx } from '../../../../pipelines/chain/transaction.js'
import type { ShownTx } from '../mempool/shown-tx.js'
import { LAST_ROWS, type PlacedTx, type ScriptRow } from '../tables/lookups.js'
import { blockTxKey } from '../tables/point-keys.js'
import { address as schema, badArgument } from './arguments.js'
import type { ReadContext } from './read.js'

/** A script that a request names. */
export interface NamedScript extends Pick<DecodedAddress, 'isDilithiumSpelling'> {
  readonly network: Network
  /** The key of the script in the tables. */
  readonly scriptHash: string
  /** Undefined if only its hash is known. */
  readonly script: Buffer | undefined
  /** Its address: as in the request, otherwise as the node spells it; null if it has none, or its hash alone is known. */
  readonly address: string | null
}

/** The size up to which a script always belongs to an answer: those with an address, and others of usual form. */
export const MAX_USUAL_SCRIPT = 128

const DIGITS = /^(?:[0-9a-f]{2})+$/i
/** A key in the tables that no script has. */
const NO_KEY = '0'.repeat(40)

/**
 * Returns the script that a text names: an address, a script hash of the Electrum protocol, a public key (its script is P2PK), or a
 * script, the last three as hexadecimal; undefined if it is none of them. Before the first head, addresses of all networks are accepted.
 */
export function scriptOf({ chain }: Pick<ReadContext, 'chain'>, text: string): NamedScript | undefined {
  const networks = chain.network === undefined ? [...NETWORKS.values()] : [chain.network]
  for (const network of networks) {
    const decoded = decodeAddress(text, network)
    if (decoded !== undefined)
      return { ...decoded, network, scriptHash: scriptHash(decoded.script), address: text }
  }
  const [network] = networks
  if (network === undefined || !DIGITS.test(text)) return undefined
  const key = scriptKeyOf(text.toLowerCase())
  if (key !== undefined) return hashedScript(key, network)
  const bytes = Buffer.from(text, 'hex')
  return namedScript(keyScript(bytes, network) ?? bytes, network)
}

/** Returns a script with its key in the tables and its address. */
export function namedScript(script: Buffer, network: Network): NamedScript {
  const address = addressOf(script, network) ?? null
  return { network, scriptHash: scriptHash(script), script, address, isDilithiumSpelling: false }
}

/** Returns a script of which only the key in the tables is known. */
function hashedScript(key: string, network: Network): NamedScript {
  return { network, scriptHash: key, script: undefined, address: null, isDilithiumSpelling: false }
}

/**
 * Returns the script with a script hash of the Electrum protocol, in lower case; without its bytes if neither chain nor mempool have it.
 * @throws RangeError for another text; DatabaseUnavailable.
 */
export function scriptOfHash(
  context: Pick<ReadContext, 'mempool' | 'tables'>,
  network: Network,
  electrumHash: string,
): Promise<NamedScript> {
  const key = scriptKeyOf(electrumHash)
  if (key === undefined) throw new RangeError(`not a script hash: ${electrumHash}`)
  return withScript(context, hashedScript(key, network), electrumHash)
}

/**
 * Returns the key in the tables of the script with a script hash of the Electrum protocol, in lower case; a key that no script has, if
 * chain or mempool have another script with that key, which is only a part of the hash.
 * @throws RangeError for another text; DatabaseUnavailable.
 */
export async function keyOfScriptHash(
  { mempool, tables }: Pick<ReadContext, 'mempool' | 'tables'>,
  electrumHash: string,
): Promise<string> {
  const key = scriptKeyOf(electrumHash)
  if (key === undefined) throw new RangeError(`not a script hash: ${electrumHash}`)
  const [unconfirmed] = mempool.ofScript(key)
  const script = unconfirmed && scriptWithin(unconfirmed, key)
  const digest = script === undefined ? await tables.scriptDigests.get(key) : sha256(script).toString('hex')
  return digest === undefined || digest === reverseHex(Buffer.from(electrumHash, 'hex')) ? key : NO_KEY
}

/** Returns the script that a text names, see `scriptOf`. @throws BadArgument if the text names none; DatabaseUnavailable. */
export async function requestedScript(
  context: Pick<ReadContext, 'chain' | 'mempool' | 'tables'>,
  text: string,
): Promise<NamedScript> {
  const named = scriptOf(context, text)
  if (named === undefined) throw badArgument('address', schema)
  return named.script === undefined ? withScript(context, named, text.toLowerCase()) : named
}

/** Adds the script to its hash, if a transaction of chain or mempool has it. @param hash as requested: all of it must be equal. */
async function withScript(
  { mempool, tables }: Pick<ReadContext, 'mempool' | 'tables'>,
  named: NamedScript,
  hash: string,
): Promise<NamedScript> {
  const [unconfirmed] = mempool.ofScript(named.scriptHash)
  const script =
    (unconfirmed && scriptWithin(unconfirmed, named.scriptHash)) ??
    (await tables.scripts.get(named.scriptHash))
  if (script === undefined) return named
  return electrumHashOf(script) === hash
    ? namedScript(script, named.network)
    : { ...named, scriptHash: NO_KEY }
}

/** Returns the script with a key of the tables that an unconfirmed transaction pays or spends. */
function scriptWithin({ raw, coins }: ShownTx, key: string): Buffer | undefined {
  const spent = coins.flatMap((coin) => coin?.script ?? [])
  const paid = readTx(new ByteReader(raw)).outputs.map(({ script }) => script)
  return [...spent, ...paid].find((script) => scriptHash(script) === key)
}

/** The fields of an answer that describe a script. */
interface ScriptFields {
  readonly script_pub_key: string | null
  readonly script_type: ScriptType
  readonly multisig?: { readonly required: number; readonly keys: number }
  readonly omitted?: string[]
}

/** Returns what an answer says of a script, without its bytes if the answer would become too large. */
export function scriptFields(
  { size }: Pick<ReadContext, 'size'>,
  { script, network }: { readonly script: Buffer; readonly network: Network },
): ScriptFields {
  const fits = script.length <= MAX_USUAL_SCRIPT || size.takes(script.length)
  return {
    script_pub_key: fits ? script.toString('hex') : null,
    script_type: scriptType(script, network),
    ...multisigField(script, network),
    ...(fits ? {} : { omitted: ['script_pub_key'] }),
  }
}

/** Returns the field of an answer that says what a multisig script requires; none for other scripts. */
export function multisigField(script: Buffer, network: Network): Pick<ScriptFields, 'multisig'> {
  const multisig = multisigOf(script, network)
  return multisig === undefined
    ? {}
    : { multisig: { required: multisig.required, keys: multisig.keys.length } }
}

/** Returns the balance change of a script by an unconfirmed transaction, in base units. */
export const changeOf = (tx: ShownTx, scriptHash: string): bigint => tx.changes.get(scriptHash) ?? 0n

type Sources = Pick<ReadContext, 'chain' | 'tables'>

/** Returns the last transaction of a script in the chain; its row contains the script's totals. */
export async function lastOfScript(sources: Sources, hash: string): Promise<ScriptRow | undefined> {
  return (await endsOfScript(sources, hash))[1]
}

/** Returns the first and the last transaction of a script in the chain. */
export async function endsOfScript(
  { chain: { view, blocks }, tables }: Sources,
  hash: string,
): Promise<[first: ScriptRow | undefined, last: ScriptRow | undefined]> {
  if (view === undefined) return [undefined, undefined]
  return tables.endsOfScript(hash, (row) => blocks.has(row.height, row.blockTag))
}

/**
 * Returns transactions of a script in the chain, lowest ordinal first: the last one, unless there is none, and those that were read with
 * it, which are all of a short history.
 */
export async function lastRowsOfScript(
  { chain: { view, blocks }, tables }: Sources,
  hash: string,
): Promise<readonly ScriptRow[]> {
  if (view === undefined) return []
  return tables.endRowsOfScript(hash, (row) => blocks.has(row.height, row.blockTag))
}

/** Returns the last transactions of a script in the chain, at least one unless it has none, newest first, each once. */
export async function endOfScript(
  { chain, tables }: Sources,
  hash: string,
  rows: number,
): Promise<ScriptRow[]> {
  const { view, blocks } = chain
  if (view === undefined) return []
  // An operation reads the other rows by their ordinals, in one query with rows of other scripts.
  if (tables.isOperation)
    return [await lastOfScript({ chain, tables }, hash)].filter((row) => row !== undefined)
  const visible = (row: ScriptRow): boolean => blocks.has(row.height, row.blockTag)
  const read = await tables.lastRows(hash, rows + LAST_ROWS)
  const end = byOrdinal(read.filter(visible))
  if (end.size > 0 || read.length < rows + LAST_ROWS) return [...end.values()]
  const last = await tables.lastVisibleOfScript(hash, visible)
  return last === undefined ? [] : [last]
}

/** A transaction of a script. */
export interface ScriptChange {
  readonly row: ScriptRow
  /** Received minus sent, base units. */
  readonly change: bigint
}

/**
 * Returns the transactions of a script with ordinals in a range (inclusive), lowest first.
 * @param knownRows rows of the chain that need not be read again.
 */
export async function pageOfScript(
  { chain: { blocks }, tables }: Sources,
  hash: string,
  { from, to }: { readonly from: number; readonly to: number },
  knownRows: readonly ScriptRow[],
): Promise<ScriptChange[]> {
  if (from > to) return []
  // The row below the first row has the totals before it.
  const lowest = Math.max(1, from - 1)
  let rows = byOrdinal(knownRows)
  if (!hasAll(rows, lowest, to)) {
    const read = await tables.scriptRows(hash, lowest, to)
    rows = byOrdinal(read.filter((row) => blocks.has(row.height, row.blockTag)))
  }
  if (!hasAll(rows, lowest, to)) throw new Error(`table script_txs lacks transactions of script ${hash}`)
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const row = rows.get(from + index) as ScriptRow
    return { row, change: balanceOf(row) - balanceOf(rows.get(from + index - 1)) }
  })
}

/** Returns the transactions of rows of a script, in their order. @throws Error if a block lacks one. */
export async function locatedOf(
  rows: readonly ScriptChange[],
  { tables }: Pick<ReadContext, 'tables'>,
): Promise<readonly PlacedTx[]> {
  const txids = await tables.txids.getAll(rows.map(({ row }) => blockTxKey(row)))
  return rows.map(({ row }) => {
    const { height, blockTag, txIndex } = row
    const txid = txids.get(blockTxKey(row))
    if (txid === undefined) throw new Error(`table block_txs lacks a transaction at height ${String(height)}`)
    return { txid, height, blockTag, txIndex }
  })
}

const balanceOf = (row: ScriptRow | undefined): bigint =>
  row === undefined ? 0n : row.totalReceived - row.totalSent

/** Returns rows by their ordinals: one may be there twice. */
const byOrdinal = (rows: readonly ScriptRow[]): Map<number, ScriptRow> =>
  new Map(rows.map((row) => [row.ordinal, row]))

function hasAll(rows: ReadonlyMap<number, ScriptRow>, from: number, to: number): boolean {
  for (let ordinal = from; ordinal <= to; ordinal++) if (!rows.has(ordinal)) return false
  return true
}
