import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { addressOf } from '../../pipelines/chain/address.js'
import { sha256 } from '../../pipelines/chain/hash.js'
import { scriptHash } from '../../pipelines/chain/script.js'
import { UnspentLister, type UnspentListerOptions } from '../../pipelines/materialize/lists/unspent-lister.js'
import { ChainView } from '../../pipelines/tables/chain-view.js'
import type { Database } from '../../pipelines/tables/clickhouse.js'
import type { Head } from '../../pipelines/tables/head.js'
import { newestList } from '../../pipelines/tables/lists/unspent.js'
import { claimWriting, Superseded } from '../../pipelines/tables/writers.js'
import { startSimnode } from '../../services/simnode/node.js'
import { buildChain, forkAt } from '../../services/simnode/chain/sim-chain.js'
import { dropDatabase, newTables } from '../harness/engine.js'
import { Pipeline } from '../harness/pipeline.js'

it('lists the unspent outputs of a script that changes often; pages stay correct through blocks and a reorganisation', async () => {
  const chain = buildChain({ seed: 'listed', blocks: 3 })
  const script = chain.keyring.ownerOf('p2wpkh').script
  const address = addressOf(script, REGTEST) ?? ''
  const paid = chain.mine({ coinbaseOutputs: [{ value: 100_000_000n, script }] })
  const from = [{ txid: chain.read(paid).txs[0]?.txid ?? '', vout: 0 }]
  const to = Array.from({ length: 40 }, () => ({ value: 1_000_000n, script }))
  const fan = chain.pay({ from, to, change: script })
  chain.mine({ txs: [fan] })
  /** Spends one of the forty outputs to the same script. */
  const spend = (vout: number) => chain.pay({ from: [{ tx: fan, vout }], to: [], change: script })
  const node = await startSimnode({ chain })
  const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), listTail: 10 })
  const heights: number[] = []
  /** The block of the current list, after every page was compared with the rows of outputs. */
  const look = async (): Promise<void> => {
    await pipeline.level()
    const unspent = new Map<string, number>()
    for (let height = 0; height <= chain.tip.height; height++) {
      const block = chain.at(height)
      for (const tx of block === undefined ? [] : chain.read(block).txs) {
        for (const { prevTxid, prevVout } of tx.inputs) unspent.delete(`${prevTxid}:${String(prevVout)}`)
        for (const [vout, output] of tx.outputs.entries())
          if (output.script.equals(script)) unspent.set(`${tx.txid}:${String(vout)}`, height)
      }
    }
    const found: string[] = []
    for (let offset = 0; ; offset += 7) {
      const { body } = await pipeline.get(`/address/${address}/utxos?limit=7&offset=${String(offset)}`)
      expect(body.total).toBe(unspent.size)
      for (const { txid, vout, block_height } of body.items) {
        expect(block_height).toBe(unspent.get(`${txid}:${String(vout)}`))
        found.push(`${txid}:${String(vout)}`)
      }
      if (body.items.length < 7) break
    }
    expect(found.sort()).toEqual([...unspent.keys()].sort())
    heights.push((await newestList(pipeline.db, { scriptHash: scriptHash(script), filter: '1' })).height)
  }
  try {
    await look()
    for (let block = 0; block < 4; block++) {
      chain.mine({ txs: [0, 1, 2, 3, 4, 5].map((index) => spend(6 * block + index)) })
      await look()
    }
    const listed = heights.at(-1) ?? -1
    expect(listed).toBeGreaterThan(5)
    // The blocks of the list are replaced: the newest list is then on another branch.
    const fork = forkAt(chain, listed - 2)
    fork.mine({}, { txs: [spend(30)] }, {}, {}, {}, {})
    fork.activate()
    await look()
    expect(new Set(heights).size).toBeGreaterThan(1)
  } finally {
    await pipeline.close()
    await node.close()
  }
})

