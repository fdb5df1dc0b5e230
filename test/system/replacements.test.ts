import { fromBinary } from '@bufbuild/protobuf'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import {
  type NodeEvent,
  NodeEventSchema,
  PoolLeft_Reason,
} from '../../proto/gen/headwater/events/v1/events_pb.js'
import { READS } from '../../services/explorer/core/reads/index.js'
import type { ReplacementMember } from '../../services/explorer/core/reads/shapes.js'
import { startExplorer } from '../../services/explorer/host/explorer.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { PATIENT_DEADLINE_MS } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'
import { graphql, grpc, type Face } from '../services/explorer/core/reads/faces.js'

const FINALITY = 10
const ROUNDS = IS_WHOLE ? [1, FINALITY + 2] : [FINALITY + 2]
const NAMES = ['unspecified', 'confirmed', 'replaced', 'evicted', 'expired', 'unknown']

/** A removal as the log has it. */
interface Removal {
  readonly txid: string
  readonly reason: string
  readonly by: string | null
  readonly left: string
  readonly fee: string
  readonly firstSeen: number
  readonly raw: string
  readonly fullRbf: boolean | null
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** The removals without a block, in the order of the log, and the times at which confirmed transactions were first seen. */
async function removalsOf({ log }: Pipeline): Promise<{ drops: Removal[]; seen: Map<string, number> }> {
  const drops: Removal[] = []
  const seen = new Map<string, number>()
  for (let next = 0; ;) {
    const records = await log.read('node', next, 500)
    if (records.length === 0) return { drops, seen }
    for (const { value, time, position } of records) {
      next = position + 1
      const event: NodeEvent['event'] = fromBinary(NodeEventSchema, value).event
      if (event.case !== 'poolDelta') continue
      for (const { txid, reason, by, fee, firstSeen = 0, raw, signalled } of event.value.left) {
        const id = hex(txid)
        if (reason === PoolLeft_Reason.CONFIRMED) seen.set(id, Math.min(firstSeen, seen.get(id) ?? firstSeen))
        else
          drops.push({
            txid: id,
            reason: NAMES[reason]!,
            by: by.length === 0 ? null : hex(by),
            left: new Date(time).toISOString(),
            fee: fee.toString(),
            firstSeen,
            raw: hex(raw),
            fullRbf: signalled === undefined ? null : !signalled,
          })
      }
    }
  }
}

describe('replaced transactions', () => {
  let node: Simnode
  let pipeline: Pipeline
  const chain = new NaiveChain()
  /** The answers of transactions while they were in the mempool. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers as a client would read them
  const before = new Map<string, any>()

  beforeAll(async () => {
    node = await startSimnode({ seed: 'replacements', blocks: 40, txsPerBlock: 6 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      history: true,
      explorer: { auditEveryMs: 0, grpcPort: 0 },
    })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function level(): Promise<void> {
    await follow(chain, node)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    await Promise.all(
      [...(await mempool())].map(async (txid) => {
        before.set(txid, (await pipeline.get(`/tx/${txid}`)).body)
      }),
    )
  }

  const mempool = async (): Promise<Set<string>> => new Set(await callNode<string[]>(node, 'getrawmempool'))
  const confirmed = (): Map<string, number> =>
    new Map(chain.blocks.flatMap(({ tx, time }) => tx.map(({ txid }) => [txid, time] as const)))

  /** Compares all answers of an explorer with what the log says. @returns how many were compared. */
  async function check(url: string): Promise<{ gone: number; back: number; fullRbf: number; deep: number }> {
    const get = (path: string) => getAnswer(`${url}/api/v1${path}`)
    const { drops, seen } = await removalsOf(pipeline)
    const last = new Map(drops.map((drop) => [drop.txid, drop]))
    const [pool, blocks] = [await mempool(), confirmed()]
    const isThere = (txid: string): boolean => pool.has(txid) || blocks.has(txid)
    const statusOf = (txid: string): string =>
      pool.has(txid) ? 'unconfirmed' : blocks.has(txid) ? 'confirmed' : (last.get(txid)?.reason ?? 'unknown')
    const counts = { gone: 0, back: 0, fullRbf: 0, deep: 0 }
    for (const [txid, { reason, by, left, fee, firstSeen, fullRbf }] of last) {
      const [now, replaced, tree] = [
        await get(`/tx/${txid}`),
        await get(`/tx/${txid}/replaced`),
        await get(`/tx/${txid.toUpperCase()}/replacements`),
      ]
      if (isThere(txid)) {
        expect([now.status, replaced.status]).toEqual([200, 404])
        counts.back++
      } else {
        expect(now.status).toBe(404)
        expect(now.body).toMatchObject({ error: 'Transaction not found', replaced_by: by, left, reason })
        const { effective_fee_rate: _, ...own } = before.get(txid)
        expect(replaced.body).toMatchObject({ ...own, reason, left, replaced_by: by, full_rbf: fullRbf })
        counts.gone++
        // By the beginning of its txid.
        const found = await fetch(`${url}/_explorer/suggest?q=${txid.slice(0, 12)}&locale=en-GB`)
        const urls = ((await found.json()) as { url: string }[]).map((each) => each.url)
        expect(urls).toContain(`/tx/${txid}`)
      }
      // Up to what nothing has replaced, then down to everything that was.
      let top = txid
      while (!isThere(top) && last.get(top)?.by) top = last.get(top)!.by!
      const members = new Set([top])
      for (const each of members) for (const drop of drops) if (drop.by === each) members.add(drop.txid)
      expect(tree.body).toMatchObject({ txid, complete: true })
      const items = tree.body.items as ReplacementMember[]
      expect(items[0]!.txid).toBe(top)
      expect(new Set(items.map((item) => item.txid))).toEqual(members)
      expect(items).toHaveLength(members.size)
      for (const [index, item] of items.entries()) {
        expect(item.status).toBe(statusOf(item.txid))
        if (index === 0) continue
        const parents = items.slice(0, index).map((each) => each.txid)
        expect(parents).toContain(item.replaced_by)
        if (last.get(item.txid)!.by !== items[0]!.txid) counts.deep++
      }
      if (!isThere(txid)) {
        const own = items.find((item) => item.txid === txid)
        expect(own).toMatchObject({
          fee,
          left,
          first_seen: iso(firstSeen),
          replaced_by: by,
          full_rbf: fullRbf,
        })
      }
      if (fullRbf === true) counts.fullRbf++
    }
    for (const unsignalled of [false, true]) {
      const wanted = drops.filter((drop) => drop.by !== null && (!unsignalled || drop.fullRbf === true))
      const listed: { replaced: ReplacementMember; replacement: ReplacementMember }[] = []
      for (let cursor: string | null = ''; cursor !== null;) {
        const next = cursor === '' ? '' : `&cursor=${cursor}`
        const page = await get(`/mempool/replacements?limit=7&full_rbf=${String(unsignalled)}${next}`)
        expect(page.status).toBe(200)
        listed.push(...page.body.items)
        cursor = page.body.next_cursor
      }
      expect(
        listed.map(({ replaced, replacement }) => [replaced.txid, replaced.left, replacement.txid]),
      ).toEqual(wanted.toReversed().map(({ txid, left, by }) => [txid, left, by]))
      for (const { replaced, replacement } of listed)
        for (const { txid, status } of [replaced, replacement]) expect(status).toBe(statusOf(txid))
    }
    for (const { tx, time } of chain.blocks.slice(-5))
      for (const { txid } of tx) {
        const { body } = await get(`/tx/${txid}/cpfp`)
        const first = seen.get(txid)
        expect([body.first_seen, body.waited_seconds]).toEqual(
          first === undefined ? [null, null] : [iso(first), Math.max(0, time - first)],
        )
      }
    return counts
  }

  it('are found as the log has them, through reorganisations and restarts, on every face', async () => {
    for (const depth of ROUNDS) {
      for (let step = 0; step < 2; step++) {
        node.simulation.enter(12)
        await level()
        node.simulation.replace(6)
        await level()
        // Replacements of replacements.
        node.simulation.replace(6)
        node.simulation.evict(2)
        await level()
      }
      // Evicted ones come back.
      const { drops } = await removalsOf(pipeline)
      for (const { reason, raw } of drops.slice(-6))
        if (reason !== 'replaced') await callNode(node, 'sendrawtransaction', raw)
      await level()
      node.simulation.mine({ blocks: 2 })
      await level()
      node.simulation.reorg(depth)
      await level()
      await check(pipeline.url)
      pipeline.restartPoller()
      pipeline.restartMaterializer()
      await pipeline.restartHistory()
    }
    const counts = await check(pipeline.url)
    expect(counts.gone).toBeGreaterThan(10)
    expect(counts.back).toBeGreaterThan(0)
    expect(counts.deep).toBeGreaterThan(0)
  })

  it('are the same for an explorer that starts later, and with tables that were lost', async () => {
    const position = await pipeline.log.last('node')
    const written = async (): Promise<boolean> => {
      const sql = `SELECT max(position) AS position FROM ${pipeline.historyDatabase}.dropped_txs`
      const [row] = await pipeline.db.query<{ position: string }>(sql).catch(() => [])
      return Number(row?.position ?? -1) > 0
    }
    await pipeline.db.command(`DROP DATABASE ${pipeline.historyDatabase} SYNC`)
    await pipeline.restartHistory()
    await until('the tables are there again', written)
    // All that this explorer has in memory is of a log that has a snapshot after everything else.
    const explorer = await startExplorer({
      host: '127.0.0.1',
      port: 0,
      db: pipeline.db,
      log: pipeline.log,
      logger: pino({ level: 'silent' }),
      rateLimitPerMinute: 0,
      answerDeadlineMs: PATIENT_DEADLINE_MS,
    })
    try {
      expect(await pipeline.log.last('node')).toBe(position)
      await check(explorer.url)
    } finally {
      await explorer.close()
    }
  })

  it('have pages that say what became of them', async () => {
    const page = async (path: string) => {
      const response = await fetch(`${pipeline.url}${path}`, { headers: { accept: 'text/html' } })
      return { status: response.status, text: await response.text() }
    }
    const { drops } = await removalsOf(pipeline)
    const there = new Set([...(await mempool()), ...confirmed().keys()])
    const replaced = drops.findLast(({ txid, by }) => by !== null && there.has(by) && !there.has(txid))!
    const error = await page(`/tx/${replaced.txid}`)
    expect(error.status).toBe(404)
    for (const part of [
      'has replaced this one',
      `href="/tx/${replaced.by!}"`,
      `href="/tx/${replaced.txid}/replaced"`,
    ])
      expect(error.text).toContain(part)
    const own = await page(`/tx/${replaced.txid}/replaced`)
    expect(own.status).toBe(200)
    for (const { address } of before.get(replaced.txid).outputs[0].addresses)
      expect(own.text).toContain(address)
    const winner = await page(`/tx/${replaced.by!}`)
    expect(winner.text).toContain('Replaced transactions')
    expect(winner.text).toContain(`href="/tx/${replaced.txid}"`)
    const list = await page('/de/mempool/replacements')
    expect(list.status).toBe(200)
    expect(list.text).toContain(`href="/de/tx/${drops.findLast(({ by }) => by !== null)!.txid}"`)
    const seen = [...(await removalsOf(pipeline)).seen.keys()].find((txid) => confirmed().has(txid))!
    expect((await page(`/tx/${seen}`)).text).toMatch(/First seen[\s\S]*waited/)
  })

  it('are the same on gRPC and GraphQL', async () => {
    const faces: Face[] = [grpc(pipeline.grpcAddress), graphql(pipeline.url)]
    const { drops } = await removalsOf(pipeline)
    const names = ['replacedTransaction', 'transactionReplacements', 'transactionPackage']
    const requests = names.flatMap((name) => drops.slice(-8).map(({ txid }) => ({ name, texts: { txid } })))
    const lists = ['true', 'false'].map((full_rbf) => {
      return { name: 'mempoolReplacements', texts: { full_rbf, limit: '5' } }
    })
    let found = 0
    for (const { name, texts } of [...requests, ...lists]) {
      const read = READS.find((each) => each.name === name)!
      const path = read.path.replace(/:(\w+)/, (_, key: string) => (texts as Record<string, string>)[key]!)
      const { status, body } = await pipeline.get(`${path}?${new URLSearchParams(texts).toString()}`)
      for (const face of faces) {
        const reply = await face.ask(read, texts)
        if (status === 200) expect(reply?.content, `${name} on ${face.name}`).toEqual(body)
        else
          expect(reply?.content, `${name} on ${face.name}`).toEqual(face.name === 'gRPC' ? body.error : null)
      }
      if (status === 200) found++
    }
    for (const face of faces) face.close()
    expect(found).toBeGreaterThan(10)
  })
})
