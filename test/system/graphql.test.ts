import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { type Explorer, startExplorer } from '../../services/explorer/explorer.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { readPages } from '../content/pages.js'
import { Pipeline } from '../harness/pipeline.js'
import { TIMELINE } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { type GraphqlAnswer, send } from '../services/explorer/graphql/client.js'

const LABELS = fileURLToPath(new URL('../content/labels.jsonl', import.meta.url))
const POOLS = fileURLToPath(new URL('../../deploy/pools.json', import.meta.url))
/** As in the examples of the documentation. */
const FIRST_FRAME = 1858
const FRAMES_LEFT = 82
const DEEP = `query ($blocks: Int!, $txs: Int!) {
  blocks(limit: $blocks) { items { height transactions(limit: $txs) { items {
    txid block { hash }
    inputs(limit: 5) {
      previous_output { value spending_input { txid } }
      address_summary { balance transactions(limit: 3) { items { txid transaction { txid fee } } } }
    }
  } } } }
}`

/** A query in a code block of the page, and its variables in the next one. */
const QUERY = /```graphql\n([\s\S]*?)```(?:\n\n```json\n(\{[^]*?\})\n```)?/g

const page = readPages().find(({ file }) => file === 'explorer-api/graphql.md')
const queries = [...(page?.source ?? '').matchAll(QUERY)]
  .map(([, query = '', variables]) => ({ query, variables }))
  .filter(({ query }) => !query.startsWith('subscription'))

/** A database that notes the tables that each statement reads. */
class WatchedDatabase extends Database {
  readonly tables: string[] = []

  override query<T>(...[sql, params, options]: Parameters<Database['query']>): Promise<T[]> {
    this.#note(sql)
    return super.query<T>(sql, params, options)
  }

  override bytes(...[sql, params, options]: Parameters<Database['bytes']>): Promise<Buffer> {
    this.#note(sql)
    return super.bytes(sql, params, options)
  }

  #note(sql: string): void {
    const [, table = ''] = /\bFROM (\w+)/.exec(sql) ?? []
    this.tables.push(table)
  }
}

