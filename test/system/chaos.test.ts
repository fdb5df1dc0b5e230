import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CONTROLS } from '../chaos/controls.js'
import { WITHOUT_KAFKA } from '../harness/without-kafka.js'
import { IS_WHOLE } from '../harness/whole.js'

const ROOT = resolve(import.meta.dirname, '../..')

/**
 * Runs the suite as `npm run chaos` does.
 * @param folder for its worlds.
 * @returns its exit status and its lines.
 */
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

// A round takes up to two minutes beside eight busy loops.
describe('chaos', { timeout: 30 * 60_000 }, () => {
  const rounds = IS_WHOLE ? 2 : 1
  it(`survives ${String(rounds)} rounds on the embedded log`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headwater-chaos-'))
    const options = ['--seed', '2026', '--rounds', String(rounds), '--condition', 'single records']
    const { status, lines } = await chaos(options, folder)
    expect(lines.at(-1)).toBe(`ok   chaos: ${String(rounds)} rounds of seed 2026 on embedded`)
    expect(status).toBe(0)
    // It leaves nothing behind; a file system that is still mounted there would keep its folder from being removed.
    rmdirSync(folder)
  })

  it.runIf(IS_WHOLE && WITHOUT_KAFKA === undefined)('survives a round on Kafka', async () => {
    const { status, lines } = await chaos([
      '--seed',
      '2026',
      '--rounds',
      '1',
      '--log',
      'kafka',
      '--condition',
      'none',
    ])
    expect(lines.at(-1)).toBe('ok   chaos: 1 rounds of seed 2026 on kafka')
    expect(status).toBe(0)
  })

  it.runIf(IS_WHOLE)('fails in the first round without a protection, for every seed', async () => {
    const seed = String(randomInt(1_000_000_000))
    const folder = mkdtempSync(join(tmpdir(), 'headwater-chaos-'))
    const missed = async (...args: readonly string[]): Promise<string[]> => {
      const { status, lines } = await chaos(['--seed', seed, '--rounds', '1', ...args], folder)
      const found = lines.filter((line) => line.startsWith('WRONG in round'))
      expect(found).toEqual([`WRONG in round 1 of seed ${seed} on embedded`])
      expect(status).toBe(1)
      return lines
    }
    // Each takes as long as a round.
    const others = Object.keys(CONTROLS).filter((name) => name !== 'fence')
    for (const name of others) await missed('--without', name)
    const lines = await missed('--without', 'fence', '--keep')
    expect(lines.filter((line) => line.includes('/whale-alerts: transaction')).length).toBeGreaterThan(0)
    expect(readdirSync(folder)).toHaveLength(1)
    const removals = lines.flatMap((line) => /; to remove it: (.*)$/.exec(line)?.[1] ?? [])
    expect(removals).toHaveLength(1)
    for (const removal of removals) execFileSync('sh', ['-c', removal])
    rmdirSync(folder)
  })

  it('reports what it cannot do, with an exit status of its own', async () => {
    const { status, lines } = await chaos(['--log', 'paper'])
    expect(lines[0]).toBe('chaos: --log is embedded or kafka')
    expect(status).toBe(2)
  })
})
