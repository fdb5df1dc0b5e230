import { type DecodedAddress, decodeAddress } from '../../../../pipelines/chain/address.js'
import { type Network, NETWORKS } from '../../../../pipelines/chain/networks.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import type { ScriptRow } from '../../tables/tables.js'
import { address as schema, badArgument } from '../arguments.js'
import type { ReadContext } from '../read.js'

export interface RequestedScript extends DecodedAddress {
  readonly network: Network
  readonly scriptHash: string
}

/** Decodes an address; undefined if it is malformed. Before the first head, addresses of all networks are accepted. */
export function scriptOf(
  { chain }: Pick<ReadContext, 'chain'>,
  address: string,
): RequestedScript | undefined {
  for (const network of chain.network === undefined ? NETWORKS.values() : [chain.network]) {
    const decoded = decodeAddress(address, network)
    if (decoded !== undefined) return { ...decoded, network, scriptHash: scriptHash(decoded.script) }
  }
  return undefined
}

/** Decodes an address. @throws BadArgument if it is malformed. */
export function requestedScript(context: Pick<ReadContext, 'chain'>, address: string): RequestedScript {
  const script = scriptOf(context, address)
  if (script === undefined) throw badArgument('address', schema)
  return script
}

/** Returns the last transaction of a script in the chain; its row contains the script's totals. */
export async function lastOfScript(
  { chain, tables }: Pick<ReadContext, 'chain' | 'tables'>,
  hash: string,
): Promise<ScriptRow | undefined> {
  const { view } = chain
  if (view === undefined) return undefined
  return tables.lastOfScript(
    hash,
    (height, blockHash) => view.isCanonical(height, blockHash),
    view.sqlFilter('height', 'block_hash'),
  )
}
