import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { audit } from '../../pipelines/audit/audit.js'
import { CHECKS } from '../../pipelines/audit/checks.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { CannotReplay, mergeCopies, replay } from '../../pipelines/materialize/rebuild/replay.js'
import { NodeClient } from '../../pipelines/node/client.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { Pipeline } from '../harness/pipeline.js'
import { TIMELINE } from '../harness/recording.js'
import { IS_WHOLE } from '../harness/whole.js'

const FRAME = IS_WHOLE ? 800 : 540
const quiet = (): void => undefined

describe('replay', () => {
  let folder: string
  let log: EventLog
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let clean: Pipeline
  let tip = 0

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-replay-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    node = await startRecordedNode({ timeline: TIMELINE, frame: FRAME })
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: 20 }
    pipeline = await Pipeline.start({ ...options, log })
    clean = await Pipeline.start(options)
    await Promise.all([pipeline.level(), clean.level()])
    tip = (await pipeline.get('/stats/summary')).body.tipHeight
  })
  afterAll(async () => {
    await Promise.all([pipeline.close(), clean.close()])
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function differences(): Promise<string[]> {
    const client = new NodeClient(node.url, { maxAttempts: 3 })
    const { signal } = new AbortController()
    const { balances, days, blocks, addresses } = CHECKS
    const parts = {
      db: pipeline.db,
      log,
      node: client,
      logger: pino({ level: 'silent' }),
      signal,
      patienceMs: 0,
    }
    const checks = { balances, days, blocks, addresses } as typeof CHECKS
    const report = await audit(parts, { sample: IS_WHOLE ? 20 : 6, seed: 'replay', checks })
    client.close()
    return report.checks.flatMap((check) => check.differences.map(({ what }) => what))
  }

  it('changes nothing that was right', async () => {
    await replay(pipeline.db, log, { from: 100, to: 300, progress: quiet })
    await expectSameRows(pipeline.db, clean.db)
    // CI audits after the next replay.
    if (IS_WHOLE) expect(await differences()).toEqual([])
  })

  it('restores lost rows and corrects altered ones', async () => {
    const { db } = pipeline
    for (const table of ['script_outputs', 'script_txs', 'block_txs', 'spends', 'op_returns'])
      await db.command(`DELETE FROM ${table} WHERE height BETWEEN 200 AND 260`)
    await db.command('TRUNCATE TABLE txs')
    await db.command('TRUNCATE TABLE scripts')
    await db.command(
      'ALTER TABLE blocks UPDATE total_fees = 5, supply = 7 WHERE height = 230 SETTINGS mutations_sync = 1',
    )
    await db.command(
      'ALTER TABLE script_txs UPDATE total_received = 1 WHERE height = 400 SETTINGS mutations_sync = 1',
    )
    expect((await differences()).length).toBeGreaterThan(0)
    await replay(db, log, { from: 0, to: tip, progress: quiet })
    await mergeCopies(db, quiet)
    expect(await differences()).toEqual([])
    await expectSameRows(pipeline.db, clean.db)
  })

  it('refuses heights that are not on the chain', async () => {
    for (const [from, to] of [
      [5, 4],
      [0, tip + 1],
    ] as const)
      await expect(replay(pipeline.db, log, { from, to, progress: quiet })).rejects.toThrow(CannotReplay)
  })

  async function run(
    ...args: string[]
  ): Promise<{ status: number | null; output: string; errors: string; child: ReturnType<typeof spawn> }> {
    const child = spawn(process.execPath, ['dist/services/replay/main.js', ...args], {
      env: {
        PATH: process.env['PATH'] ?? '',
        DATA_DIR: folder,
        CLICKHOUSE_URL: inject('engineUrl'),
        CLICKHOUSE_DATABASE: pipeline.name,
      },
    })
    let [output, errors] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString()
      if (args.includes('--restart') && /blocks: \d+ of/.test(errors)) child.kill('SIGKILL')
    })
    const status = await new Promise<number | null>((resolve) => child.on('close', resolve))
    return { status, output, errors, child }
  }

  it('as a command: continues where a killed one was, and says so', async () => {
    // --restart only marks the process that the test kills at its first sign of progress.
    const killed = await run('--restart')
    expect(killed.child.signalCode, killed.errors).toBe('SIGKILL')
    // The chain advances meanwhile, and its tip is another one.
    node.step(100)
    await Promise.all([pipeline.level(), clean.level()])
    const before = tip
    tip = (await pipeline.get('/stats/summary')).body.tipHeight
    expect(tip).toBeGreaterThan(before)
    const resumed = await run()
    expect(resumed.errors).toMatch(/continuing at block [1-9]\d*/)
    expect(resumed).toMatchObject({ status: 0, output: `blocks 0 to ${String(tip)} were written again\n` })
    await expectSameRows(pipeline.db, clean.db)
    const refused = [
      [['--from-height', 'x'], "HW_USAGE: --from-height must be a block height, got 'x'"],
      [['--from-height', '5', '--to-height', '3'], 'HW_CANNOT_REPLAY: there are no blocks from 5 to 3'],
      [['--from-height', '9999'], `HW_CANNOT_REPLAY: there are no blocks from 9999 to ${String(tip)}`],
      [
        ['--to-height', '9999'],
        `HW_CANNOT_REPLAY: heights must be from 0 to ${String(tip)}, the lower one first`,
      ],
      [
        ['--into', 'a', '--from-height', '3'],
        'HW_USAGE: --into builds a complete database and cannot be combined with other options',
      ],
      [
        ['--into', 'a', '--fold'],
        'HW_USAGE: --into builds a complete database and cannot be combined with other options',
      ],
    ] as const
    const refusals = await Promise.all(refused.map(([args]) => run(...args)))
    for (const [index, [, said]] of refused.entries())
      expect(refusals[index]).toMatchObject({ status: 2, output: '', errors: `replay: ${said}\n` })
    expect((await run('--help')).output).toContain('--from-height A')
  })
})
