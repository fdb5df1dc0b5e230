import { defineConfig } from 'vitest/config'

const MINUTE = 60_000

const shared = { pool: 'forks' as const, hookTimeout: 3 * MINUTE, teardownTimeout: 30_000 }

export default defineConfig({
  test: {
    // Builds dist/ and starts one engine for all files; its URL is inject('engineUrl').
    globalSetup: ['test/harness/global-setup.ts'],
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**'],
          // A limit for tests that hang, not for speed: beside eight busy loops tests take ten times as long.
          testTimeout: 3 * MINUTE,
          maxWorkers: 2,
          // Modules are loaded once per worker, not per file: tests must not leave modules changed.
          isolate: false,
          restoreMocks: true,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Whole processes, killed and waited for: a single file leaves half of the two cores idle.
        test: {
          ...shared,
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          setupFiles: ['test/harness/report-processes.ts'],
          testTimeout: 10 * MINUTE,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
