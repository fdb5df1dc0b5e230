import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

describe('the chain that the suites simulate', () => {
  it('is refused in one line, with the status of a suite that could not be run, if it is not known', () => {
    const { status, stderr } = spawnSync(process.execPath, ['dist/bench/main.js', 'storage'], {
      cwd: ROOT,
      env: { ...process.env, CHAIN: 'bitcoin-mian' },
      encoding: 'utf8',
    })
    expect(stderr).toMatch(/^bench: CHAIN must be one of .*bitcoin-main, .*, got 'bitcoin-mian'\n$/)
    expect(status).toBe(2)
  })
})
