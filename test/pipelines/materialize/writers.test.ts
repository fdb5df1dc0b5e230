import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Materializer } from '../../../pipelines/materialize/materializer.js'
import { headsAfter, latestHead, writeHead } from '../../../pipelines/tables/head.js'
import { claimWriting, Superseded } from '../../../pipelines/tables/writers.js'
import { startSimnode } from '../../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../../harness/clean-index.js'
import { Pipeline } from '../../harness/pipeline.js'

const logger = pino({ level: 'silent' })
const finalityDepth = 3

describe('a second materializer', () => {
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline

  beforeAll(async () => {
    chain = buildChain({ seed: 'writers', blocks: 30 })
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth })
    await pipeline.level({ tip: chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function expectSound(): Promise<void> {
    const clean = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth })
    try {
      await clean.level({ tip: chain.tip.hash })
      await expectSameRows(pipeline.db, clean.db)
    } finally {
      await clean.close()
    }
  }

  it('takes over: the first one stops, and nothing that it had in memory is shown', async () => {
    const { db, log } = pipeline
    // Frozen between rows and head, on a branch that is then replaced.
    let wake: () => void = () => undefined
    const frozen = new Promise<void>((resolve) => (wake = resolve))
    let reached: () => void = () => undefined
    const atHead = new Promise<void>((resolve) => (reached = resolve))
    const zombie = new Materializer({
      db,
      log,
      logger,
      finalityDepth,
      hooks: {
        beforeHead: () => {
          reached()
          return frozen
        },
      },
    })
    chain.mine({})
    chain.mine({})
    await pipeline.poll()
    const step = zombie.step()
    await atHead
    const fork = forkAt(chain, 29)
    for (let block = 0; block < 12; block++) fork.mine({})
    fork.activate()
    pipeline.restartMaterializer()
    await pipeline.level({ tip: chain.tip.hash })
    const before = await latestHead(db)
    wake()
    await expect(step).rejects.toThrow('0 of 1 rows were written')
    await expect(zombie.run(new AbortController().signal)).rejects.toThrow(Superseded)
    expect(await latestHead(db)).toEqual(before)
    await expectSound()
  })

  it('continues no totals of a block that was replaced before its start and is final now', async () => {
    const paying = { coinbaseOutputs: [{ value: 1_000n, script: chain.keyring.ownerOf('p2wpkh').script }] }
    const fork = forkAt(chain, chain.tip.height)
    chain.mine(paying)
    await pipeline.level({ tip: chain.tip.hash })
    for (let block = 0; block < 2; block++) fork.mine({})
    fork.activate()
    await pipeline.level({ tip: chain.tip.hash })
    pipeline.restartMaterializer()
    for (let block = 0; block <= finalityDepth; block++) chain.mine({})
    await pipeline.level({ tip: chain.tip.hash })
    chain.mine(paying)
    await pipeline.level({ tip: chain.tip.hash })
    await expectSound()
  })

  it('hides a head of the first one beyond the point of the takeover, if one was in flight', async () => {
    const { db } = pipeline
    const before = await latestHead(db)
    if (before === undefined) throw new Error('there is a head')
    const late = { ...before, position: before.position + 100, tipHash: 'ee'.repeat(32) }
    await writeHead(db, late)
    expect((await latestHead(db))?.position).toBe(late.position)
    await claimWriting(db, before.position)
    expect(await latestHead(db)).toEqual(before)
    expect(await headsAfter(db, before.position, before.writtenAt)).toEqual([])
    // The first one cannot write another either.
    await expect(writeHead(db, { ...late, position: late.position + 1 })).rejects.toThrow('0 of 1 rows')
    pipeline.restartMaterializer()
    chain.mine({})
    await pipeline.level({ tip: chain.tip.hash })
    await expectSound()
  })

  it('claims at the same moment as another: one of them is the later one', async () => {
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimWriting(pipeline.db, 5)))
    expect(new Set(claims).size).toBe(8)
  })
})
