import { docsStart } from './docs-start.js'
import { ingest } from './ingest.js'
import { mempool } from './mempool.js'
import { overload } from './overload.js'
import { replay } from './replay.js'
import { rest } from './rest.js'
import { richList } from './rich-list.js'
import { retrieval } from './retrieval.js'
import { asText, type Figure, report } from './report.js'
import { storage } from './storage.js'

/** Suites by name; each returns its figures. `--quick` is for trying a suite, never for a stored figure. */
const SUITES: Readonly<Record<string, (quick: boolean, args: readonly string[]) => Promise<Figure[]>>> = {
  'docs-start': (quick) =>
    docsStart({
      content: `node_modules/ai/docs${quick ? '/05-ai-sdk-rsc' : ''}`,
      rounds: quick ? 1 : 3,
    }),
  ingest: (quick) => ingest({ blocks: quick ? 1000 : 20_000, txsPerBlock: 20, inFlight: 4 }),
  mempool: (quick) =>
    mempool({ txs: quick ? 30_000 : 300_000, arrivalMs: quick ? 2000 : 10_000, seconds: quick ? 10 : 60 }),
  overload: (quick) =>
    overload({ blocks: quick ? 500 : 1200, txsPerBlock: 200, rounds: quick ? 1 : 3, seconds: 6 }),
  replay: (quick) => replay({ blocks: quick ? 3000 : 20_000, txsPerBlock: 20, blockMs: 5 }),
  rest: (quick) => rest({ blocks: quick ? 300 : 3000, txsPerBlock: 20, seconds: quick ? 2 : 10 }),
  'rich-list': (quick) => richList({ addresses: quick ? 50_000 : 5_000_000, changes: quick ? 100 : 3000 }),
  // This many transactions, because the simulated node omits most of the large Dilithium ones.
  storage: (quick) => storage({ blocks: quick ? 200 : 4500, txsPerBlock: quick ? 20 : 50 }),
  retrieval: (quick, args) => {
    const at = args.indexOf('--collection')
    const collection = at < 0 ? undefined : args[at + 1]
    return retrieval({ chunks: quick ? 500 : 10_000, seconds: quick ? 2 : 10, collection })
  },
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
let figures: Figure[]
try {
  figures = await suite(args.includes('--quick'), args)
} catch (error) {
  // Not a missed bar: the suite could not be run.
  process.stderr.write(`bench ${name}: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
const result = await report(name, figures)
process.stdout.write(`${args.includes('--json') ? JSON.stringify(result) : asText(result)}\n`)
process.exit(result.figures.every((figure) => figure.ok) ? 0 : 1)