describe('GraphQL of the recorded chain', () => {
  let node: Awaited<ReturnType<typeof startRecordedNode>>
  let pipeline: Pipeline
  let watched: WatchedDatabase
  let explorer: Explorer

  beforeAll(async () => {
    node = await startRecordedNode({ timeline: TIMELINE, port: 0, frame: FIRST_FRAME })
    const definitions = { labels: LABELS, pools: POOLS }
    pipeline = await Pipeline.start({
      ...{ nodeUrl: node.url, engineUrl: inject('engineUrl') },
      explorer: { definitions, auditEveryMs: 0 },
    })
    await pipeline.level()
    watched = new WatchedDatabase({ url: inject('engineUrl'), database: pipeline.name })
    explorer = await startExplorer({
      ...{ host: '127.0.0.1', port: 0, db: watched, log: pipeline.log, logger: pino({ level: 'silent' }) },
      ...{ rateLimitPerMinute: 0, auditEveryMs: 0, definitions },
    })
  })
  afterAll(async () => {
    await explorer.close()
    await watched.close()
    await pipeline.close()
    await node.close()
  })

  /** Repeats an operation if an engine that lacks processor time was taken for unreachable. */
  const ask = (query: string, variables: object = {}, url = pipeline.url): Promise<GraphqlAnswer> =>
    until('an answer', async () => {
      const answer = await send(url, { query, variables: { ...variables } })
      return answer.errors[0]?.extensions['code'] !== 'HW_DATABASE_UNAVAILABLE' && answer
    })

  it('has the objects of REST behind its links', async () => {
    const { data, errors } = await ask(`{ block(heightOrHash: "131") {
      hash previous { hash } next { height } miner { balance }
      transactions(limit: 5) { total items {
        txid block { height }
        inputs(limit: 3) {
          previous_output { value spending_input { txid vin } }
          address_summary { balance
            transactions(limit: 2) { total items { txid value_change } }
            utxos(limit: 2) { total items { txid vout } } }
        }
        outputs(limit: 3) { spent_txid spending_transaction { txid } }
      } }
    } }`)
    expect(errors).toEqual([])
    const { body: block } = await pipeline.get('/block/131')
    expect(data.block).toMatchObject({
      ...{ hash: block.hash, previous: { hash: block.prev_hash }, next: { height: 132 } },
      miner: { balance: (await pipeline.get(`/address/${String(block.miner_address)}`)).body.balance },
    })
    const { body: txs } = await pipeline.get('/block/131/txs?limit=5')
    expect(data.block.transactions.total).toBe(txs.total)
    let links = 0
    for (const [index, tx] of txs.items.entries()) {
      const shown = data.block.transactions.items[index]
      expect(shown).toMatchObject({ txid: tx.txid, block: { height: 131 } })
      for (const { spent_txid: spent, spending_transaction: spender } of shown.outputs)
        expect(spender).toEqual(spent === null ? null : { txid: spent })
      for (const [vin, input] of shown.inputs.entries()) {
        const { prev_txid: prevTxid, prev_vout: prevVout, address } = tx.inputs[vin]
        if (prevTxid === null) {
          expect(input).toEqual({ previous_output: null, address_summary: null })
          continue
        }
        const { value } = (await pipeline.get(`/tx/${String(prevTxid)}`)).body.outputs[prevVout]
        const path = `/address/${String(address)}`
        const { balance } = (await pipeline.get(path)).body
        const { total, items } = (await pipeline.get(`${path}/txs?limit=2`)).body
        const utxos = (await pipeline.get(`${path}/utxos?limit=2`)).body
        const changes = items.map((item: { txid: string; value_change: string }) => ({
          ...{ txid: item.txid, value_change: item.value_change },
        }))
        const unspent = utxos.items.map((item: { txid: string; vout: number }) => ({
          ...{ txid: item.txid, vout: item.vout },
        }))
        expect(input).toEqual({
          previous_output: { value, spending_input: { txid: tx.txid, vin } },
          address_summary: {
            balance,
            transactions: { total, items: changes },
            utxos: { total: utxos.total, items: unspent },
          },
        })
        links++
      }
    }
    expect(links).toBeGreaterThan(0)
  })

  it('reads each table once per step of a level, however many objects the level has', async () => {
    const tablesOf = async (blocks: number, txs: number): Promise<Record<string, number>> => {
      watched.tables.length = 0
      const { data, errors } = await ask(DEEP, { blocks, txs }, explorer.url)
      expect(errors).toEqual([])
      expect(JSON.stringify(data).split('"balance"').length).toBeGreaterThan(blocks / 2)
      const counts: Record<string, number> = {}
      for (const table of watched.tables) counts[table] = (counts[table] ?? 0) + 1
      return counts
    }
    const few = await tablesOf(2, 3)
    const many = await tablesOf(25, 3)
    // Levels: blocks; transactions; block, previous output and address; spending input and history; its transactions. A history
    // takes two steps of script_txs, the first and the last row of an address one each.
    const MOST = { blocks: 3, block_heights: 2, block_txs: 2, txs: 4, spends: 4, script_txs: 4 }
    for (const counts of [few, many])
      for (const [table, most] of Object.entries(MOST))
        expect(counts[table] ?? 0, table).toBeLessThanOrEqual(most)
    expect(many).toMatchObject({ txs: 4, block_txs: 2 })
  })

  it('pages with cursors that miss nothing while blocks arrive', async () => {
    const heights: number[] = []
    const query =
      'query ($after: String) { chain { height } blocks(first: 7, after: $after) { items { height } next_cursor } }'
    let after: string | null = null
    let added = 0
    let restarts = 0
    do {
      const { status, data, errors }: GraphqlAnswer = await ask(query, { after })
      if (status === 410) {
        // A reorganisation has replaced the newest block of the pages so far.
        expect(errors[0]?.extensions['code']).toBe('HW_CURSOR_OUTDATED')
        restarts++
        heights.length = 0
        after = (await ask(query)).data.blocks.next_cursor as string
        const { body } = await pipeline.get('/blocks?limit=7')
        heights.push(...body.items.map(({ height }: { height: number }) => height))
        continue
      }
      expect(errors).toEqual([])
      heights.push(...data.blocks.items.map(({ height }: { height: number }) => height))
      after = data.blocks.next_cursor
      if (added < FRAMES_LEFT && heights.length % 21 === 0) {
        node.step(1)
        added++
        await pipeline.level()
      }
    } while (after !== null && heights.length < 600)
    expect(added).toBeGreaterThan(10)
    expect(restarts).toBeLessThan(3)
    expect(heights).toEqual(Array.from({ length: heights.length }, (_, index) => Number(heights[0]) - index))
  })

  it('pages through a history, its unspent outputs and the rich list as REST does', async () => {
    node.step(FRAMES_LEFT)
    await pipeline.level()
    const address = 'qcrt1z2fd3q4h09lcp54rlgaqtzkhwt3h3k7yp9j922ya8d54ga9jlszpqajypy0'
    for (const [field, path] of [
      ['addressTransactions', `/address/${address}/txs?limit=100`],
      ['addressUtxos', `/address/${address}/utxos?limit=500`],
      ['addressTransactions', `/address/${address}/txs?limit=100&sort=asc`],
    ] as const) {
      const sort = path.includes('sort') ? ', sort: asc' : ''
      const query = `query ($after: String) { ${field}(address: "${address}"${sort}, first: 3, after: $after) { items { txid } next_cursor } }`
      const txids: string[] = []
      let after: string | null = null
      do {
        const { data, errors }: GraphqlAnswer = await ask(query, { after })
        expect(errors).toEqual([])
        txids.push(...data[field].items.map(({ txid }: { txid: string }) => txid))
        after = data[field].next_cursor
      } while (after !== null && txids.length < 90)
      const { body } = await pipeline.get(path)
      const all = body.items.map(({ txid }: { txid: string }) => txid)
      expect(txids).toEqual(all.slice(0, txids.length))
      expect(txids.length).toBe(Math.min(all.length, 90))
    }
    const wrong = await ask('{ blocks(first: 2, after: "x") { total } }')
    expect(wrong.errors[0]?.message).toContain('next_cursor')
  })

  it('documents ten queries', () => {
    expect(queries).toHaveLength(10)
  })

  it.each(queries)('answers the documented query $query', async ({ query, variables }) => {
    const { status, data, errors } = await ask(
      query,
      variables === undefined ? {} : (JSON.parse(variables) as object),
    )
    expect(errors).toEqual([])
    expect(status).toBe(200)
    for (const [field, value] of Object.entries(data as object))
      expect([field, value]).not.toEqual([field, null])
  })
})
