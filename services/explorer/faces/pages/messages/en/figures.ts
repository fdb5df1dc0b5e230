import { n } from './grammar.js'

/** Words of mining, supply and post-quantum figures, in English. */
export const figures = {
  mining: {
    title: 'Mining',
    about: 'Who mines, how hard it is, and how much power is spent on it.',
    pools: (blocks: string) => `Mining pools of the last ${blocks} blocks`,
    hashrate: 'Hashrate',
    hashrateByDay: 'Hashrate by day',
    difficulty: 'Difficulty',
    difficultyByBlock: 'Difficulty by block',
    difficultyByDay: 'Difficulty by day',
    pool: 'Mining pool',
    ofBlocks: (blocks: string) => `over ${blocks} blocks`,
    nextChange: 'Next change of difficulty',
    previousChange: 'Previous change of difficulty',
    inBlocks: (blocks: string) => `in ${n(blocks, 'block', 'blocks')}`,
    eachBlock: 'changes with every block',
    never: 'never changes',
  },
  supply: {
    title: 'Supply and rich list',
    about: 'All coins there are, and the addresses that hold most of them.',
    circulating: 'Circulating supply',
    maximum: 'Maximum supply',
    utxos: 'Unspent outputs',
    addresses: 'Addresses with a balance',
    richList: 'Addresses by balance',
    activity: 'Activity by day',
    newAddresses: 'New addresses',
    activeAddresses: 'Active addresses',
  },
  quantum: {
    title: 'Post-quantum adoption',
    about:
      'Dilithium signatures withstand quantum computers. This is how many transactions and addresses use them.',
    transactions: 'Dilithium transactions',
    addresses: 'Dilithium addresses',
    of: (part: string, all: string) => `${part} of ${all}`,
    overTime: 'Adoption over time',
    percentTransactions: '% of transactions',
    percentAddresses: '% of addresses',
    exposure: 'Exposure to quantum computers',
    exposureAbout:
      'A computer that derives private keys from public ones could take exposed coins: the chain shows their public key, in the script itself (P2PK, bare multisig, P2TR) or because their address has been spent from. Hidden coins reveal the key when they are spent. Protected ones need a Dilithium signature. Keys that are known from elsewhere do not count.',
    exposureAboutPlain:
      'A computer that derives private keys from public ones could take exposed coins: the chain shows their public key, in the script itself (P2PK, bare multisig, P2TR) or because their address has been spent from. Hidden coins reveal the key when they are spent. Keys that are known from elsewhere do not count.',
    exposureOverTime: 'Exposed coins over time',
    percentExposed: '% of all coins',
    values: 'Value by script type',
    outputs: 'Unspent outputs',
    scriptType: 'Script type',
    bySpend: 'it has been spent from',
    protections: {
      protected: 'Protected',
      hidden: 'Hidden until spent',
      exposed: 'Exposed',
      unknown: 'Not known',
    },
    funded: 'Addresses with a balance',
  },
}
