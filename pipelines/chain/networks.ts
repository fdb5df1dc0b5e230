/** The names of a coin's units. */
export interface Coin {
  /** Name of the coin. */
  readonly name: string
  /** Symbol of one coin, which is 10⁸ base units. */
  readonly unit: string
  /** Name of one base unit. */
  readonly baseUnit: string
}

/** When a node changes the difficulty, by its consensus rules. */
export interface Retarget {
  /** Number of blocks between two changes; 1 if each block changes it. */
  readonly interval: number
  /** Seconds without a block after which one of the lowest difficulty is allowed; undefined if none ever is. */
  readonly easyAfter?: number
  /** The field `bits` of the easiest target; undefined if the rule for the next target is not known here. */
  readonly easiest?: number
  /** True if the next target derives from that of the first block of a period, not of the last one (BIP 94). */
  readonly fromFirst?: boolean
  /** True if the difficulty never changes. */
  readonly isFixed?: boolean
}

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
  /** Name of the chain in `CHAIN`, in the log and in the tables: `coin-network`; unique. */
  readonly name: string
  readonly coin: Coin
  /** True for a network of coins without value, which may start over with another block 0. */
  readonly isTest: boolean
  /** The field `chain` in the node's getblockchaininfo. Nodes of different coins may use the same name. */
  readonly nodeName: string
  /** Hash of block 0, which distinguishes chains whose nodes use the same name. */
  readonly genesisHash: string
  /** The challenge that signed blocks of the public signet satisfy, as hex: other signets have the same block 0. */
  readonly signetChallenge?: string
  /** Digests of node:crypto that are applied to a header in this order. The last one must return 32 bytes. */
  readonly blockHash: readonly string[]
  /** Weight units of a byte outside of the witness; a witness byte has one. */
  readonly witnessScale: number
  /** The maximum weight of a block, to which the simulator fills blocks. The index follows its node, and accepts heavier ones. */
  readonly maxBlockWeight: number
  /** Target interval between blocks, in seconds. */
  readonly blockSpacing: number
  readonly retarget: Retarget
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
  /** Version of extended public keys (BIP 32). */
  readonly extendedKey: number
  /** True if the node names the output that anyone can spend (pay-to-anchor, `OP_1 4e73`) `anchor`. */
  readonly hasAnchors: boolean
  /** Undefined for a chain without Dilithium signatures, and therefore without P2MR outputs. */
  readonly dilithium?: Dilithium
}

/** The properties of all networks of the Dilithium chain. Source, also of the hashes: its node's consensus.h and chainparams.cpp. */
const BTQ = {
  coin: { name: 'BTQ', unit: 'BTQ', baseUnit: 'sat' },
  blockHash: ['sha256', 'sha256'],
  witnessScale: 16,
  maxBlockWeight: 8_000_000,
  blockSpacing: 60,
  retarget: { interval: 1 },
  firstSubsidy: 500_000_000n,
  halvingInterval: 2_100_000,
  maxSupply: 2_100_000_000_000_000n,
  hasAnchors: false,
} as const
const DILITHIUM = {
  claimsP2sh: true,
  opcodes: { checkSig: 0xbb, checkSigVerify: 0xbc, checkMultisig: 0xbd, checkMultisigVerify: 0xbe },
} as const
const TEST_VERSIONS = { p2pkh: 111, p2sh: 196, extendedKey: 0x043587cf } as const
const TEST_DILITHIUM = { ...DILITHIUM, p2pkh: 112, p2sh: 197 } as const

export const MAIN: Network = {
  ...BTQ,
  name: 'btq-main',
  isTest: false,
  nodeName: 'main',
  hrp: 'qbtc',
  p2pkh: 75,
  p2sh: 135,
  extendedKey: 0x0488b21f,
  genesisHash: '000003194a90d8d8eff8b39a7ad4e2490729b97a6772b7f4c4cb8887dffd1ae4',
  dilithium: { ...DILITHIUM, hrp: 'dbtc', p2pkh: 76, p2sh: 136 },
}

export const TEST: Network = {
  ...BTQ,
  name: 'btq-test',
  isTest: true,
  nodeName: 'test',
  hrp: 'tbtq',
  ...TEST_VERSIONS,
  genesisHash: '000000ffba1eed17608850f753ca60e74456dd3fe7af86b72aadba7d6052f7dd',
  dilithium: { ...TEST_DILITHIUM, hrp: 'tdbt' },
}

export const SIGNET: Network = {
  ...BTQ,
  name: 'btq-signet',
  isTest: true,
  nodeName: 'signet',
  hrp: 'qtb',
  ...TEST_VERSIONS,
  genesisHash: '00000120a12ac337785653cdff1f23b4891d3ffeb492a011cc95b165e86a4b15',
  dilithium: { ...TEST_DILITHIUM, hrp: 'sdbt' },
}

export const REGTEST: Network = {
  ...BTQ,
  name: 'btq-regtest',
  isTest: true,
  nodeName: 'regtest',
  hrp: 'qcrt',
  ...TEST_VERSIONS,
  halvingInterval: 1_500,
  genesisHash: '5a6c309a7e9bb2fa314e63630520ca3c598c86a91dd2c6737e160cfadfc50f38',
  dilithium: { ...TEST_DILITHIUM, hrp: 'rdbt' },
}

