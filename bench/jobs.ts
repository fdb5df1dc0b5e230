import type { Job } from './job-runs.js'

const CODE = ['services', 'pipelines', 'proto', 'package-lock.json', 'tsconfig.json']
/** The code without the documentation service. */
const SITE = [
  ...[...CODE, ':!services/docs', ':!services/retrieval', ':!pipelines/content', ':!pipelines/retrieval'],
  ':!services/client',
]
/** The same without the words and looks of the explorer's pages. */
const EXPLORER = [...SITE, ':!services/explorer/faces/pages', ':!services/design']
const STACK = ['bench/processes.ts', 'bench/report.ts', 'bench/repetitions.ts', 'test/harness']
const BENCH = [...EXPLORER, ...STACK]
const LOAD = ['bench/load-generator.ts', 'bench/load-connection.ts']
const READERS = [...LOAD, 'bench/load-tool.ts', 'bench/bare-server.ts']
const READS = [...BENCH, ...READERS]
const SYSTEM = [...EXPLORER, 'vitest.config.ts', 'test/harness']
const CHAOS = [...EXPLORER, 'test/harness', 'test/chaos', ':!test/chaos/*.test.ts']

const vitest = (...files: readonly string[]): string[] => [
  ...['node_modules/vitest/vitest.mjs', 'run', '--project', 'system'],
  ...files,
]

const CHAOS_RUNS = 8
const ROUNDS_A_RUN = 25

/** The faults of the chaos suite in which a process dies. */
const KILLS = [
  ...[
    'poller killed',
    'materializer killed',
    'explorer killed',
    'engine killed',
    'everything killed at once',
  ],
  ...['materializer killed at its head', 'materializer killed before it announces'],
  ...['materializer killed before it commits', 'materializer killed amid its rows', 'power cut'],
]

const crashes = (rounds: number): string[] => [
  ...['deploy/bootstrap.mjs', 'chaos', '--seed', '50', '--rounds', String(rounds), '--condition', 'none'],
  ...KILLS.flatMap((name) => ['--only', name]),
]

/** 200 rounds, with a world and a seed for each 25. */
const chaos = (log: 'embedded' | 'kafka'): string[][] =>
  Array.from({ length: CHAOS_RUNS }, (_, index) => [
    ...['deploy/bootstrap.mjs', 'chaos', '--log', log],
    ...['--seed', String(index + 1), '--rounds', String(ROUNDS_A_RUN)],
  ])

const BACKFILLS = 5

/** Each has a data directory of its own; the chains are kept for the next time. */
const backfills = (): string[][] =>
  Array.from({ length: BACKFILLS }, (_, index) => [
    ...['deploy/bootstrap.mjs', 'backfill', '--seed', String(index + 1)],
    ...['--chains-dir', '.data/chains'],
  ])

