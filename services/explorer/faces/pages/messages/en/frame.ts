import { ENGLISH } from '../../../../../design/bar.js'
import { n } from './grammar.js'

/** The figures of a trouble, as they are shown. */
interface Figures {
  readonly indexed: string
  readonly node: string
  readonly differences: string
}

/** Words of the frame of all pages, and words that several pages use, in English. */
export const frame = {
  lang: 'en',
  languageName: 'English',
  bar: { ...ENGLISH, searchFor: 'Height, hash, address, public key or label' },
  nav: {
    home: 'Overview',
    blocks: 'Blocks',
    mempool: 'Mempool',
    mining: 'Mining',
    supply: 'Supply',
    quantum: 'Post-quantum',
    more: 'More',
    menu: 'Menu',
    pages: 'Pages',
    large: 'Large transactions',
    opReturns: 'OP_RETURN',
    labels: 'Labels',
    wallet: 'Wallet',
    send: 'Send a transaction',
    clock: 'Block clock',
    watch: 'Watch list',
    reorgs: 'Reorganisations',
    api: 'API',
    status: 'Status',
    docs: 'Documentation',
    unit: 'Unit of amounts',
    skip: 'Skip to the content',
    language: 'Language',
  },
  live: { live: 'Live', lost: 'Connection lost. Reconnecting …', fresh: 'New: {count}' },
  condition: {
    block: (height: string) => `Block ${height}`,
    equal: 'equals the node',
    // The place of a time is marked.
    compared: 'last compared with the node {time}',
    neverCompared: 'not compared with the node yet',
    audited: 'audited {time}, no difference',
    auditedWith: (differences: string) => `audited {time}, ${n(differences, 'difference', 'differences')}`,
    notAudited: 'not audited yet',
    troubles: {
      starting: () => 'The explorer is reading its state.',
      database: () => 'The database is unreachable.',
      materializer: () => 'The materializer is stuck: no new blocks are indexed.',
      log: () => 'The log is unreachable or damaged: nothing new arrives.',
      node: () => 'The node is unreachable: nothing new arrives.',
      poller: () => 'The poller is stuck: nothing new arrives from the node.',
      source: () => 'Nothing new arrives from the node.',
      syncing: ({ indexed, node }: Figures) =>
        `The index follows: it is at block ${indexed}, the node at ${node}.`,
      node_syncing: ({ indexed, node }: Figures) =>
        `The node still downloads the chain: ${indexed} of at least ${node} blocks are indexed.`,
      mismatch: () => 'The newest block differs from the node’s: probably a reorganisation is being indexed.',
      differences: ({ differences }: Figures) =>
        `The audit found ${n(differences, 'difference', 'differences')} between index and node.`,
    },
  },
  site: {
    name: 'Headwater',
    about: (chain: string) =>
      `Blocks, transactions and addresses of ${chain}, live and exact to the last base unit.`,
    chain: 'the chain',
    footer: 'Figures are exact, of one state of the chain, and equal to the API’s.',
    json: 'This page as JSON',
  },
  keys: {
    title: 'Keys',
    before: 'Previous block or page',
    after: 'Next block or page',
  },
  sharing: {
    feed: 'Feed (Atom)',
    block: (transactions: string, fees: string, miner: string) =>
      `${n(transactions, 'transaction', 'transactions')}, ${fees} in fees, mined by ${miner}.`,
    transaction: (value: string, fee: string) => `Moves ${value} for a fee of ${fee}.`,
    newCoins: (value: string) => `Pays ${value} to the miner of its block.`,
    confirmed: (confirmations: string, height: string) =>
      `${n(confirmations, 'confirmation', 'confirmations')}, in block ${height}.`,
    inBlock: (height: string) => `In block ${height}.`,
    waits: 'Unconfirmed.',
    address: (balance: string, transactions: string) =>
      `Balance ${balance}, ${n(transactions, 'transaction', 'transactions')}.`,
    fromTo: (sender: string, recipient: string) => `From ${sender} to ${recipient}.`,
    reorg: (depth: string, height: string) =>
      `${n(depth, 'block', 'blocks')} above height ${height} replaced`,
    replaced: (hash: string, by: string, count: string) =>
      `Block ${hash} was replaced by ${n(count, 'block', 'blocks')} up to ${by}.`,
    removed: (hash: string) => `Block ${hash} was removed.`,
  },
  words: {
    height: 'Height',
    hash: 'Hash',
    time: 'Time',
    age: 'Age',
    transactions: 'Transactions',
    transaction: 'Transaction',
    block: 'Block',
    blocks: 'Blocks',
    size: 'Size',
    fees: 'Fees',
    fee: 'Fee',
    feeRate: 'Fee rate',
    weight: 'Weight',
    miner: 'Miner',
    unknown: 'Unknown',
    value: 'Value',
    amount: 'Amount',
    address: 'Address',
    script: 'Script',
    balance: 'Balance',
    share: 'Share',
    rank: 'Rank',
    label: 'Label',
    category: 'Category',
    date: 'Date',
    from: 'From',
    to: 'To',
    unconfirmed: 'Unconfirmed',
    dilithium: 'Dilithium',
    coinbase: 'New coins',
    copy: 'Copy',
    copied: 'Copied',
    first: 'First',
    previous: 'Previous',
    next: 'Next',
    last: 'Last',
    table: 'Table',
    csv: 'CSV',
    span: 'Time span',
    spans: { day: 'Day', week: 'Week', month: 'Month', year: 'Year', all: 'All' },
    all: 'Show all',
    yes: 'yes',
    no: 'no',
    bytes: 'bytes',
    details: 'Details',
    verified: 'verified',
    page: (page: string, pages: string) => `Page ${page} of ${pages}`,
    noSuchPage: (page: string, pages: string) => `There is no page ${page}: the last one is ${pages}.`,
    more: (count: string) => `${count} more`,
    txs: (count: string) => n(count, 'transaction', 'transactions'),
  },
}