/** The properties of all networks of Bitcoin. Source, also of the hashes: Bitcoin Core's consensus.h and chainparams.cpp. */
const BITCOIN = {
  coin: { name: 'Bitcoin', unit: 'BTC', baseUnit: 'sat' },
  blockHash: ['sha256', 'sha256'],
  witnessScale: 4,
  maxBlockWeight: 4_000_000,
  blockSpacing: 600,
  retarget: { interval: 2_016, easiest: 0x1d00_ffff },
  firstSubsidy: 5_000_000_000n,
  halvingInterval: 210_000,
  maxSupply: 2_100_000_000_000_000n,
  hasAnchors: true,
} as const
const BITCOIN_TEST = { ...BITCOIN, ...TEST_VERSIONS, isTest: true, hrp: 'tb' } as const
/** The test networks that miners without much power share: after 20 minutes, a block of difficulty 1 is allowed. */
const EASY = { ...BITCOIN.retarget, easyAfter: 1_200 } as const

export const BITCOIN_MAIN: Network = {
  ...BITCOIN,
  name: 'bitcoin-main',
  isTest: false,
  nodeName: 'main',
  hrp: 'bc',
  p2pkh: 0,
  p2sh: 5,
  extendedKey: 0x0488b21e,
  genesisHash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
}

export const BITCOIN_TESTNET4: Network = {
  ...BITCOIN_TEST,
  name: 'bitcoin-testnet4',
  nodeName: 'testnet4',
  retarget: { ...EASY, fromFirst: true },
  genesisHash: '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043',
}

export const BITCOIN_TESTNET3: Network = {
  ...BITCOIN_TEST,
  name: 'bitcoin-testnet3',
  nodeName: 'test',
  retarget: EASY,
  genesisHash: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943',
}

export const BITCOIN_SIGNET: Network = {
  ...BITCOIN_TEST,
  name: 'bitcoin-signet',
  nodeName: 'signet',
  retarget: { ...BITCOIN.retarget, easiest: 0x1e03_77ae },
  genesisHash: '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6',
  signetChallenge:
    '512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae',
}

export const BITCOIN_REGTEST: Network = {
  ...BITCOIN_TEST,
  name: 'bitcoin-regtest',
  nodeName: 'regtest',
  retarget: { ...EASY, easiest: 0x207f_ffff, isFixed: true },
  hrp: 'bcrt',
  halvingInterval: 150,
  genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
}

/** All supported networks by name. */
export const NETWORKS: ReadonlyMap<string, Network> = new Map(
  [
    MAIN,
    TEST,
    SIGNET,
    REGTEST,
    BITCOIN_MAIN,
    BITCOIN_TESTNET4,
    BITCOIN_TESTNET3,
    BITCOIN_SIGNET,
    BITCOIN_REGTEST,
  ].map((network) => [network.name, network]),
)

/** The names that networks of the Dilithium chain had when no others were known: in `CHAIN`, logs and tables. */
const FIRST_NAMES: ReadonlyMap<string, Network> = new Map(
  [MAIN, TEST, SIGNET, REGTEST].map((network) => [network.nodeName, network]),
)

/** Returns a network by its name in `CHAIN`, in a log or in the tables; undefined for an unknown name. */
export function findNetwork(name: string): Network | undefined {
  return NETWORKS.get(name) ?? FIRST_NAMES.get(name)
}

/** Returns a network by its name. @throws RangeError for a network that this version does not know. */
export function networkNamed(name: string): Network {
  const network = findNetwork(name)
  if (network === undefined) throw new RangeError(`unknown chain ${name}`)
  return network
}

/** Returns the name of a chain for people: of a coin's main chain that of the coin, otherwise as in "Bitcoin testnet4". */
export const titleOf = ({ coin, isTest, name }: Network): string =>
  isTest ? `${coin.name} ${name.slice(name.indexOf('-') + 1)}` : coin.name

/** The properties by which a node's chain is recognised. */
export interface NodeChain {
  /** The field `chain` of getblockchaininfo. */
  readonly nodeName: string
  /** Hash of block 0. */
  readonly genesisHash: string
  /** The field `signet_challenge` of getblockchaininfo, which old versions of the node do not have. */
  readonly signetChallenge?: string | undefined
}

/**
 * Returns the network of a node by its block 0.
 * @param named the network that `CHAIN` names: if it is a test network, it may have started over with another block 0, or be
 * another signet. Otherwise such a chain is unknown.
 */
export function networkOfNode(node: NodeChain, named?: string): Network | undefined {
  const { nodeName, genesisHash, signetChallenge } = node
  const recognised = [...NETWORKS.values()].find(
    (network) =>
      network.nodeName === nodeName &&
      network.genesisHash === genesisHash &&
      (signetChallenge ?? network.signetChallenge) === network.signetChallenge,
  )
  if (recognised !== undefined || named === undefined) return recognised
  const network = findNetwork(named)
  return network?.isTest === true && network.nodeName === nodeName ? network : undefined
}

/** The number of blocks after which an output of a coinbase can be spent: one at height h in block h + 100 at the earliest. */
export const COINBASE_MATURITY = 100

/** Returns the subsidy of a block at a height, in base units. */
export function subsidy(height: number, { firstSubsidy, halvingInterval }: Network): bigint {
  const halvings = Math.floor(height / halvingInterval)
  return halvings >= 64 ? 0n : firstSubsidy >> BigInt(halvings)
}
