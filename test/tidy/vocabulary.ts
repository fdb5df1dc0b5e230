/** A pattern with a sample in which it must be found, and one in which it must not. */
export interface Pattern {
  readonly pattern: RegExp
  readonly found: string
  readonly passed: string
}

/** A term that this project does not use, and the term for it. */
export interface Term {
  /** What to write. */
  readonly instead: string
  /** Sought in comments, string literals and documents. */
  readonly prose?: Pattern
  /** Sought in identifiers, whose words are separated by spaces and in lower case. */
  readonly names?: Pattern
  /** Correct meanings of the term, which are removed before it is sought. */
  readonly allowed?: readonly RegExp[]
  /** Files in which the term is correct. */
  readonly except?: RegExp
}

export const TERMS: readonly Term[] = [
  {
    instead: 'mempool; "pool" alone is a mining pool',
    prose: {
      pattern: /\bpools?\b/i,
      found: 'The transaction is in the pool again.',
      passed:
        'The mempool, a mining pool, GET /mining/pools, a connection pool, headwater_api_db_pool_total.',
    },
    names: {
      pattern: /\bpool (tx|txs|txids?|events?|change)\b|\b(in|the|node|nodes|of) pool\b/,
      found: 'poolTxs',
      passed: 'miningPools, poolOf, mempoolTx',
    },
    allowed: [
      // Of miners.
      /\bmining pools?\b|\bpools?[ '’]*(s )?(file|tag|name|payout|distribution|slug)\w*|\bAnt Pool\b/gi,
      /\bpools-v2\b|[\w./-]*pools\.(json|js|ts)\b|#pools\b|\bPOOLS_FILE\b|\bMiningPools?( pools)?\b|\/mining(\/hashrate)?\/pools?\b|"pools"/g,
      // Of connections, threads or brokers, and an option of vitest.
      /\b(connection|thread|worker|node|restricted|broker) pools?\b|\bpool(-name| of (connections|threads))\b/gi,
      /^pools?$/g,
      // The contract.
      /\bheadwater_api_db_pool_total\b|\/control\/pool\b|\bpool\?/g,
    ],
    // Files about mining pools, settings of the engine's threads, texts of a search engine's tests, and other languages.
    except:
      /mining|definition|pools|engine\/settings|faq\.md|consistency\.md|decisions\/|generated-text|test\/pipelines\/retrieval|messages\/(?!en\/)/,
  },
  {
    instead: 'apply, applied',
    prose: {
      pattern:
        /\b(the|this|naive|clean|plainest) folds?\b|\bfolded\b|\bfolds (it|an?|the|them|events?|blocks?)\b/i,
      found: 'Blocks folded in one turn.',
      passed: 'The sum is a fold over the rows; replay --fold merges copies.',
    },
    names: {
      pattern: /\bfolded\b|\bfold (event|block|chain)s?\b/,
      found: 'foldedBlocks',
      passed: 'appliedBlocks',
    },
    allowed: [
      // Words of a text index, headers that continue on the next line, and the functional term.
      /\bstem[^.]*, folded|\b(case|accent)[- ]folded|\bfolded: x|\bfolded headers?|\bfold over\b/gi,
    ],
  },
  {
    instead: 'transaction location, location',
    names: {
      pattern: /\bplaces of\b|\b(read|tx|whale|unique) places?\b/,
      found: 'readPlaces',
      passed: 'decimalPlaces, readLocations',
    },
  },
  {
    instead: 'script changes, balance changes',
    names: { pattern: /^moves( of)?$|\bmoves of\b/, found: 'movesOf', passed: 'scriptChangesOf' },
  },
  {
    instead: 'parent state',
    prose: {
      pattern: /\b(stand|stands|stood|standing) on\b/i,
      found: 'The state that blocks stand on.',
      passed: 'The parent state of a block.',
    },
    names: { pattern: /^grounds?( of)?$/, found: 'groundOf', passed: 'parentStateOf, background' },
  },
  {
    instead: 'query runner, querier; the client, the caller; sent, requested',
    prose: {
      pattern: /\bwho (asks?|asked)\b|\bwhoever\b/i,
      found: 'Sent to whoever asks.',
      passed: 'Sent to the client. POST /api/ask answers what users ask.',
    },
    names: { pattern: /^(is )?(asked|asks)$/, found: 'asked', passed: 'requested, ask, askRpc' },
    // A header of a test.
    allowed: [/^x-asked$/g],
  },
  {
    instead: 'return, report, publish, send, receive, log; distinguish',
    prose: {
      pattern: /\btold\b|\btells? of\b|\bto tell (of|it)\b|\bcannot be told\b/i,
      found: 'It is told 404.',
      passed: 'It gets 404. An error tells the operator what to do.',
    },
    names: { pattern: /\btold\b/, found: 'toldSoFar', passed: 'reported, total' },
  },
  {
    instead: 'receive, learn, get',
    prose: {
      pattern: /\b(heard|hears)\b|\bhear (of|from)\b/i,
      found: 'Events heard so far.',
      passed: 'Events received so far.',
    },
    names: { pattern: /\bheard\b/, found: 'isHeard', passed: 'isReceived' },
  },
  {
    instead: 'sent to the dead-letter topic, dead-lettered',
    prose: {
      pattern: /\b(lay|lays|laid|laying)( \w+)? aside\b/i,
      found: 'The event was laid aside.',
      passed: 'The event was dead-lettered.',
    },
    names: { pattern: /\b(lay|laid|lays) aside\b/, found: 'laidAside', passed: 'deadLettered' },
  },
  {
    instead: 'hand over, switch over; replace',
    prose: {
      pattern:
        /\b(gives?|gave|giving|given) way\b|\b(tak(e|es|en|ing)|took) (the place of|(its|their|one's) place)\b/i,
      found: 'The new one takes the place of the other.',
      passed: 'The new one replaces the other. An election takes place.',
    },
    names: { pattern: /\bgives? way\b|\btakes? place\b/, found: 'giveWay', passed: 'handOver' },
  },
  {
    instead: 'say what is checked: `pinEngineRun`, `assertNoLostWrites`',
    names: {
      pattern: /^(rely|must be whole|while whole)\b/,
      found: 'mustBeWhole',
      passed: 'assertNoLostWrites',
    },
  },
  {
    instead: 'has spent with a Dilithium signature',
    prose: {
      pattern: /\b(shows?|shown|showed) (a )?Dilithium\b/,
      found: 'An address that shows Dilithium.',
      passed: 'An address that has spent with a Dilithium signature; shows_dilithium is a column.',
    },
    names: {
      pattern: /\bshows? dilithium\b/,
      found: 'isShowingDilithium, showsDilithiumSpend',
      passed: 'hasDilithiumSpend, shows_dilithium',
    },
    // The column.
    allowed: [/^shows dilithium$/g],
  },
  {
    instead: 'data flow',
    prose: {
      pattern: /\bway of the data\b|\bdata's way\b/i,
      found: "Folders are stages of the data's way.",
      passed: 'Folders are stages of the data flow.',
    },
  },
  {
    instead: 'fix, repair',
    prose: {
      pattern: /\bmend(s|ed|ing)?\b/i,
      found: 'The index was mended.',
      passed: 'The index was repaired, as recommended.',
    },
    names: { pattern: /\bmend(s|ed|ing)?\b/, found: 'mendIndex', passed: 'repairIndex' },
  },
  {
    instead: 'exits with status 1',
    prose: {
      pattern: /\b(leaves?|left|ends?|ended) with (status |code |exit code )?\d\b/i,
      found: 'The process leaves with 1.',
      passed: 'The process exits with status 1. The line ends with 100 zeros.',
    },
  },
  {
    instead: 'starts over, again, from the beginning',
    prose: {
      pattern: /\banew\b/i,
      found: 'The table is built anew.',
      passed: 'The table is built again. A new table.',
    },
    names: { pattern: /\banew\b/, found: 'buildAnew', passed: 'rebuild' },
  },
  {
    instead: 'indefinitely, without limit, never ends',
    prose: {
      pattern: /\bfor ever\b/i,
      found: 'Blocks are kept for ever.',
      passed: 'Blocks are retained indefinitely.',
    },
  },
  {
    instead: 'a string; an integer',
    prose: {
      pattern: /\bbe a text\b|\bmust be texts\b|\ba whole number\b/i,
      found: 'name must be a text',
      passed: 'name must be a string',
    },
  },
  {
    instead: 'Not set: disabled / no authentication',
    prose: { pattern: /\bUnset:/, found: 'Unset: nothing.', passed: 'Not set: disabled.' },
  },
  {
    instead: 'is invalid, contains an invalid …',
    prose: {
      pattern:
        /\bone of (its|the|them|their) [a-z]+ is none\b|\b(path|name|text|value|URL|number|part|event|argument)s? that (is|are) none\b/i,
      found: 'A path that is none.',
      passed: 'An invalid path. The root page, that is none of them.',
    },
  },
  {
    instead: 'invalid event',
    prose: {
      pattern: /\bwrong events?\b/i,
      found: 'It stops at a wrong event.',
      passed: 'It stops at an invalid event.',
    },
  },
  {
    instead: 'an error; "fault" is a failure of a component',
    prose: {
      pattern:
        /\b(faults?|faulty) (in|of) (the|a|its|this|that|each|every)( \w+)? (files?|lines?|settings?|configuration|environment)\b|\b(file|line|setting) is faulty\b|\bfaulty (file|line|setting)s?\b/i,
      found: 'A fault in the labels file.',
      passed: 'An error in the labels file. A fault of the disk.',
    },
  },
  {
    instead: 'is unreachable, is unavailable; is gone',
    prose: {
      pattern: /\b(is|are|was|were|be|been|being|stays?|stayed|remains?|still|goes|went|gone) away\b/i,
      found: 'While the database is away.',
      passed: 'While the database is unavailable, nothing is thrown away.',
    },
    names: {
      pattern: /^(is )?away$|\b(while|when|node|database|engine|log) away\b/,
      found: 'isAway',
      passed: 'isUnavailable, takeAway',
    },
  },
  {
    instead: 'continues, advances, runs',
    prose: {
      pattern: /\b(go|goes|going|gone|went) on\b/i,
      found: 'The poller goes on.',
      passed: 'The poller continues.',
    },
  },
  {
    instead: 'no client, no process; another client, another process',
    prose: {
      pattern: /\b(nobody|somebody|anybody)\b/i,
      found: 'Nobody reads it.',
      passed: 'No process reads it. The container runs as nobody, "nobody" is the user.',
    },
    // The account, and words of tests.
    allowed: [/\b(as|user) nobody\b|"nobody"|'nobody'|\(nobody\)/g, /^(nobody|Somebody)$/g],
  },
  {
    instead: 'reads, checks, compares',
    prose: {
      pattern: /\blook(s|ed|ing)? at\b/i,
      found: 'The table is looked at again.',
      passed: 'The table is read again. Keys are looked up.',
    },
  },
  {
    instead: 'closes, disconnects',
    prose: {
      pattern: /\b(hangs?|hung|hanging) up\b/i,
      found: 'The server hangs up.',
      passed: 'The server closes the connection.',
    },
  },
  {
    instead: 'missing from both mempool and chain',
    prose: {
      pattern: /\b(is|are|was|were) nowhere\b/i,
      found: 'Unconfirmed ones that are nowhere.',
      passed: 'Unconfirmed ones missing from both mempool and chain.',
    },
  },
  {
    instead: 'reorganisation (in names: reorg)',
    prose: {
      pattern: /\breorganiz(e|es|ed|ing|ation|ations)\b/i,
      found: 'After a reorganization.',
      passed: 'After a reorganisation.',
    },
    names: {
      pattern: /\breorgani[sz](e|es|ed|ation|ations)\b/,
      found: 'halfReorganisation',
      passed: 'halfReorg',
    },
  },
]

/** The beginning of a function's docstring: a verb in the third person, "Returns the newest head". */
export const VERB = /^(?!(As|This|Its|Us|Whose|Ours|Theirs|Always|Perhaps)\b)[A-Z][a-z]+s\b/

/** The beginnings of docstrings that cannot be understood without the line that they describe. */
export const RIDDLE = /^(Of|What|That|Whether|How|Where|Who|Whom|Whose|Why|Told|Asked|Undefined where)\b/
