import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { BITCOIN_REGTEST, REGTEST } from '../pipelines/chain/networks.js'
import { cacheFolder } from './cache.js'
import { cluster } from './cluster.js'
import { docsStart } from './docs-start.js'
import { electrs } from './electrs.js'
import { electrum } from './electrum.js'
import { esplora } from './esplora.js'
import { feed } from './feed.js'
import { fees } from './fees.js'
import { graphql } from './graphql.js'
import { ingest } from './ingest.js'
import { latency } from './latency.js'
import { mempool } from './mempool.js'
import { NETWORK } from './network.js'
import { overload } from './overload.js'
import { pages } from './pages.js'
import { REPETITIONS } from './repetitions.js'
import { replay } from './replay.js'
import { asText, type Figure, report, type Stored } from './report.js'
import { restCold } from './rest-cold.js'
import { restHot } from './rest-hot.js'
import { retrieval } from './retrieval.js'
import { richList } from './rich-list.js'
import { soak } from './soak.js'
import { storage } from './storage.js'

interface Arguments {
  /** For trying a suite, never for a stored figure. */
  readonly quick: boolean
  readonly repetitions: number
  /** The value of `--collection`. */
  readonly collection: string | undefined
}

/** Suites by name; each returns its figures. */
const SUITES: Readonly<Record<string, (args: Arguments) => Promise<Figure[]>>> = {
  cluster: ({ quick }) => cluster({ blocks: quick ? 60 : 1000, txsPerBlock: 20, reads: quick ? 320 : 6400 }),
  'docs-start': ({ quick, repetitions }) =>
    docsStart({ content: `node_modules/ai/docs${quick ? '/05-ai-sdk-rsc' : ''}`, repetitions }),
  electrs: ({ quick }) =>
    electrs({
      blocks: quick ? 200 : 1_100,
      txsPerBlock: 500,
      repetitions: quick ? 1 : 3,
      seconds: quick ? 1 : 2,
    }),
  electrum: ({ quick }) =>
    electrum({
      walletScripts: quick ? 1_000 : 10_000,
      merchantTxs: quick ? 10_000 : 99_000,
      clients: quick ? 200 : 1_000,
      scriptsOfClient: 100,
      blocks: quick ? 3 : 6,
      blockIntervalMs: quick ? 2_000 : 10_000,
      seconds: quick ? 2 : 8,
    }),
  esplora: ({ quick, repetitions }) =>
    esplora({ blocks: quick ? 2000 : 6000, txsPerBlock: 20, repetitions, seconds: quick ? 2 : 8 }),
  feed: ({ quick, repetitions }) =>
    feed({ clients: quick ? 500 : 5_000, stalled: quick ? 50 : 500, events: 200, repetitions }),
  fees: ({ quick }) =>
    Promise.resolve(
      fees({
        days: quick ? 5 : 14,
        recordings: [
          { folder: '', network: REGTEST },
          { folder: 'bitcoin-regtest', network: BITCOIN_REGTEST },
        ],
      }),
    ),
  graphql: ({ quick, repetitions }) =>
    graphql({ blocks: quick ? 300 : 3000, txsPerBlock: 20, repetitions, seconds: quick ? 2 : 10 }),
  ingest: ({ quick, repetitions }) =>
    ingest({ blocks: quick ? 1000 : 20_000, txsPerBlock: 20, inFlight: 4, repetitions }),
  latency: ({ quick }) => latency({ blocks: quick ? 10 : 200 }),
  mempool: ({ quick }) =>
    mempool({ txs: quick ? 30_000 : 300_000, arrivalMs: quick ? 2000 : 10_000, seconds: quick ? 10 : 60 }),
  overload: ({ quick }) =>
    overload({ blocks: quick ? 500 : 1200, txsPerBlock: 200, rounds: quick ? 1 : 3, seconds: 6 }),
  pages: ({ quick, repetitions }) =>
    pages({ blocks: quick ? 700 : 4000, txsPerBlock: 40, repetitions, seconds: quick ? 4 : 10 }),
  replay: ({ quick, repetitions }) =>
    replay({ blocks: quick ? 1000 : 20_000, txsPerBlock: 20, inFlight: 4, repetitions }),
  'rest-cold': ({ quick, repetitions }) => {
    const cacheDir = cacheFolder(process.env, process.cwd(), quick)
    const size = { blocks: quick ? 1000 : 20_000, txsPerBlock: 50 }
    return restCold({ ...size, cacheDir, repetitions, seconds: quick ? 2 : 10 })
  },
  'rest-hot': ({ quick, repetitions }) =>
    restHot({ blocks: quick ? 300 : 3000, txsPerBlock: 20, repetitions, seconds: quick ? 6 : 10 }),
  'rich-list': ({ quick }) =>
    richList({ addresses: quick ? 50_000 : 5_000_000, changes: quick ? 100 : 3000 }),
  retrieval: ({ quick, repetitions, collection }) =>
    retrieval({ chunks: quick ? 500 : 10_000, seconds: quick ? 2 : 10, repetitions, collection }),
  soak: ({ quick }) =>
    soak({ blocks: 300, txsPerBlock: 20, minutes: quick ? 1 : 30, rate: 200, feedClients: 200 }),
  // This many transactions, because the simulated node omits most of the large Dilithium ones.
  storage: ({ quick, repetitions }) =>
    storage({ blocks: quick ? 200 : 4500, txsPerBlock: quick ? 20 : 50, repetitions }),
}

const USAGE = `npm run bench -- SUITE [options]
  --json            prints figures as JSON
  --quick           tries the suite with little data; figures of such a run mean nothing
  --collection DIR  ranks only the documents and questions in this folder (retrieval)
The variable CHAIN names the chain that is simulated, ${REGTEST.name} by default: the stored figures are of this one.
suites: ${Object.keys(SUITES).join(', ')}
Exit status: 0 all bars were reached, 1 one was missed, 2 the suite could not be run.`

const { name, suite, values } = readCommandLine()
const { quick } = values
let figures: Figure[]
try {
  const { collection } = values
  figures = await suite({ quick, repetitions: quick ? 1 : REPETITIONS, collection })
} catch (error) {
  // Not a missed bar: the suite could not be run.
  process.stderr.write(`bench ${name}: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
const stored = JSON.parse(readFileSync('bench/baseline.json', 'utf8')) as Partial<
  Record<string, Record<string, Stored>>
>
const result = report(name, figures, (NETWORK === REGTEST ? stored[name] : undefined) ?? {}, quick)
process.stdout.write(`${values.json ? JSON.stringify(result) : asText(result)}\n`)
process.exit(result.figures.every((figure) => figure.ok) ? 0 : 1)

function readCommandLine() {
  try {
    const flag = { type: 'boolean', default: false } as const
    const options = { json: flag, quick: flag, collection: { type: 'string' } } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const [name = ''] = positionals
    const suite = SUITES[name]
    if (suite === undefined || positionals.length > 1) throw new Error(`expected a suite, got '${name}'`)
    return { name, suite, values }
  } catch (error) {
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`)
    process.exit(2)
  }
}
