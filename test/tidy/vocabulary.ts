/** A term that this project does not use, and the term for it. */
export interface Term {
  /** What to write. */
  readonly instead: string
  /** Sought in comments, string literals and documents. */
  readonly prose?: RegExp
  /** Sought in identifiers, whose words are separated by spaces and in lower case. */
  readonly names?: RegExp
  /** What is removed before the term is sought: meanings in which it is right. The reason is in a comment beside it. */
  readonly allowed?: readonly RegExp[]
  /** Files in which it is right. */
  readonly except?: RegExp
  /** Prose, or words of an identifier, in which the term is found, and in which it is not. */
  readonly found: string
  readonly passed: string
}

const BE = '(?:is|are|was|were|be|been|being|stays?|stayed|remains?|still)'

export const TERMS: readonly Term[] = [
  {
    instead: 'mempool; "pool" alone is a mining pool',
    prose: /\bpools?\b/i,
    names: /^pool$|\bpool (tx|txs|txids?|state|events?|size)\b|\b(in|the|node|nodes|of) pool\b/,
    allowed: [
      // Of miners.
      /\bmining pools?\b|\bpools?[ '’]*(s )?(file|tag|name|payout|distribution|slug)\w*/gi,
      /\bpools-v2\b|[\w/]*pools\.json|#pools\b|\bPOOLS_FILE\b/g,
      // Of connections, threads or brokers.
      /\b(connection|thread|worker|node|restricted|broker) pools?\b|\bpool(-name| of (connections|threads))\b/gi,
      // The contract.
      /\bheadwater_api_db_pool_total\b|\/control\/pool\b/g,
      // An option of vitest.
      /^pool$/g,
    ],
    except:
      /mining|definition|pools|engine\/settings|explorer-api\/consistency|faq\.md|0021|reads\.lock|health-and-metrics|grafana|contract/,
    found: 'The transaction is back in the pool.',
    passed: 'The mempool, a mining pool and headwater_api_db_pool_total.',
  },
  {
    instead: 'apply, applied',
    prose:
      /\b(the|this|naive|clean|plainest) folds?\b|\bfolded\b|\bfolds (it|an?|the|them|events?|blocks?)\b/i,
    names: /\bfolded\b|\bfold (event|block)s?\b/,
    allowed: [
      // Words of a text index.
      /\bstem[^.]*, folded|\b(case|accent)[- ]folded/gi,
      // An obsolete form of headers, and what a reduction is called.
      /\bfolded: x|\bfolded headers?|\bfold over\b/gi,
    ],
    found: 'Blocks folded in one turn.',
    passed: 'The sum is a fold over the rows; --fold merges copies.',
  },
  {
    instead: 'transaction location, location',
    names: /^(tx )?places?( of)?$|\btx places\b/,
    // The column of the list of unspent outputs.
    allowed: [/^place$/g],
    found: 'tx places',
    passed: 'tx locations',
  },
  {
    instead: 'script changes, balance changes',
    names: /^moves( of)?$|\bmoves of\b/,
    found: 'moves of',
    passed: 'script changes of',
  },
  {
    instead: 'parent state',
    prose: /\b(stand|stands|stood|standing) on\b/i,
    names: /^ground$|\bground of\b/,
    found: 'What blocks stand on.',
    passed: 'The parent state of a block.',
  },
  {
    instead: 'query runner, querier; the client, the caller',
    prose: /\b(whoever|who) (asks?|asked)\b|\bwhoever\b/i,
    names: /^(asked|asks)$/,
    found: 'Sent to whoever asks.',
    passed: 'Sent to the client. `/api/ask` answers what users ask.',
  },
  {
    instead: 'return, report, publish, send, receive, log; distinguish',
    prose: /\btold\b|\btells? of\b|\bto tell (of|it)\b|\bcannot be told\b/i,
    names: /\btold\b/,
    found: 'It is told 404.',
    passed: 'It gets 404. The error tells the operator what to do.',
  },
  {
    instead: 'receive, learn',
    prose: /\b(heard|hears)\b|\bhear (of|from)\b/i,
    names: /\bheard\b/,
    found: 'Events heard so far.',
    passed: 'Events received so far.',
  },
  {
    instead: 'sent to the dead-letter topic, dead-lettered',
    prose: /\b(lay|lays|laid|laying)( \w+)? aside\b/i,
    names: /\b(lay|laid|lays) aside\b/,
    found: 'The event was laid aside.',
    passed: 'The event was dead-lettered.',
  },
  {
    instead: 'hand over, switch over; be replaced',
    prose:
      /\b(gives?|gave|giving|given) way\b|\b(tak(e|es|en|ing)|took) (the place of|(its|their|one's) place)\b/i,
    names: /\bgives? way\b|\btakes? place\b/,
    found: 'It takes the place of the other.',
    passed: 'It replaces the other. An election takes place.',
  },
  {
    instead: 'say what is checked: `pinEngineRun`, `assertNoLostWrites`',
    names: /^(rely|must be whole|while whole)\b/,
    found: 'must be whole',
    passed: 'assert no lost writes',
  },
  {
    instead: 'has spent with a Dilithium signature',
    prose: /\b(shows?|shown|showed) (a )?Dilithium\b/,
    names: /\bshows dilithium\b/,
    // The column.
    allowed: [/\bshows dilithium$/g],
    found: 'An address that shows Dilithium.',
    passed: 'An address that has spent with a Dilithium signature.',
  },
  {
    instead: 'data flow',
    prose: /\bway of the data\b|\bdata's way\b/i,
    found: "Stages of the data's way.",
    passed: 'The data flow.',
  },
  {
    instead: 'fix, repair',
    prose: /\bmend(s|ed|ing)?\b/i,
    names: /\bmend(s|ed|ing)?\b/,
    found: 'The index was mended.',
    passed: 'The index was repaired. Recommended.',
  },
  {
    instead: 'exits with status 1',
    prose: /\b(leaves?|left|ends?|ended) with (status |code |exit code )?\d\b/i,
    found: 'The process leaves with 1.',
    passed: 'The process exits with status 1. The line ends with 100 zeros.',
  },
  {
    instead: 'starts over, again, from the beginning',
    prose: /\banew\b/i,
    names: /\banew\b/,
    found: 'The table is built anew.',
    passed: 'The table is built again. A new table.',
  },
  {
    instead: 'indefinitely, without limit, never ends',
    prose: /\bfor ever\b/i,
    found: 'Blocks are kept for ever.',
    passed: 'Blocks are retained indefinitely.',
  },
  {
    instead: 'a string; an integer',
    prose: /\bbe a text\b|\bmust be texts\b|\ba whole number\b/i,
    found: 'name must be a text',
    passed: 'name must be a string',
  },
  {
    instead: 'Not set: disabled / no authentication',
    prose: /\bUnset:/,
    found: 'Unset: nothing.',
    passed: 'Not set: disabled.',
  },
  {
    instead: 'is invalid, contains an invalid …',
    prose: /\bone of (its|the|them|their) [a-z]+ is none\b|\bthat is none\b(?! of)|\bthat are none\b(?! of)/i,
    found: 'A path that is none.',
    passed: 'Returns undefined if there is none. The root, that is none of them.',
  },
  {
    instead: 'invalid event',
    prose: /\bwrong events?\b/i,
    found: 'It stops at a wrong event.',
    passed: 'It stops at an invalid event.',
  },
  {
    instead: 'an error; "fault" is a failure of a component',
    prose:
      /\b(faults?|faulty) (in|of) (the|a|its|this|that|each|every)( \w+)? (files?|lines?|settings?|configuration|environment)\b|\b(file|line|setting) is faulty\b|\bfaulty (file|line|setting)s?\b/i,
    found: 'A fault in the labels file.',
    passed: 'An error in the labels file. A fault of the disk.',
  },
  {
    instead: 'is unreachable, is unavailable; is gone',
    prose: new RegExp(`\\b${BE} away\\b`, 'i'),
    names: /\b(is|while|when|node|database|engine|log) away\b|^away$/,
    found: 'While the database is away.',
    passed: 'While the database is unavailable. It is thrown away.',
  },
  {
    instead: 'missing from both mempool and chain',
    prose: /\b(is|are|was|were) nowhere\b/i,
    found: 'Unconfirmed ones that are nowhere.',
    passed: 'Unconfirmed ones missing from both mempool and chain.',
  },
  {
    instead: 'reorganisation (in names: reorg)',
    prose: /\breorganiz(e|es|ed|ing|ation|ations)\b/i,
    names: /\breorgani[sz](e|es|ed|ation|ations)\b/,
    found: 'After a reorganization.',
    passed: 'After a reorganisation.',
  },
]

/** Words with which the docstring of a function does not begin: it begins with a verb, "Returns the newest head". */
export const NO_VERB =
  /^(Of|What|That|Whether|How|Where|Who|Why|As|By|Told|Asked|None|Undefined|Once|All)\b|^[a-z]/
