import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  RankingBuilder,
  type RankingBuilderOptions,
} from '../../pipelines/materialize/lists/ranking-builder.js'
import { Announcer } from '../../pipelines/materialize/announce.js'
import { blockTag } from '../../pipelines/chain/block.js'
import { ChainView } from '../../pipelines/tables/chain-view.js'
import { Database, DatabaseUnavailable, QueryRefused } from '../../pipelines/tables/clickhouse.js'
import { type Head, writeHead } from '../../pipelines/tables/head.js'
import { sha256 } from '../../pipelines/chain/hash.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import { balanceFloor, NO_BALANCES, setBalanceFloor } from '../../pipelines/tables/lists/balance-floor.js'
import { claimWriting, newestWriter, Superseded } from '../../pipelines/tables/writers.js'
import { startExplorer } from '../../services/explorer/host/explorer.js'
import { tagOf } from '../harness/busy-script.js'
import { Counting } from '../harness/counting.js'
import {
  announcedRankings,
  dropRankingPart,
  dropRankings,
  rankingParts,
  richest,
} from '../../pipelines/tables/lists/ranking.js'
import { STEP_TABLES } from '../../pipelines/tables/lists/ranking-steps.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt } from '../../services/simnode/chain/sim-chain.js'
import { dropDatabase, newTables, useEngine } from '../harness/engine.js'
import { expectSameRows } from '../harness/clean-index.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { text } from '../deploy/tools.js'
import { startReplica, statementsOf } from '../harness/cluster-schema.js'
import { IS_WHOLE } from '../harness/whole.js'
import { headWith } from '../harness/heads.js'

const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
const FINALITY = 5
/** The number of addresses on a page of the rich list. */
const PAGE = 150
/** The number of blocks of a backfill. */
const BACKFILL = IS_WHOLE ? 250 : 110

/** A chain of balances only: each block gives some scripts another one, many of them equal, some zero. */
class Balances {
  readonly #blocks: { hash: string; balances: Map<number, bigint> }[] = []

  constructor(readonly db: Database) {}

  get height(): number {
    return this.#blocks.length - 1
  }