describe('lists of unspent outputs, built while events are applied', () => {
  let db: Database
  const listers: UnspentLister[] = []
  const failures: unknown[] = []
  beforeEach(async () => {
    db = await newTables()
    failures.length = 0
  })
  afterEach(async () => {
    for (const each of listers.splice(0)) await each.close()
    await dropDatabase(db)
  })

  const TIP = 40
  const nameOf = (script: number): string =>
    sha256(Buffer.from(`script ${String(script)}`)).toString('hex', 0, 20)
  const view = new ChainView(
    { tipHeight: TIP, tipHash: 'ab'.repeat(32), finalHeight: TIP } as Head,
    new Map(),
    new Map(),
  )

  /** Scripts with an output at each height. */
  async function write(scripts: number, total = TIP): Promise<void> {
    const script = "substring(SHA256(concat('script ', toString(intDiv(number, 40)))), 1, 20)"
    await db.command(
      `INSERT INTO script_outputs SELECT ${script}, 0, 4294967295 - number % 40, substring(SHA256(toString(number)), 1, 16), 0, 0, 0, intDiv(number, 40), 7
       FROM numbers(${String(40 * scripts)})`,
    )
    await db.command(
      `INSERT INTO block_txs (height, block_tag, tx_index, txid) SELECT number % 40, 0, intDiv(number, 40), SHA256(toString(number))
       FROM numbers(${String(40 * scripts)})`,
    )
    await db.command(
      `INSERT INTO script_txs (script_hash, ordinal, height, unspent_count) SELECT ${script}, 1, 39, ${String(total)}
       FROM numbers(0, ${String(40 * scripts)}, 40)`,
    )
  }

  function listerOf(options: Partial<UnspentListerOptions> = {}): UnspentLister {
    const onFailure = (error: unknown): void => void failures.push(error)
    const lister = new UnspentLister(db, pino({ level: 'silent' }), {
      writer: () => 0n,
      onFailure,
      tail: 10,
      retryMs: 0,
      ...options,
    })
    listers.push(lister)
    return lister
  }

  const considered = async (lister: UnspentLister, isFilling = false): Promise<void> => {
    lister.consider(view, isFilling)
    await lister.idle()
  }

  async function listed(): Promise<string[]> {
    const sql = 'SELECT DISTINCT lower(hex(script_hash)) AS script FROM unspent_lists'
    return (await db.query<{ script: string }>(sql)).map(({ script }) => script).sort()
  }

  it.each([10_000_000, 100])(
    'are built for all scripts that changed often before this start, reading %i rows at once',
    async (searchedRows) => {
      await write(6)
      await considered(listerOf({ tail: 41, searchedRows }))
      expect(await listed()).toEqual([])
      await considered(listerOf({ tail: 40, searchedRows }))
      expect(await listed()).toEqual(Array.from({ length: 6 }, (_, script) => nameOf(script)).sort())
      expect(failures).toEqual([])
    },
  )

  it('are not started during a backfill, and continue later from where they were', async () => {
    await write(5)
    const lister: UnspentLister = listerOf({
      afterList: () => {
        lister.consider(view, true)
      },
    })
    await considered(lister, true)
    expect(await listed()).toEqual([])
    for (let built = 1; built <= 5; built++) {
      await considered(lister)
      expect(await listed()).toHaveLength(built)
    }
  })

  it.each(['close', 'pause'] as const)(
    'delay a caller that ends them by %s for no longer than one list takes',
    async (how) => {
      await write(5)
      let ended: Promise<void> | undefined
      const lister: UnspentLister = listerOf({
        afterList: () => {
          ended ??= lister[how]()
        },
      })
      await considered(lister)
      await ended
      expect(await listed()).toHaveLength(1)
      if (how === 'close') return
      await considered(lister)
      expect(await listed()).toHaveLength(5)
    },
  )

  it('are built for the other scripts if one of them fails, and the rows of the failed list are deleted', async () => {
    await write(5)
    const broken = nameOf(2)
    await db.command(
      `ALTER TABLE script_txs UPDATE unspent_count = 41 WHERE script_hash = unhex('${broken}') SETTINGS mutations_sync = 1`,
    )
    const lister = listerOf()
    for (let round = 0; round < 3; round++) await considered(lister)
    expect(failures).toHaveLength(1)
    const others = [0, 1, 3, 4].map(nameOf).sort()
    expect(await listed()).toEqual(others)
    const rows = await db.query<{ script: string }>(
      'SELECT DISTINCT lower(hex(script_hash)) AS script FROM unspent_outputs ORDER BY script',
    )
    expect(rows.map(({ script }) => script)).toEqual(others)
    // After as many changes again the script is tried again.
    lister.count(new Map([[broken, 10]]))
    await considered(lister)
    expect(failures).toHaveLength(2)
  })

  it('are not built by a materializer that was superseded', async () => {
    await write(1)
    const writer = await claimWriting(db, -1)
    await claimWriting(db, -1)
    await considered(listerOf({ writer: () => writer }))
    expect(await listed()).toEqual([])
    expect(failures).toEqual([expect.any(Superseded)])
  })
})
