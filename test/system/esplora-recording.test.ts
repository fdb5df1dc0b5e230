import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { hexOf, internalBytes, sha256 } from '../../pipelines/chain/hash.js'
import { type RecordedNode, startRecordedNode } from '../../services/recorded-node/node.js'
import { Pipeline } from '../harness/pipeline.js'
import { readFrames, timelineOf } from '../harness/recording.js'
import { IS_WHOLE, sampledByKind } from '../harness/whole.js'

const engineUrl = inject('engineUrl')
const recording = 'bitcoin-regtest'
/** CI compares one in so many requests of each kind. */
const ONE_IN = 8

/** A request to the reference server, and its answer: of bytes the hash and the number. */
interface Recorded {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly status: number
  readonly type: string
  readonly answer: unknown
}

function readRecorded(): readonly Recorded[] {
  const file = new URL(`../recording/${recording}/esplora.jsonl.br`, import.meta.url)
  const lines = brotliDecompressSync(readFileSync(file)).toString().trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Recorded)
}

/** Returns a path with the kind of its address, and without hashes and numbers. */
const endpointOf = (path: string): string =>
  path
    .replace(
      /^\/address\/([mn2]|bcrt1[qp])(\w{20,})/,
      (_, kind: string, { length }: string) => `/${kind}${String(length)}`,
    )
    .replaceAll(/[0-9a-f]{64}/g, 'hash')
    .replaceAll(/\/\d+/g, '/n')

/** Returns the kind of a request: its endpoint, its status, and the types of scripts in its answer. */
function kindOf({ method, path, status, answer }: Recorded): string {
  const types = JSON.stringify(answer).match(/"scriptpubkey_type":"\w+"/g) ?? []
  return [method, endpointOf(path), status, ...[...new Set(types)].sort()].join(' ')
}

