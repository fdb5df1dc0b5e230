import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { WITHOUT_KAFKA } from '../harness/without-kafka.js'

const ROOT = resolve(import.meta.dirname, '../..')
const ROUND_MS = 60_000

/** The suite as `npm run chaos` runs it. @param folder for its worlds. @returns its exit status and its lines. */
function chaos(
  args: readonly string[],
  folder = tmpdir(),
): Promise<{ status: number | null; lines: string[] }> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [join(ROOT, 'dist/test/chaos/main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: folder },
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    child.on('close', (status) => {
      done({ status, lines: said.trim().split('\n') })
    })
  })
}

describe('chaos', () => {
  it('10 rounds on the embedded log', { timeout: 10 * ROUND_MS }, async () => {
    const { status, lines } = await chaos(['--seed', '2026', '--rounds', '10'])
    expect(lines.at(-1)).toBe('ok   chaos: 10 rounds of seed 2026 on embedded')
    expect(status).toBe(0)
  })

  it.skipIf(WITHOUT_KAFKA !== undefined)('4 rounds on Kafka', { timeout: 10 * ROUND_MS }, async () => {
    const { status, lines } = await chaos(['--seed', '2026', '--rounds', '4', '--log', 'kafka'])
    expect(lines.at(-1)).toBe('ok   chaos: 4 rounds of seed 2026 on kafka')
    expect(status).toBe(0)
  })

  it.each([
    { leaves: 'nothing', keep: [] },
    { leaves: 'its world when asked to', keep: ['--keep'] },
  ])(
    'misses a protection that is taken out, and leaves $leaves',
    { timeout: 10 * ROUND_MS },
    async ({ keep }) => {
      const folder = mkdtempSync(join(tmpdir(), 'headwater-chaos-'))
      const { status, lines } = await chaos(['--seed', '2026', '--without', 'duplicates', ...keep], folder)
      expect(lines.some((line) => line.startsWith('WRONG in round'))).toBe(true)
      expect(status).toBe(1)
      const removals = lines.flatMap((line) => /; to remove it: (.*)$/.exec(line)?.[1] ?? [])
      expect(removals).toHaveLength(keep.length)
      expect(readdirSync(folder)).toHaveLength(keep.length)
      for (const removal of removals) execFileSync('sh', ['-c', removal])
      // A file system that is still mounted there would not let its folder go.
      rmdirSync(folder)
    },
  )

  it('says what it cannot do, with a status of its own', async () => {
    const { status, lines } = await chaos(['--log', 'paper'])
    expect(lines[0]).toBe('chaos: --log is embedded or kafka')
    expect(status).toBe(2)
  })
})
