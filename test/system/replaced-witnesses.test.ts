import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { type BlockId, blockTag } from '../../pipelines/chain/block.js'
import { Materializer } from '../../pipelines/materialize/materializer.js'
import { DatabaseUnavailable } from '../../pipelines/tables/clickhouse.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt, type SimChain } from '../../services/simnode/chain/sim-chain.js'
import type { SimTx } from '../../services/simnode/chain/sim-tx.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'

const logger = pino({ level: 'silent' })
const finalityDepth = 3
const BLOCKS = 20

describe('the witnesses of a reorganisation', () => {
  let chain: SimChain
  let node: Awaited<ReturnType<typeof startSimnode>>
  let pipeline: Pipeline
  let materializer: Materializer

  beforeAll(async () => {
    chain = buildChain({ seed: 'witnesses' })
    const owner = chain.keyring.ownerOf('p2wpkh').script
    while (chain.tip.height < BLOCKS) chain.mine({ payTo: owner })
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

  /** Returns a transaction that spends the coinbase of a block. Its txid does not depend on the witness. */
  function spend(height: number, witness: string): SimTx {
    const block = chain.at(height)
    if (block === undefined) throw new Error('no such block')
    const [coinbase] = chain.read(block).txs
    const vout = coinbase?.outputs.findIndex(({ value }) => value > 1000n) ?? -1
    const { script } = chain.keyring.ownerOf('p2wpkh')
    return chain.pay({
      from: [{ txid: coinbase?.txid ?? '', vout }],
      to: [{ value: 1000n, script }],
      unlock: () => ({ scriptSig: Buffer.alloc(0), witness: [Buffer.from(witness)] }),
    })
  }

  /** Returns the witnesses of `spend` in `txs` or `replaced_witnesses` as `txid tag witness`. */
  async function witnesses(table: string): Promise<string[]> {
    const item = "substring(witness, position(witness, 'witness'))"
    const sql = `SELECT DISTINCT concat(lower(hex(txid)), ' ', toString(block_tag), ' ', ${item}) AS row FROM ${table}
      WHERE position(witness, 'witness') > 0 ORDER BY row`
    return (await pipeline.db.query<{ row: string }>(sql)).map(({ row }) => row)
  }

  const rowOf = ({ hash }: Pick<BlockId, 'hash'>, { txid }: SimTx, witness: string): string =>
    `${txid} ${String(blockTag(hash))} ${witness}`

  async function shows({ hash }: { readonly hash: string }): Promise<void> {
    await until('the explorer shows the tip', async () => (await pipeline.get('/blocks/tip')).tip === hash)
  }

  async function shown(block: { readonly hash: string }): Promise<string[]> {
    const { status, body } = await pipeline.get(`/block/${block.hash}/txs?witness=true`)
    expect(status).toBe(200)
    type Shown = { is_coinbase: boolean; inputs: { witness: string[] }[] }
    const txs = (body.items as Shown[]).filter(({ is_coinbase }) => !is_coinbase)
    return txs.map(({ inputs }) => Buffer.from(inputs[0]?.witness[0] ?? '', 'hex').toString()).sort()
  }

  it('are kept for the blocks that it disconnects and connects, whichever block confirms a transaction again', async () => {
    const [both, later] = [spend(1, 'witness 1'), spend(2, 'witness 2')]
    const stale = chain.mine({ txs: [both, later] })
    await follow()
    await pipeline.db.command('CREATE TABLE late ENGINE = Memory AS SELECT * FROM txs')
    expect(await witnesses('replaced_witnesses')).toEqual([])
    expect(await witnesses('txs')).toEqual(
      [rowOf(stale, both, 'witness 1'), rowOf(stale, later, 'witness 2')].sort(),
    )

    const fork = forkAt(chain, stale.height - 1)
    fork.mine({ txs: [spend(1, 'witness 3')] }, {})
    fork.activate()
    await follow()
    const connected = chain.at(stale.height) ?? { hash: '' }
    const kept = await witnesses('replaced_witnesses')
    expect(kept).toEqual(
      [
        rowOf(stale, both, 'witness 1'),
        rowOf(stale, later, 'witness 2'),
        rowOf(connected, both, 'witness 3'),
      ].sort(),
    )

    // A block that only extends the chain.
    chain.mine({ txs: [spend(2, 'witness 4')] })
    await follow()
    const added = rowOf(chain.tip, later, 'witness 4')
    expect(await witnesses('replaced_witnesses')).toEqual([...kept, added].sort())
    expect(await witnesses('txs')).toEqual(
      [rowOf(connected, both, 'witness 3'), rowOf(chain.tip, later, 'witness 4')].sort(),
    )
    // Of the replaced block, sent before it was replaced.
    await pipeline.db.command('INSERT INTO txs SELECT * FROM late')
    await shows(chain.tip)
    expect(await shown(stale)).toEqual(['witness 1', 'witness 2'])
    expect(await shown(connected)).toEqual(['witness 3'])
    expect(await shown(chain.tip)).toEqual(['witness 4'])
  })

  it('are not replaced by a process that was frozen before it wrote them', async () => {
    const { db, log } = pipeline
    const slow = db.sibling(pipeline.name)
    const insert = slow.insert.bind(slow)
    let resumed = Promise.resolve()
    let resume = (): void => undefined
    vi.spyOn(slow, 'insert').mockImplementation(async (rows, condition) => {
      if (!['blocks', 'writers'].includes(rows.table.name)) await resumed
      return insert(rows, condition)
    })
    const frozen = new Materializer({ db: slow, log, logger, finalityDepth, rankingTail: 1e9 })
    while (await frozen.step());
    resumed = new Promise((resolve) => (resume = resolve))
    const stale = chain.mine({ txs: [spend(3, 'witness 5')] })
    await pipeline.poll()
    const step = frozen.step().catch((error: unknown) => error)
    const isWritten = async (): Promise<boolean> =>
      (await db.query(`SELECT 1 FROM blocks WHERE hash = unhex('${stale.hash}')`)).length > 0
    await until('it has written the row of the block', isWritten)

    await materializer.close()
    materializer = new Materializer({ db, log, logger, finalityDepth, rankingTail: 1e9 })
    const fork = forkAt(chain, stale.height - 1)
    fork.mine({}, {})
    fork.activate()
    await follow()
    chain.mine({ txs: [spend(3, 'witness 6')] })
    await follow()
    resume()
    expect(await step).toBeInstanceOf(DatabaseUnavailable)
    await shows(chain.tip)
    expect(await shown(chain.tip)).toEqual(['witness 6'])
    await frozen.close()
    await slow.close()
  })
})
