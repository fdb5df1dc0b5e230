import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// One instance of graphql, that of Node: vite prefers the package's other build, whose classes graphql-http does not recognise.
const resolve = {
  alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }],
}

const MINUTE = 60_000

/** Files that take 40 seconds or more. They begin first, so that none of them is the last one that runs. */
const LONG = new RegExp(
  `/(?:${[
    'audit',
    'backfill',
    'bitcoin-recording',
    'cached-answers',
    'chaos',
    'hostile',
    'kafka-log',
    'kafka-materializers',
    'materializer',
    'pages',
    'rankings',
    'recording',
    'reindex',
    'reorganisation',
    'repeated-coinbases',
    'replay',
    'replay-into',
    'schemathesis',
    'self-healing',
    'shards',
    'start',
  ].join('|')})\\.test\\.ts$`,
)

/** Files outside of test/system that take so long that `npm run check` leaves them to `npm test`. */
const SLOW = [
  'bench/test/{baseline,load-generator}.test.ts',
  'test/deploy/{cluster,reads-proto}.test.ts',
  'test/pipelines/content/{cached-store,document,store}.test.ts',
  'test/pipelines/chain/imaginary-coin.test.ts',
  'test/pipelines/materialize/{writers,apply/block-writer}.test.ts',
  'test/pipelines/poll/{poller,recording}.test.ts',
  'test/pipelines/retrieval/model/model.test.ts',
  'test/services/docs/{pages,ask/questions,pages/bodies}.test.ts',
  'test/services/explorer/behind.test.ts',
  'test/services/explorer/core/{reads/faces,state/days}.test.ts',
  'test/services/explorer/faces/{rest/description/served,grpc/subscription}.test.ts',
  'test/services/explorer/host/processes/leases.test.ts',
  'test/services/access/rate-limit.test.ts',
  'test/services/rpc/cancelled-calls.test.ts',
  'test/services/simnode/simulation.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted(
      (one, other) => Number(LONG.test(other.moduleId)) - Number(LONG.test(one.moduleId)),
    )
  }
}

// Limits for tests that hang, not for speed: beside eight busy loops tests take ten times as long.
const shared = {
  pool: 'forks' as const,
  restoreMocks: true,
  testTimeout: 10 * MINUTE,
  hookTimeout: 10 * MINUTE,
  teardownTimeout: MINUTE,
  env: { ANSWER_DEADLINE_MS: String(MINUTE) },
}

export default defineConfig({
  test: {
    // Builds dist/ and starts one engine for all files; its URL is inject('engineUrl').
    globalSetup: ['test/harness/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        resolve,
        test: {
          ...shared,
          name: 'fast',
          include: ['{test,bench/test}/**/*.test.ts'],
          exclude: ['test/system/**', ...SLOW],
          // One more than cores: most files wait for the engine half of their time.
          maxWorkers: 3,
          // Modules are loaded once per worker, not per file: tests must not leave modules changed.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Whole processes, killed and waited for: three files leave a fifth of the two cores idle.
        resolve,
        test: {
          ...shared,
          name: 'system',
          include: ['test/system/**/*.test.ts', ...SLOW],
          // As above: loading the modules takes more than a second of processor time for each file.
          isolate: false,
          setupFiles: ['test/harness/report-processes.ts'],
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
