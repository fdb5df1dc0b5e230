import { cacheFolder } from './cache.js'
import { ingest } from './ingest.js'
import { mempool } from './mempool.js'
import { overload } from './overload.js'
import { REPETITIONS } from './repetitions.js'
import { replay } from './replay.js'
import { asText, type Figure, report } from './report.js'
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
  ingest: ({ quick, repetitions }) =>
    ingest({ blocks: quick ? 1000 : 20_000, txsPerBlock: 20, inFlight: 4, repetitions }),
  mempool: ({ quick }) =>
    mempool({ txs: quick ? 30_000 : 300_000, arrivalMs: quick ? 2000 : 10_000, seconds: quick ? 10 : 60 }),
  overload: ({ quick }) =>
    overload({ blocks: quick ? 500 : 1200, txsPerBlock: 200, rounds: quick ? 1 : 3, seconds: 6 }),
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

const args = process.argv.slice(2)
const name = args.find((arg) => !arg.startsWith('--'))
const suite = name === undefined ? undefined : SUITES[name]
if (name === undefined || suite === undefined) {
  process.stderr.write(
    `usage: npm run bench -- SUITE [--json] [--quick] [--collection DIR]\nsuites: ${Object.keys(SUITES).join(', ')}\n`,
  )
  process.exit(2)
}
const quick = args.includes('--quick')
let figures: Figure[]
try {
  const at = args.indexOf('--collection')
  const collection = at < 0 ? undefined : args[at + 1]
  figures = await suite({ quick, repetitions: quick ? 1 : REPETITIONS, collection })
} catch (error) {
  // Not a missed bar: the suite could not be run.
  process.stderr.write(`bench ${name}: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
const result = await report(name, figures, quick)
process.stdout.write(`${args.includes('--json') ? JSON.stringify(result) : asText(result)}\n`)
process.exit(result.figures.every((figure) => figure.ok) ? 0 : 1)
