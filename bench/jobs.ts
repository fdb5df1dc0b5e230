import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../test/harness/processes.js'
import type { Job } from './job-runs.js'

const CHAOS_RUNS = 8
const ROUNDS_A_RUN = 25
const BACKFILLS = 5

/** The faults of the chaos suite in which a process dies. */
const KILLS = [
  'poller killed',
  'materializer killed',
  'explorer killed',
  'engine killed',
  'everything killed at once',
  'materializer killed at its head',
  'materializer killed before it announces',
  'materializer killed before it commits',
  'materializer killed amid its rows',
  'power cut',
]

const command = (...args: string[]): string[] => ['deploy/bootstrap.mjs', ...args]

const bench = (suite: string, figures: string): Job => ({
  name: `bench ${suite}: ${figures}`,
  env: {},
  runs: [command('bench', suite)],
})

const test = (name: string, env: Job['env'], ...files: string[]): Job => ({
  name,
  env,
  runs: [
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      ...files.map((file) => (file.includes('/') ? `test/${file}.test.ts` : `test/system/${file}.test.ts`)),
    ],
  ],
})

/** Returns the tests of which CI runs a part: those that import `test/harness/whole.ts`. */
function wholeTests(): string[] {
  const folder = join(ROOT, 'test')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) => readFileSync(join(folder, name), 'utf8').includes('harness/whole.js'))
    .map((name) => name.replace(/\.test\.ts$/, ''))
}

/** 200 rounds, with a world and a seed for each 25. */
const chaos = (log: 'embedded' | 'kafka'): string[][] =>
  Array.from({ length: CHAOS_RUNS }, (_, index) =>
    command('chaos', '--log', log, '--seed', String(index + 1), '--rounds', String(ROUNDS_A_RUN)),
  )

/** Tests that take too long for CI. */
export const JOBS: readonly Job[] = [
  bench('cluster', 'work of each shard, one and two'),
  bench('ingest', 'speed and memory over 20,000 blocks'),
  bench('replay', 'databases built from the log'),
  bench('rest-hot', 'frequent reads while blocks arrive, against a bare handler'),
  bench('pages', 'pages of the explorer, cached and not, and in Chromium'),
  bench('esplora', 'the Esplora API, against a bare handler'),
  bench('electrum', 'notifications of 1,000 wallets, and large wallets that open'),
  bench('rest-cold', 'reads among a million transactions, against the frozen baseline'),
  bench('graphql', 'a page of blocks with their transactions, against the same data by REST'),
  bench('storage', 'bytes per transaction'),
  bench('overload', 'five times as many cold reads as can be answered'),
  bench('feed', 'messages to 5,000 clients, against bare publish'),
  bench('latency', 'from a block of the node to its event and to its being readable'),
  bench('soak', '30 minutes of blocks, reorganisations, reads and feed'),
  test('ClickHouse frozen for a minute under load', { FROZEN_SECONDS: '60' }, 'database-frozen'),
  test(
    'four shards of which one is killed every 20 s for five minutes',
    { SHARDS_KILLED_SECONDS: '300' },
    'shards-killed',
  ),
  {
    name: 'five backfills of 10,000 blocks with 50 transactions each, beside 8 busy loops and a synced-write loop',
    env: {},
    // Each has a data directory of its own; the chains are kept for the next time.
    runs: Array.from({ length: BACKFILLS }, (_, index) =>
      command('backfill', '--seed', String(index + 1), '--chains-dir', '.data/chains'),
    ),
  },
  test(
    'the embedded log under stress for 15 minutes, and a control',
    { LOG_STRESS_SECONDS: '900' },
    'log-stress',
  ),
  test('50,000 hostile requests to each server', { HOSTILE_REQUESTS: '50000' }, 'hostile'),
  test('self-healing: every damage on both logs', { SELF_HEALING_EVERY_CASE: '1' }, 'self-healing'),
  test('schemathesis: 5,000 requests from /openapi.json', { SCHEMATHESIS_REQUESTS: '5000' }, 'schemathesis'),
  test(
    'nested GraphQL reads during 50 reorganisations, each state compared with a clean index',
    { GRAPHQL_REORGS: '50' },
    'graphql-reorganisations',
  ),
  test('answers without a language model to judged questions', { JUDGED_ANSWERS: '1' }, 'answers'),
  // Skipped, with a line that says so, without the sites in .data/sites or OTHER_SITES_DIR.
  test('sites of other tools, served whole', { OTHER_SITES: '1' }, 'other-sites'),
  test('answers from memory during 50 reorganisations', { CACHED_ANSWERS_REORGS: '50' }, 'cached-answers'),
  test('the tests of which CI runs a part, whole', { WHOLE_TESTS: '1' }, ...wholeTests()),
  // Skipped without BITCOIND_EXE.
  {
    name: "wallets' own test suites on a Bitcoin Core",
    env: {},
    runs: [['deploy/wallet-suites.mjs']],
  },
  {
    name: 'crashes: 50 rounds of killed processes',
    env: {},
    runs: [
      [
        ...command('chaos', '--seed', '50', '--rounds', '50', '--condition', 'none'),
        ...KILLS.flatMap((name) => ['--only', name]),
      ],
    ],
  },
  { name: 'chaos: 200 rounds on the embedded log', env: {}, runs: chaos('embedded') },
  { name: 'chaos: 200 rounds on Kafka', env: {}, runs: chaos('kafka') },
  test(
    'rebalances of two materializers on Kafka for ten minutes',
    { REBALANCE_SECONDS: '600' },
    'kafka-materializers',
  ),
  test(
    'the recordings, every frame, while one is read',
    { RECORDING_EVERY_FRAME: '1', WHOLE_TESTS: '1' },
    'recording',
    'bitcoin-recording',
  ),
]