/** Tests that take too long for CI. */
export const JOBS: readonly Job[] = [
  {
    name: 'bench cluster: work of each shard, one and two',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'cluster']],
    sources: [...BENCH, 'bench/cluster.ts', 'deploy/clickhouse/sharded.sql', 'test/deploy/cluster-schema.ts'],
  },
  {
    name: 'bench ingest: speed and memory over 20,000 blocks',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'ingest']],
    sources: [...BENCH, 'bench/ingest.ts', 'bench/baseline'],
  },
  {
    name: 'bench replay: databases built from the log',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'replay']],
    sources: [...BENCH, 'bench/replay.ts', 'bench/baseline'],
  },
  {
    name: 'bench rest-hot: frequent reads while blocks arrive, against a bare handler',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'rest-hot']],
    sources: [...READS, 'bench/rest-hot.ts', 'bench/stored-answers.ts'],
  },
  {
    name: 'bench pages: pages of the explorer, cached and not, and in Chromium',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'pages']],
    sources: [
      ...[...SITE, ...STACK, ...READERS, 'bench/pages.ts', 'bench/stored-answers.ts'],
      ...['bench/browser-times.ts', 'bench/node-control.ts', 'deploy/pages.mjs'],
    ],
  },
  {
    name: 'bench rest-cold: reads among a million transactions, against the frozen baseline',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'rest-cold']],
    sources: [
      ...[...READS, 'bench/rest-cold.ts', 'bench/large-chain.ts', 'bench/cache.ts', 'bench/job-runs.ts'],
      ...['bench/job-report.ts', 'bench/baseline'],
    ],
  },
  {
    name: 'bench graphql: a page of blocks with their transactions, against the same data by REST',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'graphql']],
    sources: [...BENCH, 'bench/graphql.ts'],
  },
  {
    name: 'bench storage: bytes per transaction',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'storage']],
    sources: [
      ...[...BENCH, 'bench/storage.ts', 'bench/table-size.ts', 'bench/log-size.ts', 'bench/memory-size.ts'],
    ],
  },
  {
    name: 'bench overload: five times as many cold reads as can be answered',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'overload']],
    sources: [...BENCH, ...LOAD, 'bench/overload.ts', 'bench/bare-server.ts'],
  },
  {
    name: 'bench feed: messages to 5,000 clients, against bare publish',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'feed']],
    sources: [
      ...[...BENCH, 'bench/feed.ts', 'bench/feed-clients.ts', 'bench/feed-frames.ts', 'bench/bare-feed.ts'],
      'bench/node-control.ts',
    ],
  },
  {
    name: 'bench latency: from a block of the node to its event and to its being readable',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'latency']],
    sources: [...BENCH, ...LOAD, 'bench/latency.ts', 'bench/node-control.ts'],
  },
  {
    name: 'bench soak: 30 minutes of blocks, reorganisations, reads and feed',
    env: {},
    runs: [['deploy/bootstrap.mjs', 'bench', 'soak']],
    sources: [...BENCH, ...LOAD, 'bench/soak.ts'],
  },
  {
    name: 'ClickHouse frozen for a minute under load',
    env: { FROZEN_SECONDS: '60' },
    runs: [vitest('test/system/database-frozen.test.ts')],
    sources: [...SYSTEM, 'test/system/database-frozen.test.ts'],
  },
  {
    name: 'four shards of which one is killed every 20 s for five minutes',
    env: { SHARDS_KILLED_SECONDS: '300' },
    runs: [vitest('test/system/shards-killed.test.ts')],
    sources: [
      ...[...SYSTEM, 'deploy/clickhouse/sharded.sql', 'test/deploy/cluster-schema.ts'],
      ...['test/system/shards-killed.test.ts', 'test/services/explorer/read-paths.ts'],
      'test/services/explorer/edges.ts',
    ],
  },
  {
    name: 'five backfills of 10,000 blocks with 50 transactions each, beside 8 busy loops and a synced-write loop',
    env: {},
    runs: backfills(),
    sources: [...EXPLORER, 'test/backfill', 'test/harness', ':!test/backfill/*.test.ts'],
  },
  {
    name: 'the embedded log under stress for 15 minutes, and a control',
    env: { LOG_STRESS_SECONDS: '900' },
    runs: [vitest('test/system/log-stress.test.ts')],
    sources: [...SYSTEM, 'test/log-stress', 'test/system/log-stress.test.ts'],
  },
  {
    name: 'upgrade: data directories that versions 4837653 and bbf11d6 wrote',
    env: { UPGRADE_FROM: '4837653,bbf11d6' },
    runs: [vitest('test/system/upgrade.test.ts')],
    sources: [
      ...SYSTEM,
      ...['test/system/upgrade.test.ts', 'test/services/explorer/edges.ts'],
      'test/services/explorer/read-paths.ts',
    ],
  },
  {
    name: 'self-healing: every damage on both logs',
    env: { SELF_HEALING_EVERY_CASE: '1' },
    runs: [vitest('test/system/self-healing.test.ts')],
    sources: [...SYSTEM, 'test/system/self-healing.test.ts'],
  },
  {
    name: 'schemathesis: 5,000 requests from /openapi.json',
    env: { SCHEMATHESIS_REQUESTS: '5000' },
    runs: [vitest('test/system/schemathesis.test.ts')],
    sources: [
      ...SYSTEM,
      'deploy/tools.mjs',
      'deploy/schemathesis.toml',
      'test/deploy',
      'test/system/schemathesis.test.ts',
    ],
  },
  {
    name: 'nested GraphQL reads during 50 reorganisations, each state compared with a clean index',
    env: { GRAPHQL_REORGS: '50' },
    runs: [vitest('test/system/graphql-reorganisations.test.ts')],
    sources: [
      ...SYSTEM,
      'test/services/explorer/faces/graphql/client.ts',
      'test/system/graphql-reorganisations.test.ts',
    ],
  },
  {
    name: 'answers without a language model to judged questions',
    env: { JUDGED_ANSWERS: '1' },
    runs: [vitest('test/system/answers.test.ts')],
    sources: [
      ...[...CODE, 'vitest.config.ts', 'test/harness', 'test/retrieval'],
      ...['test/system/answers.test.ts', 'bench/answers.ts', 'bench/report.ts'],
    ],
  },
  {
    name: 'answers from memory during 50 reorganisations',
    env: { CACHED_ANSWERS_REORGS: '50' },
    runs: [vitest('test/system/cached-answers.test.ts')],
    sources: [...SYSTEM, 'test/system/cached-answers.test.ts'],
  },
  {
    name: 'whole tests of which CI runs a part: controls of chaos, a reorganisation of 400 blocks, statistics of every recorded one',
    env: { WHOLE_TESTS: '1' },
    runs: [
      vitest(
        ...['test/system/chaos.test.ts', 'test/system/reorganisation.test.ts'],
        'test/system/recorded-statistics.test.ts',
      ),
    ],
    sources: [
      ...[...SYSTEM, 'test/chaos', 'test/recording', 'test/system/chaos.test.ts'],
      ...['test/system/reorganisation.test.ts', 'test/system/recorded-statistics.test.ts'],
    ],
  },
  { name: 'crashes: 50 rounds of killed processes', env: {}, runs: [crashes(50)], sources: CHAOS },
  { name: 'chaos: 200 rounds on the embedded log', env: {}, runs: chaos('embedded'), sources: CHAOS },
  { name: 'chaos: 200 rounds on Kafka', env: {}, runs: chaos('kafka'), sources: CHAOS },
  {
    name: 'rebalances of two materializers on Kafka for ten minutes',
    env: { REBALANCE_SECONDS: '600' },
    runs: [vitest('test/system/kafka-materializers.test.ts')],
    sources: [...SYSTEM, 'test/system/kafka-materializers.test.ts'],
  },
  {
    name: 'the recording, every frame, while it is read',
    env: { RECORDING_EVERY_FRAME: '1' },
    runs: [vitest('test/system/recording.test.ts')],
    sources: [...SYSTEM, 'test/system/recording.test.ts', 'test/recording'],
  },
]
