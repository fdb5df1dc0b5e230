import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { BITCOIN_REGTEST, type Network, REGTEST } from '../../pipelines/chain/networks.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { byOutpoint, NaiveEsplora } from '../harness/naive-esplora.js'
import type { NodeTx } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { IS_WHOLE } from '../harness/whole.js'

const FINALITY = 20
/** The depth of the reorganisation of each round; one goes below the final height. */
const DEPTHS = IS_WHOLE ? [1, 3, FINALITY + 4, 2] : [FINALITY + 4]
const TXS_CHECKED = IS_WHOLE ? 12 : 6
const SCRIPTS_CHECKED = IS_WHOLE ? 10 : 4
const UNKNOWN = 'ab'.repeat(32)

interface Got {
  readonly status: number
  readonly headers: Headers
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read answers as a client would
  readonly body: any
}

/** Removes the fields of transactions that other tests compare: scripts as opcodes, and the names of types. */
function bare(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer, (key, value: unknown) => (/_(?:asm|type)$/.test(key) ? undefined : value)),
  ) as unknown
}

describe.each([BITCOIN_REGTEST, REGTEST])(
  'the Esplora API of $name, through reorganisations',
  (network: Network) => {
    const chain = new NaiveChain()
    let node: Simnode
    let pipeline: Pipeline
    let naive: NaiveEsplora

    beforeAll(async () => {
      node = await startSimnode({ network, seed: 'esplora', blocks: 60, txsPerBlock: 5 })
      pipeline = await Pipeline.start({
        nodeUrl: node.url,
        engineUrl: inject('engineUrl'),
        finalityDepth: FINALITY,
        explorer: { auditEveryMs: 0, esploraPort: 0, broadcast: true },
      })
      await level()
    })
    afterAll(async () => {
      await pipeline.close()
      await node.close()
    })

    async function level(): Promise<void> {
      await follow(chain, node)
      const txids = await callNode<string[]>(node, 'getrawmempool')
      const mempool = await Promise.all(
        txids.map((txid) => callNode<NodeTx>(node, 'getrawtransaction', txid, 2)),
      )
      await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: mempool.length })
      naive = new NaiveEsplora(chain.blocks, mempool)
    }

    async function get(path: string, init: RequestInit = {}): Promise<Got> {
      const response = await fetch(pipeline.esploraUrl + path, init)
      const { status, headers } = response
      const type = headers.get('content-type')
      const bytes = Buffer.from(await response.arrayBuffer())
      const body: unknown =
        type === 'application/json'
          ? JSON.parse(bytes.toString())
          : type === 'text/plain'
            ? bytes.toString()
            : bytes
      return { status, headers, body }
    }
    const body = async (path: string) => (await get(path)).body
    const post = async (path: string, items: unknown) =>
      (await get(path, { method: 'POST', body: JSON.stringify(items) })).body

    async function checkTransactions(): Promise<void> {
      const newest = chain.blocks.slice(-4).flatMap(({ tx }) => tx)
      const spent = newest.flatMap(({ vin }) => vin.flatMap(({ txid }) => txid ?? []))
      const txids = [...new Set([...naive.mempool, ...newest].map(({ txid }) => txid).concat(spent))]
      const checked = txids.slice(0, TXS_CHECKED)
      for (const txid of checked) {
        expect(bare(await body(`/tx/${txid}`)), txid).toEqual(naive.tx(txid))
        expect(await body(`/tx/${txid}/status`)).toEqual(naive.status(txid))
        const hex = await callNode<string>(node, 'getrawtransaction', txid, 0)
        expect(await body(`/tx/${txid}/hex`)).toBe(hex)
        expect((await body(`/tx/${txid}/raw`)).toString('hex')).toBe(hex)
        const outspends = naive.outspends(txid)
        expect(await body(`/tx/${txid}/outspends`), txid).toEqual(outspends)
        for (const [vout, outspend] of outspends.entries())
          expect(await body(`/tx/${txid}/outspend/${String(vout)}`), txid).toEqual(outspend)
      }
      const lists = checked.map((txid) => naive.outspends(txid))
      expect(await body(`/txs/outspends?txids=${checked.join(',')}`)).toEqual(lists)
      expect(await post('/txs/outspends/by-txid', checked)).toEqual(lists)
      const outpoints = checked.map((txid) => `${txid}:0`)
      expect(await post('/txs/outspends/by-outpoint', outpoints)).toEqual(lists.map(([first]) => first))
    }

    /** Returns the txids of all confirmed transactions of a script, page by page as BDK reads them. */
    async function historyOf(path: string): Promise<string[]> {
      const all: string[] = []
      for (;;) {
        const last = all.at(-1)
        const page: { txid: string }[] = await body(
          `${path}/txs/chain${last === undefined ? '' : `/${last}`}`,
        )
        all.push(...page.map(({ txid }) => txid))
        if (page.length < 25) return all
        expect(page).toHaveLength(25)
      }
    }

    async function checkScripts(): Promise<void> {
      const busiest = [...chain.history]
        .filter(([, rows]) => rows.length > 0)
        .sort(([, one], [, other]) => other.length - one.length)
        .map(([script]) => script)
      const inMempool = naive.mempool.flatMap(({ vout }) => vout.map(({ scriptPubKey }) => scriptPubKey.hex))
      const scripts = [...new Set([...busiest.slice(0, SCRIPTS_CHECKED), ...inMempool])]
      for (const script of scripts.filter((each) => !each.startsWith('6a')).slice(0, 2 * SCRIPTS_CHECKED)) {
        const address = chain.addressOf.get(script)
        const paths = [`/scripthash/${NaiveEsplora.hashOf(script)}`]
        if (address !== undefined) paths.push(`/address/${address}`)
        for (const path of paths) {
          expect(await body(path), path).toMatchObject(naive.stats(script))
          const history = naive.history(script)
          expect(await historyOf(path), path).toEqual(history)
          expect([...(await body(`${path}/utxo`))].sort(byOutpoint), path).toEqual(naive.utxo(script))
          const summary: { txid: string; value: number }[] = await body(`${path}/txs/summary`)
          expect(
            summary.map(({ txid }) => txid),
            path,
          ).toEqual(history)
          const { funded_txo_sum: funded, spent_txo_sum: spent } = naive.stats(script).chain_stats
          const isRepeated = history.length < Number(naive.stats(script).chain_stats['tx_count'])
          const total = summary.reduce((sum, { value }) => sum + value, 0)
          if (!isRepeated) expect(total, path).toBe(Number(funded) - Number(spent))
          const unconfirmed = naive.unconfirmed(script).sort()
          const first: { txid: string }[] = await body(`${path}/txs`)
          const txids = first.map(({ txid }) => txid)
          expect(txids.slice(0, unconfirmed.length).sort(), path).toEqual(unconfirmed)
          expect(txids.slice(unconfirmed.length), path).toEqual(history.slice(0, 25))
          for (const tx of first) expect(bare(tx)).toEqual(naive.tx(tx.txid))
          const own: { txid: string }[] = await body(`${path}/txs/mempool`)
          expect(own.map(({ txid }) => txid).sort()).toEqual(unconfirmed)
        }
      }
      const hashes = busiest.slice(0, 3).map((script) => NaiveEsplora.hashOf(script))
      const known = new Set(busiest.slice(0, 3).flatMap((script) => naive.history(script)))
      const order = chain.blocks.toReversed().flatMap(({ tx }) => tx.toReversed().map(({ txid }) => txid))
      const union = [...new Set(order)].filter((txid) => known.has(txid))
      const read: string[] = []
      for (let last: string | undefined; ; last = read.at(-1)) {
        const after = last === undefined ? '' : `?after_txid=${last}`
        const page: { txid: string; status: { confirmed: boolean } }[] = await post(
          `/scripthashes/txs${after}`,
          hashes,
        )
        const confirmed = page.filter(({ status }) => status.confirmed)
        read.push(...confirmed.map(({ txid }) => txid))
        if (confirmed.length < 25) break
      }
      expect(read).toEqual(union)
    }

    async function checkBlocks(): Promise<void> {
      const { blocks } = chain
      const tip = blocks.at(-1)!
      expect(await body('/blocks/tip/height')).toBe(String(tip.height))
      expect(await body('/blocks/tip/hash')).toBe(tip.hash)
      const list: { id: string }[] = await body('/blocks')
      expect(list.map(({ id }) => id)).toEqual(
        blocks
          .slice(-10)
          .reverse()
          .map(({ hash }) => hash),
      )
      for (const block of [blocks[0]!, ...blocks.slice(-3)]) {
        const { hash, height } = block
        const next = blocks[height + 1]?.hash ?? null
        const header = await callNode<string>(node, 'getblockheader', hash, false)
        expect(await body(`/block-height/${String(height)}`)).toBe(hash)
        expect(await body(`/block/${hash}`)).toMatchObject({
          id: hash,
          height,
          timestamp: block.time,
          mediantime: block.mediantime,
          size: block.size,
          weight: block.weight,
          tx_count: block.tx.length,
          previousblockhash: block.previousblockhash ?? null,
        })
        expect(await body(`/block/${hash}/status`)).toEqual({ in_best_chain: true, height, next_best: next })
        expect(await body(`/block/${hash}/header`)).toBe(header)
        expect((await body(`/block/${hash}/raw`)).toString('hex')).toBe(
          await callNode(node, 'getblock', hash, 0),
        )
        const txids = block.tx.map(({ txid }) => txid)
        expect(await body(`/block/${hash}/txids`)).toEqual(txids)
        expect(await body(`/block/${hash}/txid/${String(txids.length - 1)}`)).toBe(txids.at(-1))
        const txs: { txid: string }[] = await body(`/block/${hash}/txs`)
        expect(txs.map(({ txid }) => txid)).toEqual(txids.slice(0, 25))
        for (const txid of txids.slice(0, 2)) {
          const proof = await body(`/tx/${txid}/merkleblock-proof`)
          expect(proof.slice(0, 160)).toBe(header)
        }
      }
      const { body: txids } = await get('/mempool/txids')
      expect([...txids].sort()).toEqual(naive.mempool.map(({ txid }) => txid).sort())
      const pool = await body('/mempool')
      expect(pool.count).toBe(naive.mempool.length)
      expect(await body('/fee-estimates')).toHaveProperty('6')
    }

    it.each(DEPTHS)(
      'equals the naive one after a reorganisation of %i blocks',
      async (depth) => {
        const leaving = chain.blocks.slice(-depth)
        node.simulation.enter(10)
        node.simulation.reorg(depth)
        node.simulation.enter(6)
        await level()
        await checkTransactions()
        await checkScripts()
        await checkBlocks()
        const stale = leaving.find(({ hash }) => !chain.blocks.some((each) => each.hash === hash))!
        expect(await get(`/block/${stale.hash}`)).toMatchObject({ status: 404, body: 'Block not found' })
        expect(await body(`/block/${stale.hash}/status`)).toEqual({
          in_best_chain: false,
          height: null,
          next_best: null,
        })
      },
      300_000,
    )

    it('answers 503 for the page after a transaction that has just left the chain', async () => {
      const tip = chain.blocks.at(-1)!
      const coinbase = tip.tx[0]!
      const script = coinbase.vout[0]!.scriptPubKey.hex
      const path = `/scripthash/${NaiveEsplora.hashOf(script)}/txs/chain/${coinbase.txid}`
      expect((await get(path)).status).toBe(200)
      node.simulation.reorg(1)
      await level()
      const { status, headers } = await get(path)
      expect(status).toBe(503)
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      const unknown = await get(`/scripthash/${NaiveEsplora.hashOf(script)}/txs/chain/${UNKNOWN}`)
      expect(unknown).toMatchObject({ status: 200, body: [] })
    })

    it('says of what is unknown what the reference server says', async () => {
      expect(await get(`/tx/${UNKNOWN}`)).toMatchObject({ status: 404, body: 'Transaction not found' })
      expect(await get(`/tx/${UNKNOWN}/status`)).toMatchObject({ status: 200, body: { confirmed: false } })
      expect(await get(`/tx/${UNKNOWN}/outspend/0`)).toMatchObject({ status: 200, body: { spent: false } })
      expect(await get(`/block/${UNKNOWN}/status`)).toMatchObject({
        status: 200,
        body: { in_best_chain: false },
      })
      expect(await get('/tx/zz')).toMatchObject({ status: 400, body: 'Invalid hex string' })
      expect((await get(`/scripthash/${UNKNOWN}`)).body).toEqual({
        scripthash: UNKNOWN,
        chain_stats: {
          funded_txo_count: 0,
          funded_txo_sum: 0,
          spent_txo_count: 0,
          spent_txo_sum: 0,
          tx_count: 0,
        },
        mempool_stats: {
          funded_txo_count: 0,
          funded_txo_sum: 0,
          spent_txo_count: 0,
          spent_txo_sum: 0,
          tx_count: 0,
        },
      })
      expect((await get(`/scripthash/${UNKNOWN}/utxo`)).body).toEqual([])
      const tip = await get('/api/blocks/tip/height')
      expect(tip.body).toBe(String(chain.tip?.height))
      expect(tip.headers.get('x-chain-height')).toBe(tip.body)
      expect(tip.headers.get('connection')).toBe('keep-alive')
      expect(await get('/nothing')).toMatchObject({ status: 404, body: 'endpoint does not exist "/nothing"' })
    })

    it('sends transactions to the node, with its verdict', async () => {
      const { hex, txid } = chain.blocks.at(-1)!.tx.at(-1)!
      const sent = await get('/tx', { method: 'POST', body: hex })
      expect(sent.status).toBe(400)
      expect(sent.body).toMatch(/^sendrawtransaction RPC error -2[5-7]: /)
      node.simulation.enter(1)
      const [pending] = await callNode<string[]>(node, 'getrawmempool')
      const raw = await callNode<string>(node, 'getrawtransaction', pending, 0)
      expect(await get('/tx', { method: 'POST', body: `${raw}\n` })).toMatchObject({
        status: 200,
        body: pending,
      })
      expect(txid).not.toBe(pending)
      expect((await get('/tx', { method: 'POST', body: 'f'.repeat(1_000_001) })).status).toBe(413)
    })
  },
)
