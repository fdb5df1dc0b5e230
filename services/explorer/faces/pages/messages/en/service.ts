import { either, n } from './grammar.js'

/** Words of the status, the API, search and errors, in English. */
export const service = {
  status: {
    title: 'Status',
    about: 'Whether this explorer is up to date, and whether its index equals the node.',
    state: 'Index',
    states: {
      live: 'Live',
      syncing: 'Behind the node',
      node_syncing: 'The node downloads the chain',
      stalled: 'Stuck',
    } as Readonly<Record<string, string>>,
    headers: 'Headers of the node',
    database: 'Database',
    databases: { connected: 'Connected', disconnected: 'Unreachable' } as Readonly<Record<string, string>>,
    tip: 'Indexed height',
    node: 'Node height',
    same: 'Same newest block as the node',
    unknown: 'not known now',
    heartbeat: 'Last heartbeat of the node',
    gaps: 'What this version of the node lacks',
    audit: 'Continuous audit',
    auditAt: 'Last check',
    checks: 'Checks',
    differences: 'Differences',
    noAudit: 'No check has run yet.',
    lags: 'Events that wait to be processed',
    consumer: 'Consumer',
    topic: 'Topic',
    lag: 'Waiting',
    clients: 'Connected clients',
    ports: 'Further ports',
    error: 'Error',
  },
  api: {
    title: 'API',
    about: 'Every figure of these pages comes from this API. Try each endpoint here.',
    try: 'Try it',
    body: 'Body, JSON',
    answer: 'Answer',
    required: 'required',
    byDefault: (value: string) => `${value} by default`,
    field: 'Field',
    meaning: 'Meaning',
    graphiql: 'queries of many objects at once, tried in the browser',
    port: (port: string) => `Port ${port}`,
    more: 'The documentation describes the API, the feed over WebSocket and gRPC.',
  },
  search: {
    title: 'Search',
    examples:
      'You can search for a block height, the hash of a block or a transaction, an address, a public key, a script or its hash, a date or time (UTC), a mining pool, or a label.',
    height: (height: string) => `Block ${height}`,
    firstFrom: (time: string) => `First block from ${time} on`,
    later: (time: string) => `There is no block of ${time} or later yet.`,
    wallet:
      'This may be a key, a descriptor or the seed words of a wallet, which must be part of no URL: it was not searched for. The page “Wallet” takes extended public keys and descriptors. Never enter private keys or seed words anywhere.',
    future: (height: string, tip: string) =>
      `Block ${height} does not exist yet. The newest block is ${tip}.`,
    hashLength: (length: string) => `A hash has 64 characters, this has ${length}.`,
    hashUnknown:
      'No block, no transaction and no script has this hash. A transaction that was just sent appears after a few seconds.',
    notHex: (sign: string) =>
      `This has the length of a hash, but “${sign}” is not a hexadecimal digit (0–9, a–f).`,
    keyUnknown: 'This is a public key, but the chain has seen neither it nor one of its addresses.',
    scriptUnknown:
      'Nothing has this hexadecimal value: a hash has 64 digits, and no output has a script of these bytes.',
    addressUnknown: 'This is a valid address, but the chain has never seen it.',
    checksum:
      'This looks like an address, but its checksum is wrong. Probably a character is mistyped or missing.',
    otherChain: (others: readonly string[], own: string, beginnings: readonly string[]) =>
      `This is an address of ${either(others)}. This explorer shows ${own}, whose addresses begin with ${either(beginnings)}.`,
    unknownChain: (own: string, beginnings: readonly string[]) =>
      `This is an address of a chain that this explorer does not know. It shows ${own}, whose addresses begin with ${either(beginnings)}.`,
    incomplete: 'This is the beginning of an address: the rest is missing.',
    unknown: (query: string) =>
      `“${query}” is neither a height, a time, a hash, an address nor part of the name of a mining pool or label.`,
    negative: 'Heights begin at 0.',
    tooLong: 'This is too long: the longest thing to search for, an address, has 90 characters.',
    unconfirmed: 'Unconfirmed transaction',
  },
  errors: {
    notFound: 'Not found',
    noPage: 'There is no page at this address.',
    noBlock: 'There is no such block. It may belong to another chain, or not be mined yet.',
    noTransaction:
      'There is no such transaction. If it was just sent, it appears here as soon as the node has it. If it was replaced or expired long ago, it is gone.',
    noLonger: 'No longer in the mempool',
    // The place of the time is marked.
    left: {
      replaced: 'Another transaction has replaced this one. It left the mempool on {time}.',
      evicted: 'The mempool was full, and this transaction paid too little. It left the mempool on {time}.',
      expired: 'This transaction has waited too long for a block. It left the mempool on {time}.',
      unknown: 'This transaction left the mempool for an unknown reason, on {time}.',
    },
    replacement: 'The transaction that replaced it',
    asItWas: 'The transaction as it was',
    noAddress: 'This address or script has never received anything.',
    invalid: 'This address cannot be right',
    badNumber: (name: string, from: string, to: string | undefined) =>
      to === undefined
        ? `“${name}” in the address of this page must be an integer, ${from} or more.`
        : `“${name}” in the address of this page must be an integer from ${from} to ${to}.`,
    badChoice: (name: string, choices: readonly string[]) =>
      `“${name}” in the address of this page must be ${either(choices)}.`,
    badArgument: (name: string) => `“${name}” in the address of this page cannot be right.`,
    without: 'The page without it',
    syncing: 'The index is not complete yet',
    syncingText: (indexed: string, node: string) =>
      `This may exist in a block that has not been indexed yet: the index is at block ${indexed}, the node at ${node}. This page tries again by itself.`,
    database: 'The database is unreachable',
    databaseText:
      'Nothing is lost, and everything continues by itself when it is back. This page tries again every few seconds.',
    starting: 'Starting',
    startingText: 'The explorer is reading its state. This page tries again every few seconds.',
    overloaded: 'Too many requests at the moment',
    overloadedText: 'The explorer answers as many requests as it can. This page tries again in a moment.',
    limited: 'Too many requests from your address',
    limitedText: (seconds: string) =>
      `Wait ${n(seconds, 'second', 'seconds')}. Then this page tries again by itself.`,
    defect: 'This should not have happened',
    defectText: 'The explorer could not make this page. The operator finds the reason in the log.',
    back: 'To the overview',
  },
}
