/**
 * The fields of the node's own JSON that the oracles of the tests read. They share nothing with the code under test.
 */
export interface NodeOutput {
  readonly value: number
  readonly n: number
  readonly scriptPubKey: { readonly hex: string; readonly type: string; readonly address?: string }
}

export interface NodeInput {
  readonly coinbase?: string
  readonly txid?: string
  readonly vout?: number
  readonly sequence: number
  readonly txinwitness?: readonly string[]
  readonly scriptSig?: { readonly hex: string }
  readonly prevout?: {
    readonly value: number
    readonly height: number
    readonly scriptPubKey: { readonly hex: string; readonly address?: string }
  }
}

export interface NodeTx {
  readonly txid: string
  readonly hash: string
  readonly hex: string
  readonly size: number
  readonly vin: readonly NodeInput[]
  readonly vout: readonly NodeOutput[]
  readonly fee?: number
}

export interface NodeBlock {
  readonly hash: string
  readonly height: number
  readonly time: number
  readonly mediantime: number
  readonly previousblockhash?: string
  readonly chainwork: string
  readonly size: number
  readonly strippedsize: number
  readonly weight: number
  readonly tx: readonly NodeTx[]
}

/** Converts a node's amount in coins to base units, by its decimal text. */
export function baseUnits(coins: number): bigint {
  return BigInt(coins.toFixed(8).replace('.', ''))
}
