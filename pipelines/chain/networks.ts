/** The Dilithium signatures of a chain, and the spelling of their addresses. */
export interface Dilithium {
  /** Human-readable part of the second spelling of a bech32 address. */
  readonly hrp: string
  /** Base58 versions of addresses. */
  readonly p2pkh: number
  readonly p2sh: number
  /** True if the node prints every P2SH address with the Dilithium version. Both versions are accepted. */
  readonly claimsP2sh: boolean
  readonly opcodes: Readonly<
    Record<'checkSig' | 'checkSigVerify' | 'checkMultisig' | 'checkMultisigVerify', number>
  >
}

/**
 * The properties of one chain, as plain data that can be sent to worker threads. Code that depends on them takes them as a
 * parameter. To add a chain, see content/internals/contributing.md.
 */
export interface Network {
  /** Name of the chain in `CHAIN`, in the log and in the tables; unique. */
  readonly name: string
  /** The field `chain` in the node's getblockchaininfo. Nodes of different coins may use the same name. */
  readonly nodeName: string
  /** Hash of block 0, which distinguishes chains whose nodes use the same name. */
  readonly genesisHash: string
  /** Digests of node:crypto that are applied to a header in this order. The last one must return 32 bytes. */
  readonly blockHash: readonly string[]
  /** Weight units of a byte outside of the witness; a witness byte has one. */
  readonly witnessScale: number
  /** The maximum weight of a block, to which the simulator fills blocks. The index follows its node, and accepts heavier ones. */
  readonly maxBlockWeight: number
  /** Target interval between blocks, in seconds. */
  readonly blockSpacing: number
  /** Subsidy of block 0, in base units. */
  readonly firstSubsidy: bigint
  /** Number of blocks between two halvings of the subsidy. */
  readonly halvingInterval: number
  /** The maximum supply, in base units. */
  readonly maxSupply: bigint
  /** Human-readable part of bech32 addresses. */
  readonly hrp: string
  /** Base58 versions of addresses. */
  readonly p2pkh: number
  readonly p2sh: number
  /** Undefined for a chain without Dilithium signatures, and therefore without P2MR outputs. */
  readonly dilithium?: Dilithium
}

/** The properties that all networks of this coin share. Source, also of the hashes: its node's consensus.h and chainparams.cpp. */
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
  name: 'main',
  nodeName: 'main',
  hrp: 'qbtc',
  p2pkh: 75,
  p2sh: 135,
  genesisHash: '000003194a90d8d8eff8b39a7ad4e2490729b97a6772b7f4c4cb8887dffd1ae4',
  dilithium: { ...DILITHIUM, hrp: 'dbtc', p2pkh: 76, p2sh: 136 },
}

export const TEST: Network = {
  ...COMMON,
  name: 'test',
  nodeName: 'test',
  hrp: 'tbtq',
  ...TEST_VERSIONS,
  genesisHash: '000000ffba1eed17608850f753ca60e74456dd3fe7af86b72aadba7d6052f7dd',
  dilithium: { ...TEST_DILITHIUM, hrp: 'tdbt' },
}

export const SIGNET: Network = {
  ...COMMON,
  name: 'signet',
  nodeName: 'signet',
  hrp: 'qtb',
  ...TEST_VERSIONS,
  genesisHash: '00000120a12ac337785653cdff1f23b4891d3ffeb492a011cc95b165e86a4b15',
  dilithium: { ...TEST_DILITHIUM, hrp: 'sdbt' },
}

export const REGTEST: Network = {
  ...COMMON,
  name: 'regtest',
  nodeName: 'regtest',
  hrp: 'qcrt',
  ...TEST_VERSIONS,
  halvingInterval: 1_500,
  genesisHash: '5a6c309a7e9bb2fa314e63630520ca3c598c86a91dd2c6737e160cfadfc50f38',
  dilithium: { ...TEST_DILITHIUM, hrp: 'rdbt' },
}

/** All supported networks by name. */
export const NETWORKS: ReadonlyMap<string, Network> = new Map(
  [MAIN, TEST, SIGNET, REGTEST].map((network) => [network.name, network]),
)

/** Returns a network by its name in the tables. @throws RangeError for a network that this version does not know. */
export function networkNamed(name: string): Network {
  const network = NETWORKS.get(name)
  if (network === undefined) throw new RangeError(`unknown chain ${name}`)
  return network
}

/**
 * Returns the network of a node, undefined if it is unknown. If no network has this block 0, the first one with the node's name is
 * returned, because test networks sometimes start over with another block 0.
 */
export function networkOfNode(nodeName: string, genesisHash: string): Network | undefined {
  const networks = [...NETWORKS.values()].filter((network) => network.nodeName === nodeName)
  return networks.find((network) => network.genesisHash === genesisHash) ?? networks[0]
}

/** The number of blocks after which an output of a coinbase can be spent: one at height h in block h + 100 at the earliest. */
export const COINBASE_MATURITY = 100

/** Returns the subsidy of a block at a height, in base units. */
export function subsidy(height: number, { firstSubsidy, halvingInterval }: Network): bigint {
  const halvings = Math.floor(height / halvingInterval)
  return halvings >= 64 ? 0n : firstSubsidy >> BigInt(halvings)
}
