import { Type } from '@sinclair/typebox'
import { decodeAddress } from '../../../../pipelines/chain/address.js'
import { NETWORKS } from '../../../../pipelines/chain/networks.js'
import { BadArgument, networkIn, type ReadContext } from '../../core/reads/read.js'
import { type NamedScript, namedScript, scriptOfHash } from '../../core/reads/script.js'

/** Returns the schema of an argument that the resolver checks, because errors have the texts of the reference server. */
export const text = (description: string) => Type.String({ maxLength: 8_192, description })

/** Returns a hash in lower case. @throws BadArgument. */
export function hashIn(argument: string): string {
  if (!/^[0-9a-f]{64}$/i.test(argument)) throw new BadArgument('Invalid hex string')
  return argument.toLowerCase()
}

/** Returns a height or an index, below 2³². @throws BadArgument. */
export function numberIn(argument: string): number {
  const value = /^\+?[0-9]{1,10}$/.test(argument) ? Number(argument) : Number.NaN
  if (!(value < 2 ** 32)) throw new BadArgument('Invalid number')
  return value
}

/** Returns the script of an address. @throws BadArgument. */
export function scriptOfAddress(context: Pick<ReadContext, 'chain'>, address: string): NamedScript {
  const network = networkIn(context)
  const decoded = decodeAddress(address, network)
  if (decoded !== undefined) return { ...namedScript(decoded.script, network), address }
  const isOfOther = [...NETWORKS.values()].some((each) => decodeAddress(address, each) !== undefined)
  throw new BadArgument(isOfOther ? 'Address on invalid network' : 'base58 error')
}

/**
 * Returns the script with a script hash of Esplora: the SHA-256 of the script, which the Electrum protocol has in reverse order.
 * @throws BadArgument.
 */
export async function scriptOfScriptHash(
  context: Pick<ReadContext, 'chain' | 'mempool' | 'tables'>,
  argument: string,
): Promise<NamedScript> {
  if (!/^[0-9a-f]{64}$/i.test(argument)) throw new BadArgument('Invalid scripthash')
  const reversed = Buffer.from(argument, 'hex').reverse().toString('hex')
  return scriptOfHash(context, networkIn(context), reversed)
}
