import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { blockTag } from '../../pipelines/chain/block.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import { Pipeline } from '../harness/pipeline.js'

const logger = pino({ level: 'silent' })
const finalityDepth = 3
const BLOCKS = 12
const DEPTH = 5

describe('the witnesses of a reorganisation', () => {
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline
  let materializer: Materializer

  beforeAll(async () => {
    chain = buildChain({ seed: 'witnesses', blocks: BLOCKS })
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth })
    const { db, log } = pipeline
    materializer = new Materializer({ db, log, logger, finalityDepth, rankingTail: 1e9 })
  })
  afterAll(async () => {
    await materializer.close()
    await pipeline.close()
    await node.close()
  })

  async function follow(): Promise<void> {
    await pipeline.poll()
    while (await materializer.step());
  }

  /** Returns the rows of `txs` or `replaced_witnesses` that have a witness, as text. */
  async function witnesses(table: string, condition = '1'): Promise<string[]> {
    const sql = `SELECT DISTINCT concat(hex(txid), ' ', toString(height), ' ', toString(block_tag), ' ', hex(witness)) AS row
      FROM ${table} WHERE notEmpty(witness) AND ${condition} ORDER BY row`
    return (await pipeline.db.query<{ row: string }>(sql)).map(({ row }) => row)
  }

  it('are those of the blocks that it disconnects and connects; blocks that extend the chain add none', async () => {
    await follow()
    chain.mine({})
    await follow()
    expect(await witnesses('replaced_witnesses')).toEqual([])
    const before = await witnesses('txs')
    expect(before.length).toBeGreaterThan(0)

    const forkHeight = chain.tip.height - DEPTH
    const left = await witnesses('txs', `height > ${String(forkHeight)}`)
    expect(left.length).toBeGreaterThanOrEqual(DEPTH)
    const fork = forkAt(chain, forkHeight)
    for (let block = 0; block <= DEPTH; block++) fork.mine({})
    fork.activate()
    await follow()
    const written = await witnesses('txs', `height > ${String(forkHeight)}`)
    const own = written.filter((row) => !before.includes(row))
    expect(own.length).toBeGreaterThan(0)
    expect(
      own.some((row) => row.includes(` ${String(chain.tip.height)} ${String(blockTag(chain.tip.hash))} `)),
    ).toBe(true)
    const kept = await witnesses('replaced_witnesses')
    expect(kept).toEqual(expect.arrayContaining(own))
    expect(kept).toEqual(expect.arrayContaining(left))

    chain.mine({})
    await follow()
    expect(await witnesses('replaced_witnesses')).toEqual(kept)
  })
})
