import { sha256 } from '../pipelines/chain/hash.js'
import { electrumHashOf } from '../pipelines/chain/script.js'

/** The owners of the scripts of the chain that the suite `electrum` measures on. */
export type Owner = 'wallet' | 'client' | 'merchant' | 'bank'

const P2WPKH = Buffer.from([0x00, 0x14])

/** Returns a script of an owner. */
export const scriptOf = (owner: Owner, index: number): Buffer =>
  Buffer.concat([P2WPKH, sha256(Buffer.from(`${owner} ${String(index)}`)).subarray(0, 20)])

/** Returns the script hash of a script of an owner. */
export const hashOf = (owner: Owner, index: number): string => electrumHashOf(scriptOf(owner, index))

/** Returns the script hashes of the first scripts of an owner. */
export const hashesOf = (owner: Owner, count: number): string[] =>
  Array.from({ length: count }, (_, index) => hashOf(owner, index))

/** The sizes of the chain. */
export interface ElectrumSizes {
  /** The scripts of the wallet; each has received a payment, and nearly all have spent it. */
  readonly walletScripts: number
  /** The transactions of the merchant's only script. */
  readonly merchantTxs: number
  readonly clients: number
  /** The scripts of each client; each has received a payment. */
  readonly scriptsOfClient: number
}

/** Returns the index of a script of a client. */
export const clientScript = (
  client: number,
  script: number,
  { scriptsOfClient }: Pick<ElectrumSizes, 'scriptsOfClient'>,
): number => client * scriptsOfClient + script
