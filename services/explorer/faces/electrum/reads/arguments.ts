import { Type } from '@sinclair/typebox'
import type { Network } from '../../../../../pipelines/chain/networks.js'
import type { ReadContext } from '../../../core/reads/read.js'

/** Returns the schema of an argument that the method has checked. */
export const text = (description: string) => Type.String({ maxLength: 8_192, description })

/** Returns the network of the chain. @throws Error before the first head, when no read is answered. */
export function networkIn({ chain: { network } }: Pick<ReadContext, 'chain'>): Network {
  if (network === undefined) throw new Error('the network of the chain is unknown')
  return network
}
