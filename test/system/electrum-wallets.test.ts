import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parseTx } from '../../pipelines/chain/transaction.js'
import { type RecordedNode, startRecordedNode } from '../../services/recorded-node/node.js'
import {
  ELECTRUM_RECORDING,
  RecordedResults,
  sortedUnspent,
  withoutSpent,
} from '../harness/electrum-recording.js'
import { callNode } from '../harness/follow-node.js'
import { Pipeline } from '../harness/pipeline.js'
import { readFrames, timelineOf } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { ReplayedWallet, resultOf } from '../harness/wallet-messages.js'

/** A transaction of a history. */
interface Line {
  readonly tx_hash: string
  readonly height: number
}

/** The fields of a transaction that Sparrow reads. */
interface SparrowTransaction {
  readonly blockhash?: string
  readonly blocktime?: number
  readonly confirmations?: number
  readonly hex: string
  readonly txid: string
}

/** Frames of the recording that come while Sparrow is connected: nine blocks, and transactions without a block. */
const LIVE_FRAMES = 12
/** The addresses that Sparrow subscribes to beyond those with transactions. */
const GAP = 40

const parsed = (hex: unknown): ReturnType<typeof parseTx> => parseTx(Buffer.from(hex as string, 'hex'))

describe("wallets' own messages", () => {
  const recorded = new RecordedResults('1.4')
  const used = recorded
    .paramsOf('blockchain.scripthash.subscribe')
    .map(([hash]) => hash as string)
    .filter((hash) => /^[0-9a-f]{64}$/.test(hash))
  const unused = Array.from({ length: GAP }, (_, index) =>
    createHash('sha256')
      .update(`unused ${String(index)}`)
      .digest('hex'),
  )
  const hashes = [...used, ...unused]
  const txids = [
    ...new Set(
      used.flatMap((hash) =>
        (recorded.of('blockchain.scripthash.get_history', hash) as readonly Line[]).map(
          ({ tx_hash }) => tx_hash,
        ),
      ),
    ),
  ]
  const tip = recorded.of('blockchain.headers.subscribe') as { readonly hex: string; readonly height: number }
  let node: RecordedNode
  let pipeline: Pipeline

  beforeAll(async () => {
    const frames = readFrames(ELECTRUM_RECORDING)
    const before = frames.at(-1 - LIVE_FRAMES)
    if (before === undefined) throw new Error('the recording is too short')
    node = await startRecordedNode({ timeline: timelineOf(ELECTRUM_RECORDING) })
    node.step(frames.length - 1 - LIVE_FRAMES)
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { electrumPort: 0, broadcast: true },
    })
    await pipeline.level({ tip: before.chaininfo.bestblockhash, mempoolSize: before.mempoolinfo.size })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  /** Plays the recording to its end, unless it is there. */
  async function finish(): Promise<void> {
    node.step(LIVE_FRAMES)
    const last = readFrames(ELECTRUM_RECORDING).at(-1)
    if (last === undefined) throw new Error('the recording is empty')
    await pipeline.level({ tip: last.chaininfo.bestblockhash, mempoolSize: last.mempoolinfo.size })
  }

  async function unconfirmed(): Promise<{ readonly txid: string; readonly hex: string }> {
    const [txid = ''] = await callNode<string[]>(node, 'getrawmempool')
    return { txid, hex: await callNode<string>(node, 'getrawtransaction', txid) }
  }

  const statusOf = (lines: readonly Line[]): string =>
    createHash('sha256')
      .update(lines.map(({ tx_hash, height }) => `${tx_hash}:${String(height)}:`).join(''))
      .digest('hex')

  it('Sparrow connects, opens a wallet, follows it, reads transactions and sends', async () => {
    const sparrow = await ReplayedWallet.connect(pipeline.electrumAddress, 'sparrow')
    const [version, features, header, banner] = await sparrow.all('connect')
    const [name, protocol] = version as readonly [string, string]
    // Otherwise it sends each request by itself. From 1.4.2 on it may end a subscription.
    expect(name.toLowerCase()).toContain('electrumx')
    expect(protocol).toBe('1.4.2')
    expect(features).toMatchObject({
      hosts: {},
      genesis_hash: await callNode<string>(node, 'getblockhash', 0),
      hash_function: 'sha256',
    })
    const best = await callNode<string>(node, 'getbestblockhash')
    expect(header).toEqual({
      height: await callNode<number>(node, 'getblockcount'),
      hex: await callNode<string>(node, 'getblockheader', best, false),
    })
    expect(typeof banner).toBe('string')
    const targets = [1, 2, 3, 4, 5, 10, 25, 50]
    const fees = await sparrow.results('fees', targets)
    const rates = targets.map((target) => fees.get(target) as number)
    expect(rates.every((rate) => rate > 0)).toBe(true)
    expect(rates).toEqual([...rates].sort((one, other) => other - one))
    expect(resultOf(await sparrow.send('histogram'))).toEqual(recorded.of('mempool.get_fee_histogram'))
    expect(resultOf(await sparrow.send('relayfee'))).toBe(recorded.of('blockchain.relayfee'))
    expect(resultOf(await sparrow.send('ping'))).toBeNull()

    const { lines, answers } = await sparrow.batches('subscribe', hashes)
    expect(lines).toBeGreaterThan(1)
    const statuses = new Map([...answers].map(([hash, answer]) => [hash, resultOf(answer)]))
    expect(unused.map((hash) => statuses.get(hash))).toEqual(unused.map(() => null))
    const known = hashes.filter((hash) => statuses.get(hash) !== null)
    const before = await sparrow.results('history', known)
    for (const [hash, history] of before)
      expect(statusOf(history as readonly Line[])).toBe(statuses.get(hash))

    await finish()
    const changed = new Set<string>()
    await until('the notifications have come', () => {
      sparrow.take()
      for (const { method, params = [] } of sparrow.notifications.splice(0)) {
        if (method === 'blockchain.headers.subscribe') {
          statuses.set('tip', (params[0] as { hex: string }).hex)
          continue
        }
        expect(method).toBe('blockchain.scripthash.subscribe')
        const [hash, status] = params as [string, string]
        statuses.set(hash, status)
        changed.add(hash)
      }
      return (
        statuses.get('tip') === tip.hex &&
        used.every((hash) => statuses.get(hash) === recorded.of('blockchain.scripthash.subscribe', hash))
      )
    })
    expect(changed.size).toBeGreaterThan(0)
    const after = await sparrow.results('history', [...changed])
    for (const [hash, history] of new Map([...before, ...after]))
      expect(history, hash).toEqual(recorded.of('blockchain.scripthash.get_history', hash))

    const heights = Array.from({ length: tip.height }, (_, index) => index + 1)
    const headers = await sparrow.results('headers', heights)
    for (const height of [1, 121, 321, tip.height]) {
      const hash = await callNode<string>(node, 'getblockhash', height)
      expect(headers.get(height)).toBe(await callNode<string>(node, 'getblockheader', hash, false))
    }
    for (const [txid, hex] of await sparrow.results('transactions', txids))
      expect(parsed(hex).txid).toBe(txid)

    const verbose = recorded
      .paramsOf('blockchain.transaction.get')
      .filter(([, isVerbose]) => isVerbose === true)
      .map(([txid]) => txid as string)
    const { answers: references } = await sparrow.batches('references', [...verbose, 'ee'.repeat(32)])
    expect(references.get('ee'.repeat(32))?.error?.code).toBe(2)
    expect(verbose.length).toBeGreaterThan(20)
    for (const txid of verbose) {
      const tx = resultOf(references.get(txid)!) as SparrowTransaction
      expect(parsed(tx.hex).txid).toBe(txid)
      expect(tx).toMatchObject({ txid, locktime: expect.any(Number) as number, size: tx.hex.length / 2 })
      if (tx.blockhash === undefined) continue
      // It takes the height from the confirmations.
      const { height, time } = await callNode<{ height: number; time: number }>(
        node,
        'getblockheader',
        tx.blockhash,
      )
      expect(tx).toMatchObject({ confirmations: tip.height - height + 1, blocktime: time })
    }

    const { txid, hex } = await unconfirmed()
    expect(resultOf(await sparrow.send('broadcast', hex))).toBe(txid)
    const { error } = await sparrow.send('broadcast', '00')
    expect(error?.message).toContain('TX decode failed')
    const ended = await sparrow.results('unsubscribe', hashes)
    expect([...ended.values()]).toEqual(hashes.map(() => true))
    sparrow.client.close()
  })

  it('Sparrow may be on Windows, and may name its parameters', async () => {
    await finish()
    const sparrow = await ReplayedWallet.connect(pipeline.electrumAddress, 'sparrow', '\r\n')
    expect(resultOf(await sparrow.send('version'))).toEqual([
      expect.stringContaining('ElectrumX') as string,
      '1.4.2',
    ])
    const results = await sparrow.results('subscribe', used)
    for (const [hash, status] of results)
      expect(status, hash).toBe(recorded.of('blockchain.scripthash.subscribe', hash))
    sparrow.client.close()
  })

  it('BlueWallet connects, refreshes a wallet, and reads transactions and fees', async () => {
    await finish()
    const settings = await ReplayedWallet.connect(pipeline.electrumAddress, 'bluewallet')
    await settings.all('settings')
    expect(await settings.all('about')).toMatchObject([{ hosts: {} }, expect.any(String) as string])
    settings.client.close()

    const blue = await ReplayedWallet.connect(pipeline.electrumAddress, 'bluewallet')
    const [version, header] = await blue.all('connect')
    const [name] = version as readonly [string]
    // These get no batches, or only from some version on.
    expect(name).not.toMatch(/^(?:ElectrumPersonalServer|electrs|Fulcrum)/)
    expect(header).toEqual(tip)

    for (const [step, method] of [
      ['balances', 'get_balance'],
      ['unspent', 'listunspent'],
      ['histories', 'get_history'],
    ] as const) {
      const results = await blue.results(step, hashes)
      expect(results.size).toBe(hashes.length)
      const shown = (value: unknown): unknown => (step === 'unspent' ? sortedUnspent(value) : value)
      for (const hash of used)
        expect(shown(results.get(hash)), `${step} ${hash}`).toEqual(
          shown(recorded.of(`blockchain.scripthash.${method}`, hash)),
        )
      const nothing = step === 'balances' ? { confirmed: 0, unconfirmed: 0 } : []
      for (const hash of unused) expect(results.get(hash)).toEqual(nothing)
    }

    const { lines, answers: verbose } = await blue.batches('verbose', txids)
    expect(lines).toBeGreaterThan(2)
    for (const [txid, answer] of verbose) {
      const tx = resultOf(answer)
      const { hex, ...described } = tx as Readonly<Record<string, unknown>>
      expect(parsed(hex).txid).toBe(txid)
      expect(withoutSpent(described)).toMatchObject({
        txid,
        vin: expect.any(Array) as unknown[],
        vout: expect.any(Array) as unknown[],
      })
    }
    for (const [txid, hex] of await blue.results('transactions', txids.slice(0, 100)))
      expect(parsed(hex).txid).toBe(txid)

    const rates: number[] = []
    for (const blocks of [1, 18, 144]) rates.push(resultOf(await blue.send('fee', blocks)) as number)
    expect(rates.every((rate) => rate > 0)).toBe(true)
    expect(resultOf(await blue.send('histogram'))).toEqual(recorded.of('mempool.get_fee_histogram'))
    expect(resultOf(await blue.send('header', tip.height))).toBe(tip.hex)
    for (const hash of used.slice(0, 5))
      expect(resultOf(await blue.send('mempool', hash))).toEqual(
        recorded.of('blockchain.scripthash.get_mempool', hash),
      )
    const { txid, hex } = await unconfirmed()
    expect(resultOf(await blue.send('broadcast', hex))).toBe(txid)
    expect((await blue.send('broadcast', '00')).error?.message).toContain('TX decode failed')
    blue.client.close()
  })

  it('BlueWallet repeats what is too large for a batch, by the code of the error', async () => {
    const blue = await ReplayedWallet.connect(pipeline.electrumAddress, 'bluewallet')
    await blue.all('connect')
    // Headers, because the recording has no large transactions: 120 answers of 100,000 characters.
    const ids = Array.from({ length: 120 }, (_, index) => index + 10)
    blue.client.send(
      `${JSON.stringify(ids.map((id) => ({ jsonrpc: '2.0', method: 'blockchain.block.headers', params: [0, 2_016], id })))}\n`,
    )
    const answer = await until('the batch is answered', () => blue.client.others.shift())
    const errors = [answer].flat().flatMap(({ error }) => error ?? [])
    expect(errors.length).toBeGreaterThan(0)
    expect(errors.length).toBeLessThan(ids.length)
    for (const { code } of errors) expect(code).toBe(-32_600)
    const [txid = ''] = txids
    expect(parsed(resultOf(await blue.send('single', txid))).txid).toBe(txid)
    blue.client.close()
  })
})
