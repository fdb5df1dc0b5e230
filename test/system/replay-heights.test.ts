import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { replay } from '../../pipelines/materialize/rebuild/replay.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../harness/clean-index.js'
import { Pipeline } from '../harness/pipeline.js'
import { sampled } from '../harness/whole.js'

const finalityDepth = 10
const quiet = (): void => undefined

/** The number of blocks above the replayed ones. */
const ABOVE = 350
/**
 * Each block once to find it and once to write it, the rest of a head of 100 blocks, and a reorganisation if there
 * was one.
 */
const MAX_RECORDS = 250

describe('a replay of some heights', () => {
  let folder: string
  let log: EventLog
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline
  let clean: Pipeline

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-replay-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    chain = buildChain({ seed: 'seek', blocks: 240 })
    node = await startSimnode({ chain })
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth }
    pipeline = await Pipeline.start({ ...options, log })
    await pipeline.level()
    // Blocks 221 to 240 are disconnected and connected again: the log contains them three times, in two epochs.
    const first = chain.tip
    for (const tip of ['other', 'first']) {
      if (tip === 'other') {
        const fork = forkAt(chain, 220)
        for (let block = 0; block < 22; block++) fork.mine({})
        fork.activate()
      } else chain.setTip(chain.extend(first, [{}, {}, {}]).at(-1)?.hash ?? '')
      pipeline.restartPoller()
      await pipeline.level()
    }
    for (let block = 0; block < ABOVE; block++) chain.mine({})
    await pipeline.level()
    clean = await Pipeline.start(options)
    await clean.level()
  })
  afterAll(async () => {
    await Promise.all([pipeline.close(), clean.close()])
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  /**
   * Deletes the rows of some blocks, writes them again, and returns the number of records of the log that this read.
   */
  async function recordsFor(from: number, to: number, of: EventLog = log): Promise<number> {
    const { db } = pipeline
    for (const table of ['block_txs', 'script_txs', 'spends'])
      await db.command(`DELETE FROM ${table} WHERE height BETWEEN ${String(from)} AND ${String(to)}`)
    await expect(expectSameRows(db, clean.db)).rejects.toThrow()
    let records = 0
    const read = of.read.bind(of)
    vi.spyOn(of, 'read').mockImplementation(async (...requested) => {
      const found = await read(...requested)
      records += found.length
      return found
    })
    await replay(db, of, { from, to, progress: quiet })
    vi.restoreAllMocks()
    await expectSameRows(db, clean.db)
    return records
  }

  it('reads no more of the log than these blocks, and those applied together with the highest one', async () => {
    const ranges = [
      [215, 230],
      [20, 29],
      [0, 3],
      [238, 243],
    ] as const
    for (const [from, to] of sampled(ranges, 2)) expect(await recordsFor(from, to)).toBeLessThan(MAX_RECORDS)
  })

  it('also finds them in a log that was created again, at other positions', async () => {
    const events = (await log.read('chain', 0, 10_000)).map(({ value }) => value)
    const other = await openEmbeddedLog(join(folder, 'other'))
    try {
      await other.append('chain', [
        ...events.slice(0, 1).flatMap((epoch) => Array<Uint8Array>(200).fill(epoch)),
        ...events,
      ])
      expect(await recordsFor(100, 104, other)).toBeGreaterThan(ABOVE)
    } finally {
      await other.close()
    }
  })
})
