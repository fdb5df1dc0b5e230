export type Chain = 'main' | 'test' | 'signet' | 'regtest'

export const CHAINS: readonly Chain[] = ['main', 'test', 'signet', 'regtest']

export interface Network {
  readonly hrp: string
  /** Human-readable part of the Dilithium spelling of a bech32 address. */
  readonly dilithiumHrp: string
  readonly p2pkh: number
  readonly p2sh: number
  readonly dilithiumP2pkh: number
  readonly dilithiumP2sh: number
  /** Blocks between two halvings of the subsidy. */
  readonly halvingInterval: number
}

const TEST_VERSIONS = { p2pkh: 111, p2sh: 196, dilithiumP2pkh: 112, dilithiumP2sh: 197 } as const
const MAIN_VERSIONS = { p2pkh: 75, p2sh: 135, dilithiumP2pkh: 76, dilithiumP2sh: 136 } as const

export const NETWORKS: Readonly<Record<Chain, Network>> = {
  main: { hrp: 'qbtc', dilithiumHrp: 'dbtc', ...MAIN_VERSIONS, halvingInterval: 2_100_000 },
  test: { hrp: 'tbtq', dilithiumHrp: 'tdbt', ...TEST_VERSIONS, halvingInterval: 2_100_000 },
  signet: { hrp: 'qtb', dilithiumHrp: 'sdbt', ...TEST_VERSIONS, halvingInterval: 2_100_000 },
  regtest: { hrp: 'qcrt', dilithiumHrp: 'rdbt', ...TEST_VERSIONS, halvingInterval: 1_500 },
}

/** Base units that there can ever be. */
export const MAX_SUPPLY = 2_100_000_000_000_000n

const FIRST_SUBSIDY = 500_000_000n

/** What a block at this height may create, in base units. */
export function subsidy(height: number, chain: Chain): bigint {
  const halvings = Math.floor(height / NETWORKS[chain].halvingInterval)
  return halvings >= 64 ? 0n : FIRST_SUBSIDY >> BigInt(halvings)
}
