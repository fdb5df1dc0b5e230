import { addressKey, addressRanges } from '../../../../pipelines/chain/columns/address-order.js'
import { addressOf } from '../../../../pipelines/chain/address.js'
import type { Network } from '../../../../pipelines/chain/networks.js'
import { KEYS20 } from '../../../../pipelines/tables/keys.js'
import { ADDRESS_ORDER, SCRIPTS } from '../../../../pipelines/tables/schema.js'
import { Selection } from '../../../../pipelines/tables/selection.js'
import type { CanonicalBlocks } from './canonical-blocks.js'
import { LOCATION, SCRIPT_ROW } from './lookups.js'
import { blockTxKey } from './point-keys.js'
import type { Tables } from './tables.js'

const ORDER = new Selection(ADDRESS_ORDER.columns)
const SCRIPT = new Selection(SCRIPTS.columns)

/** The number of rows that are read beyond the requested rows: some may belong to other branches, or lie at the edge of a range. */
const SPARE = 32
const LOCATION_DIGITS = 16

/** Returns txids of a chain that begin with hexadecimal digits (lower case), in order. Reads few rows, however many begin with them. */
export async function txidsFrom(
  tables: Tables,
  blocks: CanonicalBlocks,
  digits: string,
  most: number,
): Promise<string[]> {
  const [first, last] = ['0', 'f'].map((fill) =>
    digits.slice(0, LOCATION_DIGITS).padEnd(LOCATION_DIGITS, fill),
  )
  const rows = `FROM tx_locations WHERE txid_prefix BETWEEN unhex({first:String}) AND unhex({last:String})
    ORDER BY txid_prefix LIMIT ${String(most + SPARE)} SETTINGS max_threads = 1`
  const located = await LOCATION.bytes(tables.unchecked, rows, { first, last })
  const visible = located.filter(({ height, blockTag }) => blocks.has(height, blockTag))
  const found = [...(await tables.txids.getAll(visible.map(blockTxKey))).values()]
  const txids = new Set(found.filter((txid) => txid.startsWith(digits)))
  return [...txids].sort().slice(0, most)
}

/**
 * Returns addresses of a chain that begin with a text, as the node spells them, also if the text is the beginning of another
 * spelling. Reads few rows, however many begin with it.
 * @param least the minimum number of characters, see `addressRanges`.
 */
export async function addressesFrom(
  tables: Tables,
  { blocks, network }: { readonly blocks: CanonicalBlocks; readonly network: Network },
  { text, least, most }: { readonly text: string; readonly least: number; readonly most: number },
): Promise<string[]> {
  const ranges = addressRanges(text, least, network)
  if (ranges.length === 0) return []
  const within = ranges.map(({ first, last }) => `address_key BETWEEN ${String(first)} AND ${String(last)}`)
  const rows = `FROM address_order WHERE ${within.join(' OR ')}
    ORDER BY address_key LIMIT ${String(most + SPARE)} SETTINGS max_threads = 1`
  const ordered = await ORDER.bytes(tables.unchecked, rows)
  if (ordered.length === 0) return []
  const hashes = ordered.map(
    ({ scriptPrefix }) => `script_hash BETWEEN ${edge(scriptPrefix, '0')} AND ${edge(scriptPrefix, 'f')}`,
  )
  const begun = await SCRIPT_ROW.bytes(
    tables.unchecked,
    `FROM script_txs WHERE (${hashes.join(' OR ')}) AND ordinal = 1`,
  )
  const visible = begun.filter(({ height, blockTag }) => blocks.has(height, blockTag))
  const scripts = await SCRIPT.bytesByKeys(
    tables.unchecked,
    `FROM scripts WHERE script_hash IN ${KEYS20}`,
    visible.map(({ scriptHash }) => scriptHash),
  )
  const addresses = scripts
    .filter(({ script }) => {
      const key = addressKey(script)
      return ranges.some(({ first, last, begins }) => key >= first && key <= last && begins(script))
    })
    .map(({ script }) => addressOf(script, network))
    .filter((address) => address !== undefined)
  return [...new Set(addresses)].sort().slice(0, most)
}

const HASH_DIGITS = 40

/** Returns SQL for the lowest or highest hash of a script with a prefix. */
const edge = (prefix: string, fill: string): string =>
  `toFixedString(unhex('${prefix.padEnd(HASH_DIGITS, fill)}'), ${String(HASH_DIGITS / 2)})`
