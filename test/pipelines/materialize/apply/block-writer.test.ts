import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { blockTag } from '../../../../pipelines/chain/block.js'
import { scriptHash } from '../../../../pipelines/chain/script.js'
import { Materializer } from '../../../../pipelines/materialize/materializer.js'
import { startSimnode } from '../../../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../../../services/simnode/chain/sim-chain.js'
import { expectSameRows } from '../../../harness/clean-index.js'
import { Pipeline } from '../../../harness/pipeline.js'

const engineUrl = inject('engineUrl')
const logger = pino({ level: 'silent' })
const finalityDepth = 4
const BLOCKS = 40
/** Two granules of every part in which a script's last rows may be. */
const MAX_ROWS = 5_000

describe("the reads of scripts' histories", () => {
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline
  let materializer: Materializer
  let owners: Buffer[]

  beforeAll(async () => {
    chain = buildChain({ seed: 'histories', blocks: 4 })
    owners = (['p2wpkh', 'p2tr', 'dilithium-pubkeyhash'] as const).map(
      (kind) => chain.keyring.ownerOf(kind).script,
    )
    while (chain.tip.height < BLOCKS) chain.mine({ payTo: payee(chain.tip.height) })
    node = await startSimnode({ chain })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl, finalityDepth })
    const { db, log } = pipeline
    materializer = new Materializer({ db, log, logger, finalityDepth, rankingTail: 1e9 })
    await follow()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  /** The script that the coinbase of the block above a height pays: the first two alternate. */
  const payee = (height: number): Buffer => owners[height % 2] ?? Buffer.alloc(0)

  async function follow(): Promise<void> {
    await pipeline.poll()
    while (await materializer.step());
  }

  /** The queries of histories while the node is followed. */
  async function requested(): Promise<Readonly<Record<'known' | 'histories' | 'locations', string[]>>> {
    const query = vi.spyOn(pipeline.db, 'query')
    try {
      await follow()
      const queries = query.mock.calls.map(([sql]) => sql)
      return {
        known: queries.filter((sql) => sql.includes('FROM scripts ')),
        histories: queries.filter((sql) => sql.includes('FROM script_txs ')),
        locations: queries.filter((sql) => sql.includes('FROM tx_locations')),
      }
    } finally {
      query.mockRestore()
    }
  }

  /** The number of rows that the server reads for a query. */
  async function rowsRead(sql: string): Promise<number> {
    const url = `${engineUrl}/?database=${pipeline.name}&wait_end_of_query=1`
    const response = await fetch(url, { method: 'POST', body: sql })
    const body = await response.text()
    if (!response.ok) throw new Error(body)
    const summary = JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}') as { read_rows?: string }
    return Number(summary.read_rows)
  }

  async function expectSound(): Promise<void> {
    const clean = await Pipeline.start({ nodeUrl: node.url, engineUrl, finalityDepth })
    try {
      await clean.level({ tip: chain.tip.hash })
      await expectSameRows(pipeline.db, clean.db)
    } finally {
      await clean.close()
    }
  }

  it('search no block for a coinbase that begins with the height of its block', async () => {
    for (let count = 0; count < 3; count++) chain.mine({ payTo: payee(chain.tip.height) })
    expect((await requested()).locations).toEqual([])
  })

  it('after a reorganisation read the scripts of the disconnected blocks, and no other', async () => {
    const [one, other] = [payee(chain.tip.height - 1), payee(chain.tip.height)]
    const fork = forkAt(chain, chain.tip.height - 1)
    fork.mine({ payTo: other }, { payTo: one }, { payTo: other })
    fork.activate()
    const { known, histories } = await requested()
    // The disconnected block had paid one of them; the totals of the other one are still cached.
    expect(known.join()).toContain(scriptHash(one))
    expect(known.join()).not.toContain(scriptHash(other))
    expect(histories).toHaveLength(1)
    expect(histories.join()).toContain(scriptHash(one))
    await expectSound()
  })

  it('after a deep reorganisation read each script once, however many blocks were disconnected', async () => {
    const fork = forkAt(chain, chain.tip.height - 20)
    for (let block = 0; block < 22; block++) fork.mine({ payTo: payee(block) })
    fork.activate()
    const { histories } = await requested()
    for (const script of owners.slice(0, 2))
      expect(histories.filter((sql) => sql.includes(scriptHash(script)))).toHaveLength(1)
    await expectSound()
  })

  it('leave out the rows of a replaced block that only a process that died has written', async () => {
    const { db, log } = pipeline
    const { script } = chain.keyring.ownerOf('p2pkh')
    const died = new Error('died')
    chain.mine({ payTo: script })
    await pipeline.poll()
    const beforeHead = (): void => {
      throw died
    }
    const dying = new Materializer({ db, log, logger, finalityDepth, hooks: { beforeHead } })
    await expect(dying.step()).rejects.toThrow(died)
    await dying.close()
    const fork = forkAt(chain, chain.tip.height - 1)
    fork.mine({ payTo: payee(0) }, { payTo: payee(1) })
    fork.activate()
    materializer = new Materializer({ db, log, logger, finalityDepth, rankingTail: 1e9 })
    for (let block = 0; block <= finalityDepth; block++) {
      await follow()
      chain.mine({ payTo: payee(block) })
    }
    chain.mine({ payTo: script })
    await follow()
    await expectSound()
  })

  it('of a script with a million transactions read its last rows only', async () => {
    const script = `unhex('${scriptHash(owners[2] ?? Buffer.alloc(0))}')`
    const { db } = pipeline
    chain.mine({ payTo: owners[2] ?? Buffer.alloc(0) })
    await follow()
    const { tip } = chain
    await db.command(`INSERT INTO script_txs SELECT ${script}, number + 2, ${String(tip.height)}, ${String(blockTag(tip.hash))},
      1, number + 7, 0, number + 2, number + 2, 1, 0, [] FROM numbers(1000000)`)
    // Another branch, whose rows must be skipped.
    await db.command(`INSERT INTO script_txs SELECT ${script}, number + 1000002, ${String(tip.height)}, ${String((blockTag(tip.hash) ^ 1) >>> 0)},
      1, 1, 0, 1, 1, 1, 0, [] FROM numbers(2000)`)
    materializer = new Materializer({ db, log: pipeline.log, logger, finalityDepth, rankingTail: 1e9 })
    await materializer.step()
    chain.mine({ payTo: owners[2] ?? Buffer.alloc(0) })
    const { histories } = await requested()
    expect(histories.length).toBeGreaterThan(0)
    const rows = await Promise.all(histories.map(rowsRead))
    for (const [index, read] of rows.entries()) expect(read, histories[index]).toBeLessThan(MAX_ROWS)
    const [last] = await db.query<{ ordinal: number; received: string }>(
      `SELECT ordinal, total_received AS received FROM script_txs WHERE script_hash = ${script} AND block_tag = ${String(blockTag(chain.tip.hash))}`,
    )
    const value =
      chain.read(chain.tip).txs[0]?.outputs.find((each) => each.script.equals(owners[2] ?? Buffer.alloc(0)))
        ?.value ?? 0n
    expect(last).toEqual({ ordinal: 1_000_002, received: String(1_000_006n + value) })
  })
})
