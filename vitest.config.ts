import { defineConfig } from 'vitest/config'

const MINUTE = 60_000

const shared = { pool: 'forks' as const, hookTimeout: MINUTE, teardownTimeout: 30_000 }

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
          testTimeout: 20_000,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Whole processes, timed and killed: one file at a time, after the fast ones.
        test: {
          ...shared,
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          testTimeout: 10 * MINUTE,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
