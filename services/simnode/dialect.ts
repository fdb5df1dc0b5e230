import type { Network } from '../../pipelines/chain/networks.js'

/** The answers in which nodes differ, besides the properties of their networks. */
export interface Dialect {
  /** The fields `version` and `subversion` of getnetworkinfo. */
  readonly version: number
  readonly subversion: string
  /** The field `warnings` of getblockchaininfo and getnetworkinfo. */
  readonly warnings: '' | readonly string[]
  /** True if the node prints the weight of a transaction as its vsize, except in getrawmempool. */
  readonly hasWeightAsVsize: boolean
  /** True if every unconfirmed transaction may be replaced. */
  readonly hasFullRbf: boolean
}

/** A node of the Dilithium chain, which is derived from Bitcoin Core 26. */
const DILITHIUM: Dialect = {
  version: 100,
  subversion: '/HeadwaterSim:0.1.0/',
  warnings: '',
  hasWeightAsVsize: true,
  hasFullRbf: false,
}

/** Bitcoin Core 28.1. */
const BITCOIN: Dialect = {
  version: 280_100,
  subversion: '/Satoshi:28.1.0(HeadwaterSim)/',
  warnings: [],
  hasWeightAsVsize: false,
  hasFullRbf: true,
}

/** Returns the dialect of the node that follows a network. */
export function dialectOf({ dilithium }: Network): Dialect {
  return dilithium === undefined ? BITCOIN : DILITHIUM
}
