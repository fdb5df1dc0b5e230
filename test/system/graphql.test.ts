import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { decodeAddress } from '../../pipelines/chain/address.js'
import { REGTEST } from '../../pipelines/chain/networks.js'
import { scriptHash } from '../../pipelines/chain/script.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { type Explorer, startExplorer } from '../../services/explorer/host/explorer.js'
import { hasCursor, withCursor } from '../../services/explorer/faces/graphql/cursors.js'
import { parseArguments } from '../../services/explorer/core/reads/arguments.js'
import { encodeCursor } from '../../services/explorer/core/reads/cursor.js'
import { READS } from '../../services/explorer/core/reads/index.js'
import type { ReadContext } from '../../services/explorer/core/reads/read.js'
import { startRecordedNode } from '../../services/recorded-node/node.js'
import { readPages } from '../content/pages.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { TIMELINE } from '../harness/recording.js'
import { IS_WHOLE } from '../harness/whole.js'
import { type GraphqlAnswer, send } from '../services/explorer/faces/graphql/client.js'

const LABELS = fileURLToPath(new URL('../content/labels.jsonl', import.meta.url))
const POOLS = fileURLToPath(new URL('../../deploy/pools.json', import.meta.url))
/** As in the examples of the documentation. */
const FIRST_FRAME = 1858
const FRAMES_LEFT = 82
const ADDRESS = 'qcrt1z2fd3q4h09lcp54rlgaqtzkhwt3h3k7yp9j922ya8d54ga9jlszpqajypy0'
/** Items of each list that are compared. */
const MOST = IS_WHOLE ? 60 : 20

