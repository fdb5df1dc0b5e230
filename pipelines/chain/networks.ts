/** How a chain uses Dilithium signatures, and how its addresses for them are spelled. */
export interface Dilithium {
  /** Human-readable part of the second spelling of a bech32 address. */
  readonly hrp: string
  /** Base58 versions. */
  readonly p2pkh: number
  readonly p2sh: number
  /** Whether the node takes every P2SH output for a Dilithium one and prints that version. Both versions are read. */
  readonly claimsP2sh: boolean
  readonly opcodes: Readonly<
    Record<'checkSig' | 'checkSigVerify' | 'checkMultisig' | 'checkMultisigVerify', number>
  >
}

/**
 * What is specific to one chain, as plain data, so that it can be sent to worker threads. Code that depends on it takes it as a
 * parameter. To add a chain, see content/internals/contributing.md.
 */
export interface Network {
  /** Names it in `CHAIN`, in the log and in the tables: unique among all chains. */
  readonly name: string
  /** `chain` in the node's getblockchaininfo. Nodes of different coins may use the same. */
  readonly nodeName: string
  /** Hash of block 0, which tells chains apart whose nodes use the same name. */
  readonly genesisHash: string
  /** Digests of node:crypto that are applied to a header, one after the other. The last one returns 32 bytes. */
  readonly blockHash: readonly string[]
  /** How many weight units a byte outside of the witness has; a witness byte has one. */
  readonly witnessScale: number
  /** The maximum weight of a block, to which the simulator fills blocks. The index follows its node, and accepts heavier ones. */
  readonly maxBlockWeight: number
  /** Seconds from one block to the next that the chain aims at. */
  readonly blockSpacing: number
  /** What block 0 may create, base units. */
  readonly firstSubsidy: bigint
  /** Blocks between two halvings of the subsidy. */
  readonly halvingInterval: number
  /** Base units that there can ever be. */
  readonly maxSupply: bigint
  /** Human-readable part of bech32 addresses. */
  readonly hrp: string
  /** Base58 versions. */
  readonly p2pkh: number
  readonly p2sh: number
  /** Not set for a chain without Dilithium signatures, and so without P2MR outputs. */
  readonly dilithium?: Dilithium
}

/** What the networks of this coin have in common. Source of the constants and the hashes: its node's consensus.h and chainparams.cpp. */
const COMMON = {
  blockHash: ['sha256', 'sha256'],
  witnessScale: 16,
  maxBlockWeight: 8_000_000,
  blockSpacing: 60,
  firstSubsidy: 500_000_000n,
  halvingInterval: 2_100_000,
  maxSupply: 2_100_000_000_000_000n,
} as const
const DILITHIUM = {
  claimsP2sh: true,
  opcodes: { checkSig: 0xbb, checkSigVerify: 0xbc, checkMultisig: 0xbd, checkMultisigVerify: 0xbe },
} as const
const TEST_VERSIONS = { p2pkh: 111, p2sh: 196 } as const
const TEST_DILITHIUM = { ...DILITHIUM, p2pkh: 112, p2sh: 197 } as const

export const MAIN: Network = {
  ...COMMON,
  ...{ name: 'main', nodeName: 'main', hrp: 'qbtc', p2pkh: 75, p2sh: 135 },
  genesisHash: '000003194a90d8d8eff8b39a7ad4e2490729b97a6772b7f4c4cb8887dffd1ae4',
  dilithium: { ...DILITHIUM, hrp: 'dbtc', p2pkh: 76, p2sh: 136 },
}

export const TEST: Network = {
  ...COMMON,
  ...{ name: 'test', nodeName: 'test', hrp: 'tbtq', ...TEST_VERSIONS },
  genesisHash: '000000ffba1eed17608850f753ca60e74456dd3fe7af86b72aadba7d6052f7dd',
  dilithium: { ...TEST_DILITHIUM, hrp: 'tdbt' },
}

export const SIGNET: Network = {
  ...COMMON,
  ...{ name: 'signet', nodeName: 'signet', hrp: 'qtb', ...TEST_VERSIONS },
  genesisHash: '00000120a12ac337785653cdff1f23b4891d3ffeb492a011cc95b165e86a4b15',
  dilithium: { ...TEST_DILITHIUM, hrp: 'sdbt' },
}

export const REGTEST: Network = {
  ...COMMON,
  ...{ name: 'regtest', nodeName: 'regtest', hrp: 'qcrt', ...TEST_VERSIONS, halvingInterval: 1_500 },
  genesisHash: '5a6c309a7e9bb2fa314e63630520ca3c598c86a91dd2c6737e160cfadfc50f38',
  dilithium: { ...TEST_DILITHIUM, hrp: 'rdbt' },
}

/** All chains that can be indexed, by their names. */
export const NETWORKS: ReadonlyMap<string, Network> = new Map(
  [MAIN, TEST, SIGNET, REGTEST].map((network) => [network.name, network]),
)

/** Returns the network that the tables name. @throws RangeError for one that this version does not know. */
export function networkNamed(name: string): Network {
  const network = NETWORKS.get(name)
  if (network === undefined) throw new RangeError(`unknown chain ${name}`)
  return network
}

/**
 * Returns the network that a node is on, undefined for an unknown one. A block 0 that is in no object of the table decides
 * nothing: test networks start over with another one now and then.
 */
export function networkOfNode(nodeName: string, genesisHash: string): Network | undefined {
  const named = [...NETWORKS.values()].filter((network) => network.nodeName === nodeName)
  return named.find((network) => network.genesisHash === genesisHash) ?? named[0]
}

/** Returns what a block at a height may create, in base units. */
export function subsidy(height: number, { firstSubsidy, halvingInterval }: Network): bigint {
  const halvings = Math.floor(height / halvingInterval)
  return halvings >= 64 ? 0n : firstSubsidy >> BigInt(halvings)
}