  /** @param branch blocks of another branch have other hashes and balances. */
  async grow(blocks: number, scripts: number, branch = 0): Promise<void> {
    const rows: string[] = []
    for (let more = 0; more < blocks; more++) {
      const height = this.#blocks.length
      const hash = (BigInt(height) * 7919n + BigInt(branch) * 104_729n + 1n).toString(16).padStart(64, 'ab')
      const balances = new Map(this.#blocks.at(-1)?.balances)
      const touched = new Map<number, string>()
      for (let each = 0; each < scripts; each++) {
        const script = (height * 31 + each * 17 + branch) % (scripts * 3)
        const before = touched.has(script) ? undefined : (balances.get(script) ?? 0n)
        if (before === undefined) continue
        const balance = BigInt(((height + 1) * (each + 3 + branch)) % 40)
        balances.set(script, balance)
        touched.set(
          script,
          `${String(height)}, ${String(blockTag(hash))}, unhex('${scriptHash(script)}'), 'a${String(script)}', ${String(before)}, ${String(balance)}, ${String(height + 1)}, 0`,
        )
      }
      rows.push(...touched.values())
      this.#blocks.push({ hash, balances })
      await this.db.command(
        `INSERT INTO blocks (height, hash, block_tag, prev_hash, funded_addresses) VALUES (${String(height)}, unhex('${hash}'), ${String(blockTag(hash))},
         unhex('${this.#blocks.at(-2)?.hash ?? '00'.repeat(32)}'), ${String([...balances.values()].filter((each) => each > 0n).length)})`,
      )
    }
    await this.db.command(`INSERT INTO script_balances VALUES (${rows.join('), (')})`)
  }

  drop(blocks: number): void {
    this.#blocks.splice(-blocks)
  }

  view(): ChainView {
    const { height: tipHeight } = this
    const finalHeight = Math.max(-1, tipHeight - FINALITY)
    const hashes = this.#blocks.map(({ hash }, height): [number, string] => [height, hash])
    const head = {
      chain: 'regtest',
      tipHeight,
      tipHash: this.#blocks.at(-1)?.hash ?? '',
      finalHeight,
    } as Head
    return new ChainView(head, new Map(hashes.slice(finalHeight + 1)), new Map())
  }

  /** The expected rich list. */
  ranked(): string[] {
    const funded = [...(this.#blocks.at(-1)?.balances ?? [])].filter(([, balance]) => balance > 0n)
    return funded
      .map(([script, balance]) => ({ address: `a${String(script)}`, balance }))
      .sort((one, other) => Number(other.balance - one.balance) || (one.address < other.address ? -1 : 1))
      .map(({ address, balance }, at) => `${String(at + 1)} ${address} ${String(balance)}`)
  }
}

const scriptHash = (script: number): string =>
  (BigInt(script + 1) * 0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95n)
    .toString(16)
    .slice(-40)
    .padStart(40, '0')

let db: Database
let chain: Balances
const builders: RankingBuilder[] = []

beforeEach(async () => {
  db = await newTables()
  chain = new Balances(db)
})
afterEach(async () => {
  for (const each of builders.splice(0)) await each.close()
  await dropDatabase(db)
})

function builderOf(options: RankingBuilderOptions = {}): RankingBuilder {
  const builder = new RankingBuilder(db, logger, {
    tail: 1,
    stepRows: 100,
    keptMs: 0,
    cleaningMs: 0,
    firstRetryMs: 0,
    rest: 0,
    ...options,
  })
  builders.push(builder)
  return builder
}

async function considered(builder: RankingBuilder, written = 0, isFilling = false): Promise<void> {
  builder.consider(chain.view(), written, isFilling)
  await builder.idle()
}

async function expectRichList(): Promise<void> {
  const filter = chain.view().tagFilter()
  const expected = chain.ranked()
  const shown: string[] = []
  for (let offset = 0; offset < expected.length; offset += PAGE) {
    const page = await richest(db, filter, { offset, limit: PAGE })
    shown.push(...(page ?? []).map(({ rank, address, balance }) => `${String(rank)} ${address} ${balance}`))
  }
  expect(shown).toEqual(expected)
}

const heights = async (): Promise<number[]> => (await announcedRankings(db)).map(({ height }) => height)

/** For each table that is partitioned by ranking, the number of rankings with rows. */
async function parts(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of ['ranked_balances', ...STEP_TABLES])
    counts[table] = (await rankingParts(db, table)).length
  return counts
}

const FINISHED = { ranked_balances: 1, ranking_changes: 0, ranking_order: 0, ranking_steps: 0 }

describe('a ranking', () => {
  it('is built by queries that group and sort no more rows than a step has, from nothing and from the previous ranking', async () => {
    await chain.grow(10, 300)
    const settings = { max_rows_to_group_by: 600, max_rows_to_sort: 600 }
    const steps = builderOf({ stepRows: 250, settings })
    await considered(steps)
    expect(await heights()).toEqual([9])
    expect(await parts()).toEqual(FINISHED)
    await expectRichList()
    await chain.grow(3, 200)
    await expectRichList()
    await considered(steps, 600)
    expect((await heights())[0]).toBe(12)
    await expectRichList()
    const whole = builderOf({ stepRows: 1e6, settings })
    await chain.grow(10, 300)
    await considered(whole)
    expect((await heights())[0]).toBe(12)
  })

  it('continues after a restart at any step', async () => {
    await chain.grow(10, 100)
    await considered(builderOf())
    await chain.grow(20, 50)
    let steps = 0
    const count = (): void => void steps++
    // Each process does one step, and one more that was not recorded.
    for (let process = 0; process < 100 && !(await heights()).includes(29); process++) {
      const dying: RankingBuilder = builderOf({
        afterStep: () => {
          count()
          void dying.close()
        },
      })
      await considered(dying)
    }
    const restarted = steps
    await expectRichList()
    expect(restarted).toBeGreaterThan(15)
    expect(restarted).toBeLessThan(60)
    const last = builderOf()
    await considered(last)
    await considered(last)
    // The previous ranking is final.
    expect(await parts()).toEqual({ ...FINISHED, ranked_balances: 2 })
  })

  it('is correct if a step was done and not recorded', async () => {
    await chain.grow(10, 60)
    const first = builderOf({
      afterStep: async () => {
        // As if each had died just before: the newest record of a step is missing.
        await db.command(
          'ALTER TABLE ranking_steps DELETE WHERE step > 0 AND step = (SELECT max(step) FROM ranking_steps) AND step % 4 = 1',
        )
        throw new DatabaseUnavailable('died')
      },
    })
    for (let round = 0; round < 16; round++) await considered(first)
    const second = builderOf()
    await considered(second)
    await considered(second)
    expect(await heights()).toEqual([9])
    await expectRichList()
    expect(await parts()).toEqual(FINISHED)
  })

  it('is of its block, even if others arrive while it is built', async () => {
    await chain.grow(10, 60)
    const builder: RankingBuilder = builderOf({
      afterStep: async () => {
        if (chain.height >= 14) return
        await chain.grow(1, 50)
        builder.consider(chain.view(), 50, false)
      },
    })
    await considered(builder)
    expect(await heights()).toEqual([9])
    await expectRichList()
  })

  it('is dropped with all its rows if its block is disconnected while it is built', async () => {
    await chain.grow(10, 60)
    let left = false
    const builder: RankingBuilder = builderOf({
      afterStep: async () => {
        if (left || (await parts())['ranked_balances'] === 0) return
        left = true
        chain.drop(2)
        await chain.grow(3, 50, 1)
        builder.consider(chain.view(), 150, false)
      },
    })
    await considered(builder)
    expect(left).toBe(true)
    expect(await heights()).toEqual([])
    await considered(builder)
    expect(await heights()).toEqual([10])
    await considered(builder)
    await expectRichList()
    expect(await parts()).toEqual(FINISHED)
  })

  it('is abandoned before rows are written that its steps would take for final', async () => {
    await chain.grow(10, 60)
    const builder: RankingBuilder = builderOf({ afterStep: () => void builder.close() })
    await considered(builder)
    expect((await parts())['ranking_steps']).toBe(1)
    const next = builderOf()
    await next.abandonAbove(9)
    expect((await parts())['ranking_steps']).toBe(1)
    await next.abandonAbove(8)
    expect(await parts()).toEqual({ ...FINISHED, ranked_balances: 0 })
  })

  it('that is refused is not retried at every head, and then in smaller steps', async () => {
    await chain.grow(20, 300)
    const failures = vi.spyOn(logger, 'warn')
    const options = { stepRows: 8000, settings: { max_rows_to_group_by: 500 } }
    const patient = builderOf({ ...options, firstRetryMs: 3_600_000 })
    for (let head = 0; head < 6; head++) await considered(patient, 10)
    expect(failures).toHaveBeenCalledTimes(1)
    expect(await heights()).toEqual([])
    const eager = builderOf(options)
    for (let head = 0; head < 8; head++) await considered(eager, 10)
    expect(failures.mock.calls.length).toBeGreaterThan(2)
    failures.mockRestore()
    expect(await heights()).toEqual([19])
    await expectRichList()
  })

  it('is neither built nor continued during a backfill', async () => {
    await chain.grow(10, 60)
    const builder: RankingBuilder = builderOf({
      afterStep: () => {
        builder.consider(chain.view(), 0, true)
      },
    })
    await considered(builder, 2000, true)
    expect(await parts()).toEqual({ ...FINISHED, ranked_balances: 0 })
    await considered(builder)
    await considered(builder, 2000, true)
    expect(await heights()).toEqual([])
    await considered(builderOf())
    expect(await heights()).toEqual([9])
  })

  it('is due the later, the more addresses it has', async () => {
    await chain.grow(1, 500)
    const builder = builderOf({ tail: 20, stepRows: 10_000 })
    await considered(builder)
    await chain.grow(1, 30)
    await considered(builder, 30)
    expect(await heights()).toEqual([0])
    await chain.grow(1, 30)
    await considered(builder, 30)
    expect((await heights())[0]).toBe(2)
  })

  it('is kept as long as readers may use it: the newest, the newest final one, and others for some minutes', async () => {
    const builder = builderOf({ stepRows: 10_000, keptMs: 3_600_000 })
    for (let round = 0; round < 5; round++) {
      await chain.grow(3, 100)
      await considered(builder, 300)
    }
    expect(await heights()).toEqual([14, 11, 8, 5, 2])
    const impatient = builderOf({ stepRows: 10_000 })
    for (let round = 0; round < 3; round++) await considered(impatient)
    expect(await heights()).toEqual([14, 8])
    expect(await parts()).toEqual({ ...FINISHED, ranked_balances: 2 })
    // The newest is disconnected: the final one serves.
    chain.drop(4)
    await chain.grow(5, 20, 1)
    await expectRichList()
  })
})

describe('a writer that was superseded', () => {
  it('publishes no ranking, records no step and deletes none', async () => {
    await chain.grow(10, 60)
    const writer = await claimWriting(db, -1)
    await considered(builderOf({ writer: () => writer }))
    expect(await heights()).toEqual([9])
    const next = await claimWriting(db, -1)
    const failures: unknown[] = []
    const onFailure = (error: unknown): void => void failures.push(error)
    const late = builderOf({ writer: () => writer, onFailure })
    // On another branch, as a frozen process sees it: it would also delete the ranking of the chain.
    chain.drop(4)
    await chain.grow(5, 60, 1)
    for (let round = 0; round < 3; round++) await considered(late, 1000)
    expect(await heights()).toEqual([9])
    expect((await parts())['ranking_steps']).toBe(0)
    expect(failures.length).toBeGreaterThan(0)
    expect(failures.every((each) => each instanceof Superseded)).toBe(true)
    await considered(builderOf({ writer: () => next }))
    expect((await heights())[0]).toBe(10)
    await expectRichList()
  })

  it('does not publish one in the middle of a build either', async () => {
    await chain.grow(10, 60)
    const writer = await claimWriting(db, -1)
    let claimed = false
    const late = builderOf({
      writer: () => writer,
      afterStep: async () => {
        if (claimed || (await parts())['ranked_balances'] === 0) return
        claimed = true
        await claimWriting(db, -1)
      },
    })
    for (let round = 0; round < 3; round++) await considered(late)
    expect(claimed).toBe(true)
    expect(await heights()).toEqual([])
  })
})

describe('a chain without a ranking', () => {
  it('has no rich list while more balances are above it than a page may add up; a ranking makes it available', async () => {
    await chain.grow(10, 100)
    const filter = chain.view().tagFilter()
    const counting = new Counting(db)
    const page = { offset: 0, limit: 10 }
    expect(await richest(counting, filter, page, 999)).toBeUndefined()
    expect(await richest(counting, filter, page, 1000)).toHaveLength(10)
    await considered(builderOf())
    expect(await richest(counting, filter, page, 0)).toHaveLength(10)
    await expectRichList()
  })

  it('leads to 503 from an explorer, which reads no more rows than that', async () => {
    const addresses = 2_000_000
    await db.command(
      `INSERT INTO script_balances SELECT intDiv(number, 1000) AS height, ${tagOf('SHA256(toString(height))')}, substring(SHA256(toString(number)), 1, 20),
       concat('a', toString(number)), 0, number + 1, 1, 0 FROM numbers(${String(addresses)})`,
    )
    await db.command(
      `INSERT INTO blocks (height, hash, block_tag, prev_hash, bits, tx_count, supply, funded_addresses)
       SELECT number AS height, SHA256(toString(height)), ${tagOf('SHA256(toString(height))')}, SHA256(toString(toInt64(height) - 1)), 545259519, 1, 1000000, ${String(addresses)}
       FROM numbers(${String(addresses / 1000)})`,
    )
    const tipHeight = addresses / 1000 - 1
    const tipHash = sha256(Buffer.from(String(tipHeight))).toString('hex')
    await writeHead(
      db,
      headWith({
        position: 7,
        tipHeight,
        tipHash,
        finalHeight: tipHeight - FINALITY,
        sequence: 7n,
        writtenAt: Date.now(),
        reached: true,
      }),
    )
    const folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    const log = await openEmbeddedLog(folder)
    const explorer = await startExplorer({ port: 0, answerDeadlineMs: PATIENT_DEADLINE_MS, db, log, logger })
    try {
      const query = vi.spyOn(Database.prototype, 'query')
      const answer = await getAnswer(`${explorer.url}/api/v1/stats/richlist`)
      const requested = query.mock.calls.filter(([sql]) => sql.includes('script_balances'))
      query.mockRestore()
      const { status, height, headers, body } = answer
      expect({ status, height, body }).toEqual({
        status: 503,
        height: tipHeight,
        body: { error: 'Index is syncing', indexedHeight: tipHeight, nodeHeight: null },
      })
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      const counting = new Counting(db)
      for (const [sql, params = {}] of requested) await counting.query(sql, params)
      expect(requested.length).toBeGreaterThan(0)
      expect(counting.rows).toBeLessThan(addresses * 0.75)
      expect((await getAnswer(`${explorer.url}/api/v1/stats/supply`)).status).toBe(200)
    } finally {
      await explorer.close()
      await log.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('the statements that delete rankings', () => {
  it('are accepted by replicated tables', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-keeper-'))
    const engine = await startReplica(folder)
    const replicated = new Database({ url: engine.url, database: 'headwater' })
    try {
      await replicated.createIfAbsent()
      const schema = statementsOf(text('deploy/clickhouse/cluster.sql'))
      for (const each of schema.filter((statement) => statement.includes('headwater.rank')))
        await replicated.command(each.replace(" ON CLUSTER '{cluster}'", ''))
      // The embedded engine keeps them read-only: an error that it would return for good comes before that, and is
      // another one.
      const old = replicated.command('DELETE FROM rankings WHERE built_at < now64(3)')
      await expect(old).rejects.toThrow(QueryRefused)
      const unused = [{ height: 1, hash: 'ab'.repeat(32), size: 1 }]
      await expect(dropRankings(replicated, unused)).rejects.toThrow(DatabaseUnavailable)
      const part = { height: 1, hash: 'ab'.repeat(32), id: '0123456789abcdef0123456789abcdef' }
      for (const table of ['ranked_balances', ...STEP_TABLES]) {
        expect(await rankingParts(replicated, table)).toEqual([])
        await expect(dropRankingPart(replicated, table, part)).rejects.toThrow(DatabaseUnavailable)
      }
    } finally {
      await replicated.close()
      await engine.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a backfill', () => {
  it('ends with one ranking, and nothing is left of another one', async () => {
    const node = await startSimnode({ chain: buildChain({ seed: 'ranking', blocks: BACKFILL }) })
    const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: useEngine(), rankingTail: 20 })
    try {
      await pipeline.level()
      const rows = await announcedRankings(pipeline.db)
      expect(rows.map(({ height }) => height)).toEqual([BACKFILL])
      for (const [table, count] of Object.entries(FINISHED))
        expect(await rankingParts(pipeline.db, table)).toHaveLength(count)
    } finally {
      await pipeline.close()
      await node.close()
    }
  })

  it('builds none while the node has many more blocks than the log', async () => {
    const node = await startSimnode({ chain: buildChain({ seed: 'ranking', blocks: 60 }) })
    const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: useEngine(), rankingTail: 20 })
    const nodeHeight = vi.spyOn(Announcer.prototype, 'nodeHeight', 'get').mockReturnValue(1000)
    try {
      await pipeline.poll()
      await pipeline.materialize()
      expect(await announcedRankings(pipeline.db)).toEqual([])
      nodeHeight.mockRestore()
      await pipeline.materialize()
      expect(await announcedRankings(pipeline.db)).toMatchObject([{ height: 60 }])
    } finally {
      nodeHeight.mockRestore()
      await pipeline.close()
      await node.close()
    }
  })

  it.each([
    { blocks: 1, lowest: 41 - FINALITY + 1, how: 'written again' },
    ...(IS_WHOLE ? [{ blocks: 20, lowest: 41, how: 'written once' }] : []),
  ])(
    'that wrote no balances before its last $blocks blocks ends with those of all that are not final, $how, and with the ranking of the final block',
    async ({ blocks, lowest }) => {
      const chain = buildChain({ seed: 'balances', blocks: 40 })
      const node = await startSimnode({ chain })
      const options = { nodeUrl: node.url, engineUrl: useEngine(), finalityDepth: FINALITY }
      const [pipeline, clean] = [await Pipeline.start(options), await Pipeline.start(options)]
      const { db } = pipeline
      const expectSame = async (): Promise<void> => {
        await Promise.all([pipeline, clean].map((each) => each.level({ tip: chain.tip.hash })))
        const [ours, theirs] = await Promise.all([pipeline, clean].map((each) => each.get('/stats/richlist')))
        expect(ours).toMatchObject({ status: 200, body: theirs?.body as unknown })
      }
      try {
        await pipeline.level()
        // As if a backfill had been interrupted.
        await pipeline.fold.close()
        for (const table of ['script_balances', 'rankings', 'ranked_balances'])
          await db.command(`TRUNCATE TABLE ${table}`)
        await db.pinEngineRun()
        await setBalanceFloor(db, NO_BALANCES, await newestWriter(db))
        for (let block = 0; block < blocks; block++) chain.mine({})
        const nodeHeight = vi
          .spyOn(Announcer.prototype, 'nodeHeight', 'get')
          .mockReturnValue(chain.tip.height)
        pipeline.restartMaterializer()
        await expectSame()
        nodeHeight.mockRestore()
        const [row] = await db.query<{ lowest: number }>('SELECT min(height) AS lowest FROM script_balances')
        expect(row?.lowest).toBe(lowest)
        const final = chain.tip.height - FINALITY
        expect(await announcedRankings(db)).toMatchObject([{ height: final }])
        expect(await balanceFloor(db)).toBe(final)
        await expectSameRows(db, clean.db)
        const fork = forkAt(chain, final)
        for (let block = 0; block <= FINALITY; block++) fork.mine({})
        fork.activate()
        await expectSame()
        expect(await announcedRankings(db)).toMatchObject([{ height: final }])
      } finally {
        await Promise.all([pipeline.close(), clean.close()])
        await node.close()
      }
    },
  )
})