describe('the answers of the Esplora face', () => {
  const recorded = readRecorded()
  let node: RecordedNode
  let pipeline: Pipeline

  beforeAll(async () => {
    const frames = readFrames(recording)
    const last = frames.at(-1)
    if (last === undefined) throw new Error('the recording is empty')
    node = await startRecordedNode({ timeline: timelineOf(recording) })
    node.step(frames.length - 1)
    const explorer = { esploraPort: 0, broadcast: true }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl, explorer })
    await pipeline.level({ tip: last.chaininfo.bestblockhash, mempoolSize: last.mempoolinfo.size })
  })

  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function ask({ method, path, body }: Pick<Recorded, 'method' | 'path' | 'body'>): Promise<Recorded> {
    const content = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(pipeline.esploraUrl + path, { method, body: content })
    const bytes = Buffer.from(await response.arrayBuffer())
    const type = response.headers.get('content-type') ?? ''
    const answer: unknown =
      type === 'application/json'
        ? JSON.parse(bytes.toString())
        : type === 'application/octet-stream'
          ? { sha256: hexOf(sha256(bytes)), bytes: bytes.length }
          : bytes.toString()
    return { method, path, status: response.status, type, answer }
  }

  const isHistory = ({ path }: Recorded): boolean =>
    /\/txs(?:\/chain(?:\/.*)?|\/mempool)?$/.test(path) && !path.startsWith('/block')
  const answerOf = (path: string): unknown => recorded.find((each) => each.path === path)?.answer

  it('are those of the reference server, except for named differences', async () => {
    let compared = 0
    const same = recorded.filter((each) => !DIFFERENT.has(each.path) && !isHistory(each))
    for (const each of sampledByKind(same, ONE_IN, kindOf)) {
      const { method, path, status, type, answer } = each
      const own = await ask(each)
      expect(own, `${method} ${path}`).toMatchObject({ status, type })
      const [expected, found] = path.endsWith('/utxo')
        ? [byOutpoint(answer), byOutpoint(own.answer)]
        : [answer, own.answer]
      expect(withoutLeaves(found), path).toEqual(expected)
      compared++
    }
    expect(compared).toBeGreaterThan(IS_WHOLE ? 1_400 : 250)
  })

  it('have histories in the order of the chain, with the transactions of the reference server', async () => {
    const txs = new Map<string, HistoryTx>()
    const scriptOf = ({ path }: Recorded): string => path.split('/').slice(0, 3).join('/')
    const histories = recorded.filter(isHistory)
    // Scripts of each kind of address and without one, of one page and of many.
    const compared = sampledByKind(
      [...new Set(histories.map(scriptOf))].map((script) => ({
        script,
        pages: histories.filter((each) => scriptOf(each) === script),
      })),
      ONE_IN,
      ({ script, pages }) => `${endpointOf(script)} ${String(Math.min(pages.length, 5))}`,
    )
    for (const { script, pages } of compared) {
      const history = await historyOf(script)
      for (const tx of history) txs.set(tx.txid, tx)
      const places = history.map(({ status }) => status.block_height ?? Number.POSITIVE_INFINITY)
      expect(places, script).toEqual([...places].sort((one, other) => other - one))
      const theirs = [...history]
      theirs.sort(asTheReference(script.split('/')[2] ?? ''))
      for (const each of pages) {
        if (DIFFERENT.has(each.path)) continue
        const page = each.answer as readonly HistoryTx[]
        const after = /\/chain\/([0-9a-f]{64})$/.exec(each.path)?.[1]
        const last = theirs.findIndex(({ txid }) => txid === after)
        // Of an unknown transaction nothing follows.
        const from = after === undefined ? 0 : last < 0 ? theirs.length : last + 1
        const confirmed = theirs.slice(from, from + 25)
        const unconfirmed = each.path.includes('/chain')
          ? []
          : (await pageOf(`${script}/txs/mempool`)).slice(0, 50)
        const expected = each.path.endsWith('/mempool') ? unconfirmed : [...unconfirmed, ...confirmed]
        const ids = (list: readonly HistoryTx[]): string[] => list.map(({ txid }) => txid)
        const count = unconfirmed.length
        expect(ids(page).slice(count), each.path).toEqual(ids(expected).slice(count))
        expect(ids(page).slice(0, count).sort(), each.path).toEqual(ids(expected).slice(0, count).sort())
      }
    }
    const known = compared
      .flatMap(({ pages }) => pages.filter(({ path }) => !DIFFERENT.has(path)))
      .flatMap(({ answer }) => answer as readonly HistoryTx[])
    for (const tx of known) {
      if (tx.txid === REPEATED) continue
      const own =
        txs.get(tx.txid) ?? ((await ask({ method: 'GET', path: `/tx/${tx.txid}` })).answer as HistoryTx)
      expect(withoutLeaves(own), tx.txid).toEqual(tx)
    }
    expect(known.length).toBeGreaterThan(IS_WHOLE ? 3_000 : 400)
  })

  it('describe the mempool of the recording', async () => {
    const { answer: own } = await ask({ method: 'GET', path: '/mempool' })
    const { fee_histogram, ...totals } = answerOf('/mempool') as { fee_histogram: [number, number][] }
    expect(own).toMatchObject(totals)
    const sizes = (histogram: readonly (readonly [number, number])[]): number =>
      histogram.reduce((sum, [, size]) => sum + size, 0)
    expect(sizes((own as { fee_histogram: [number, number][] }).fee_histogram)).toBe(sizes(fee_histogram))
    const txids = (await ask({ method: 'GET', path: '/mempool/txids' })).answer as string[]
    expect(txids.sort()).toEqual([...(answerOf('/mempool/txids') as string[])].sort())
    const recent = (await ask({ method: 'GET', path: '/mempool/recent' })).answer as { txid: string }[]
    expect(recent).toHaveLength(10)
    const theirs = answerOf('/mempool/recent') as { txid: string }[]
    const both = theirs.filter(({ txid }) => recent.some((each) => each.txid === txid))
    expect(both).not.toEqual([])
    for (const each of both) expect(recent).toContainEqual(each)
  })

  it('name the block of a repeated coinbase that the node names', async () => {
    const { answer: tx } = await ask({ method: 'GET', path: `/tx/${REPEATED}` })
    expect(tx).toMatchObject({ txid: REPEATED, status: { block_height: 321 } })
    expect((await ask({ method: 'GET', path: `/tx/${REPEATED}/outspends` })).answer).toEqual([
      { spent: false },
    ])
    const history = await historyOf(`/scripthash/${OF_REPEATED}`)
    const heights = history.filter(({ txid }) => txid === REPEATED).map(({ status }) => status.block_height)
    expect(heights).toEqual([321])
    expect((await ask({ method: 'GET', path: `/scripthash/${OF_REPEATED}` })).answer).toMatchObject({
      chain_stats: { tx_count: 101, funded_txo_count: 73 },
    })
  })

  it('pass the verdicts of the node on', async () => {
    const own = await ask({ method: 'POST', path: '/tx', body: '00' })
    expect(own).toMatchObject({ status: 400, type: 'text/plain' })
    expect(own.answer).toMatch(/^sendrawtransaction RPC error -22: TX decode failed/)
    const list = await ask({ method: 'POST', path: '/txs/package', body: ['ff'] })
    expect(list).toMatchObject({ status: 400, answer: 'Invalid transaction size for item 0' })
  })

  async function pageOf(path: string): Promise<readonly HistoryTx[]> {
    return (await ask({ method: 'GET', path })).answer as readonly HistoryTx[]
  }

  /** Returns all confirmed transactions of a script, page by page as BDK reads them. */
  async function historyOf(script: string): Promise<HistoryTx[]> {
    const all: HistoryTx[] = []
    for (;;) {
      const last = all.at(-1)
      const page = await pageOf(`${script}/txs/chain${last === undefined ? '' : `/${last.txid}`}`)
      all.push(...page)
      if (page.length < 25) return all
    }
  }
})