type Place = readonly (string | number)[]
/** The names by which lists with cursors of their own check them. */
const OWN_CURSORS: Readonly<Record<string, string>> = {
  blocks: 'blocks',
  mempoolReplacements: 'mempoolReplacements false',
  walletTransactions: 'wallet',
}
/** Places that no list has. */
const MALFORMED: readonly Place[] = [
  [''],
  ['x'],
  ['-1'],
  ['1.5'],
  ['1e3'],
  ['9'.repeat(20)],
  ['9'.repeat(400)],
  ['\0'],
]
const HUGE = Number.MAX_SAFE_INTEGER
/** Places of the right form for one list or the other, wherever they are. */
const ELSEWHERE: readonly Place[] = [
  [0],
  [0, 0],
  [0, 0, 0],
  [HUGE, HUGE, HUGE],
  [0, '-', '-'],
  [HUGE, '-', '-'],
  [0, '-', '-', HUGE, 'x'],
  [0, 'x', 'y'],
  [HUGE, '9'.repeat(20), ''],
  [0, '9'.repeat(20), 'qcrt1'],
  [1, HUGE, 'x', 'x'],
]
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
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { definitions, auditEveryMs: 0 },
    })
    await pipeline.level()
    watched = new WatchedDatabase({ url: inject('engineUrl'), database: pipeline.name })
    explorer = await startExplorer({
      host: '127.0.0.1',
      port: 0,
      db: watched,
      log: pipeline.log,
      logger: pino({ level: 'silent' }),
      rateLimitPerMinute: 0,
      answerDeadlineMs: PATIENT_DEADLINE_MS,
      auditEveryMs: 0,
      definitions,
    })
  })
  afterAll(async () => {
    await explorer.close()
    await watched.close()
    await pipeline.close()
    await node.close()
  })

  const ask = (query: string, variables: object = {}, url = pipeline.url): Promise<GraphqlAnswer> =>
    send(url, { query, variables: { ...variables } })

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
      hash: block.hash,
      previous: { hash: block.prev_hash },
      next: { height: 132 },
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
          txid: item.txid,
          value_change: item.value_change,
        }))
        const unspent = utxos.items.map((item: { txid: string; vout: number }) => ({
          txid: item.txid,
          vout: item.vout,
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

  it('keeps the height as of which an object was read behind its links', async () => {
    const { miner_address: miner } = (await pipeline.get('/block/1')).body
    const query = `query ($miner: String!) {
      address(address: $miner, at: 9) { tx_count transactions(first: 1) { total items { transaction { outputs { spent_txid } } } }
        now: transactions(at: 131) { total } utxos { total } }
      block(heightOrHash: "9", at: 9) { height next { height } previous { next { height next { height } } } }
    }`
    const { data } = await ask(query, { miner })
    const past = async (path: string) => (await pipeline.get(`/address/${String(miner)}${path}`)).body
    const { items, total } = await past('/txs?limit=1&at=9')
    const { outputs } = (await pipeline.get(`/tx/${String(items[0].txid)}?at=9`)).body
    const spent = outputs.map(({ spent_txid }: { spent_txid: string | null }) => ({ spent_txid }))
    expect(data.address).toEqual({
      tx_count: (await past('?at=9')).tx_count,
      transactions: { total, items: [{ transaction: { outputs: spent } }] },
      now: { total: (await past('/txs?at=131')).total },
      utxos: { total: (await past('/utxos?at=9')).total },
    })
    expect(data.block).toEqual({ height: 9, next: null, previous: { next: { height: 9, next: null } } })
  })

  it('reads each table once per step, however many objects take it', async () => {
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
    // takes two steps of script_txs, the first and the last row of an address one each. Levels share the steps of txs and spends.
    const MOST = { blocks: 3, block_heights: 2, block_txs: 2, txs: 3, spends: 3, script_txs: 4 }
    for (const counts of [few, many])
      for (const [table, most] of Object.entries(MOST))
        expect(counts[table] ?? 0, table).toBeLessThanOrEqual(most)
    expect(many).toMatchObject({ txs: 3, block_txs: 2 })
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
    } while (after !== null && heights.length < (IS_WHOLE ? 300 : 150))
    expect(added).toBeGreaterThan(IS_WHOLE ? 10 : 4)
    expect(restarts).toBeLessThan(3)
    expect(heights).toEqual(Array.from({ length: heights.length }, (_, index) => Number(heights[0]) - index))
  })

  it('pages through a history, its unspent outputs and the rich list as REST does', async () => {
    node.step(FRAMES_LEFT)
    await pipeline.level()
    const of = `address: "${ADDRESS}", `
    for (const [field, args, item, path] of [
      ['addressTransactions', of, 'txid', `/address/${ADDRESS}/txs?limit=100`],
      ['addressTransactions', `${of}sort: asc, `, 'txid', `/address/${ADDRESS}/txs?limit=100&sort=asc`],
      ['addressUtxos', of, 'txid', `/address/${ADDRESS}/utxos?limit=500`],
      ['richList', '', 'address', '/stats/richlist?limit=500'],
    ] as const) {
      const query = `query ($after: String) { ${field}(${args}first: 7, after: $after) { items { id: ${item} } next_cursor } }`
      const ids: string[] = []
      let after: string | null = null
      do {
        const { data, errors }: GraphqlAnswer = await ask(query, { after })
        expect(errors).toEqual([])
        ids.push(...data[field].items.map(({ id }: { id: string }) => id))
        after = data[field].next_cursor
      } while (after !== null && ids.length < MOST)
      const { items } = (await pipeline.get(path)).body
      const all = items.map((each: Record<string, string>) => each[item])
      expect(all.length).toBeGreaterThan(7)
      expect(ids).toEqual(all.slice(0, ids.length))
      expect(ids.length).toBe(Math.min(all.length, Math.ceil(MOST / 7) * 7))
    }
  })

  it('refuses cursors that no page has returned: a forged one is another place at most, never a defect', async () => {
    const hash = scriptHash(decodeAddress(ADDRESS, REGTEST)!.script)
    const lists = READS.filter(hasCursor).map((read) => {
      const args = { address: ADDRESS, heightOrHash: '131', descriptor: `addr(${ADDRESS})` }
      const parsed = parseArguments(read.args, (name) => args[name as keyof typeof args])
      /** Returns a cursor to any place, with the check of the list. */
      const forge = (place: Place): string => {
        const list =
          OWN_CURSORS[read.name] ?? (read.name === 'addressTransactions' ? `address ${hash} desc` : undefined)
        if (list !== undefined) return encodeCursor(list, place)
        const kind = { after: () => place, start: () => 0 }
        const page = { start: 0, answer: { items: [{}], total: 2 } }
        return String(
          withCursor({ read, args: parsed, kind, context: {} as ReadContext }, page)['next_cursor'],
        )
      }
      return { read, args, forge }
    })
    expect(lists.map(({ read }) => read.name)).toContain('richList')
    for (const [index, { read, args, forge }] of lists.entries()) {
      /** CI sends a part of the cursors to each list, and another one to the next list. */
      const part = <T>(items: readonly T[]): T[] =>
        items.filter((_, at) => IS_WHOLE || (at + index) % 4 === 0)
      const given = Object.entries(args).filter(([name]) => name in read.args)
      const own = given.map(([name, value]) => `${name}: "${value}", `).join('')
      const path = read.path.replace(/:(\w+)/, (_, name) => args[name as keyof typeof args] ?? '')
      /** Returns the codes of the failures over both; undefined for an answer. */
      const codesOf = async (cursor: string): Promise<(string | undefined)[]> => {
        const query = `query ($after: String) { ${read.name}(${own}first: 2, after: $after) { __typename } }`
        const { errors } = await ask(query, { after: cursor })
        const codes = [errors[0]?.extensions['code'] as string | undefined]
        if (!('cursor' in read.args)) return codes
        const { status, body } = await (read.method === 'POST'
          ? getAnswer(
              `${pipeline.url}/api/v1${path}`,
              {},
              JSON.stringify({ ...Object.fromEntries(given), cursor }),
            )
          : pipeline.get(`${path}?cursor=${encodeURIComponent(cursor)}`))
        expect([200, 400, 410, 503], `${read.name} ${cursor}`).toContain(status)
        return [...codes, body.code]
      }
      for (const cursor of part([
        'x',
        'A'.repeat(200),
        'A'.repeat(201),
        '\0',
        'é€😀',
        '%00',
        "'; --",
        ...MALFORMED.map(forge),
      ]))
        for (const code of await codesOf(cursor))
          expect(code, `${read.name} ${cursor}`).toBe('HW_INVALID_ARGUMENT')
      for (const place of part(ELSEWHERE))
        for (const code of await codesOf(forge(place)))
          expect([undefined, 'HW_INVALID_ARGUMENT', 'HW_CURSOR_OUTDATED', 'HW_SYNCING']).toContain(code)
    }
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