/** The transaction that is in two blocks, and the script hash that it pays. */
const REPEATED = '30d2070d69122b89f390bb056b4e84d3f1a37dab426234fb902ccdca0028a145'
const OF_REPEATED = 'd01a3e6e24abe241a19de343d6024e3e6e45f4276ffe55d7c08ee721b02faf2d'

/** The requests whose answers differ by intent; content/explorer-api/esplora.md has the reasons, and other tests their right answers. */
const DIFFERENT: ReadonlySet<string> = new Set([
  '/mempool',
  '/mempool/txids',
  '/mempool/recent',
  '/fee-estimates',
  '/tx',
  '/txs/package',
  `/tx/${REPEATED}`,
  `/tx/${REPEATED}/status`,
  `/tx/${REPEATED}/outspends`,
  `/tx/${REPEATED}/outspend/0`,
  `/tx/${REPEATED}/merkle-proof`,
  `/tx/${REPEATED}/merkleblock-proof`,
  `/scripthash/${OF_REPEATED}`,
  `/scripthash/${OF_REPEATED}/utxo`,
])

interface HistoryTx {
  readonly txid: string
  readonly status: { readonly block_height?: number }
  readonly vin: readonly {
    readonly prevout: { readonly scriptpubkey: string; readonly scriptpubkey_address?: string } | null
  }[]
}

/**
 * Returns the order of the reference server: newest block first; within a block first the transactions that spend from the script, then
 * the others, each by the bytes of their ids, highest first.
 * @param name the address or script hash.
 */
function asTheReference(name: string): (one: HistoryTx, other: HistoryTx) => number {
  const spends = ({ vin }: HistoryTx): boolean =>
    vin.some(
      ({ prevout }) =>
        prevout !== null &&
        (prevout.scriptpubkey_address === name ||
          hexOf(sha256(Buffer.from(prevout.scriptpubkey, 'hex'))) === name),
    )
  return (one, other) => {
    const [height, otherHeight] = [one.status.block_height ?? 0, other.status.block_height ?? 0]
    if (height !== otherHeight) return otherHeight - height
    if (spends(one) !== spends(other)) return spends(one) ? -1 : 1
    return Buffer.compare(internalBytes(other.txid), internalBytes(one.txid))
  }
}

/** The reference server does not order unspent outputs. */
function byOutpoint(list: unknown): unknown {
  if (!Array.isArray(list)) return list
  const keyOf = ({ txid, vout }: { txid: string; vout: number }): string => `${txid} ${String(vout)}`
  return (list as { txid: string; vout: number }[]).toSorted((one, other) =>
    keyOf(one) < keyOf(other) ? -1 : 1,
  )
}

/** Removes what the reference server leaves out: the scripts that spends of P2TR reveal. */
function withoutLeaves(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (_, value: unknown) => {
    const {
      prevout,
      inner_witnessscript_asm: leaf,
      ...others
    } = (value ?? {}) as { prevout?: { scriptpubkey_type?: string } | null; inner_witnessscript_asm?: string }
    return leaf !== undefined && prevout?.scriptpubkey_type === 'v1_p2tr' ? { prevout, ...others } : value
  }) as unknown
}
