import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { electrumHashOf } from '../../pipelines/chain/script.js'
import { type RecordedNode, startRecordedNode } from '../../services/recorded-node/node.js'
import {
  ELECTRUM_RECORDING,
  RecordedResults,
  sortedUnspent,
  withoutSpent,
} from '../harness/electrum-recording.js'
import { callNode } from '../harness/follow-node.js'
import { baseUnits } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { readFrames, readOracles, timelineOf } from '../harness/recording.js'
import { until } from '../harness/until.js'
import { IS_WHOLE, sampled, sampledByKind } from '../harness/whole.js'

const packageOf = createRequire(import.meta.url)

/** An answer of a batch with the parameter of its request. */
interface Batched {
  readonly param: string
  readonly result: unknown
}

type Header = { readonly height: number; readonly hex: string }

/** The client of mempool's backend, which has no types. */
interface MempoolClient {
  readonly versionInfo: unknown
  readonly subscribe: {
    on(method: string, listener: (params: readonly unknown[]) => void): void
  }
  initElectrum(config: { client: string; version: string }): Promise<unknown>
  request(method: string, params: readonly unknown[]): Promise<unknown>
  server_features(): Promise<unknown>
  server_ping(): Promise<unknown>
  serverPeers_subscribe(): Promise<unknown>
  serverDonation_address(): Promise<unknown>
  blockchainHeaders_subscribe(): Promise<unknown>
  blockchainEstimatefee(blocks: number): Promise<number>
  blockchain_relayfee(): Promise<unknown>
  mempool_getFeeHistogram(): Promise<unknown>
  blockchainScripthash_subscribe(hash: string): Promise<unknown>
  blockchainScripthash_getBalance(hash: string): Promise<unknown>
  blockchainScripthash_getHistory(hash: string): Promise<unknown>
  blockchainScripthash_getMempool(hash: string): Promise<unknown>
  blockchainScripthash_listunspent(hash: string): Promise<unknown>
  blockchainScripthash_getBalanceBatch(hashes: readonly string[]): Promise<readonly Batched[]>
  blockchainScripthash_getHistoryBatch(hashes: readonly string[]): Promise<readonly Batched[]>
  blockchainScripthash_listunspentBatch(hashes: readonly string[]): Promise<readonly Batched[]>
  blockchainTransaction_get(txid: string, verbose?: boolean): Promise<unknown>
  blockchainTransaction_getBatch(txids: readonly string[], verbose: boolean): Promise<readonly Batched[]>
  blockchainTransaction_getMerkle(txid: string, height: number): Promise<unknown>
  blockchainTransaction_broadcast(hex: string): Promise<unknown>
  close(): void
}

interface ExplorerTx {
  readonly txId: string
  readonly blockHeight: number
  readonly irreversible: boolean
}

/** The interface that both explorers of @bitcoinerlab/explorer have. */
interface Explorer {
  connect(): Promise<void>
  isConnected(): Promise<boolean>
  close(): void
  fetchAddress(address: string): Promise<{ balance: number }>
  fetchScriptHash(hash: string): Promise<{ balance: number }>
  fetchTxHistory(of: { address: string } | { scriptHash: string }): Promise<readonly ExplorerTx[]>
  fetchTx(txid: string): Promise<string>
  fetchFeeEstimates(): Promise<Readonly<Record<string, number>>>
  fetchBlockStatus(height: number): Promise<{ blockHash: string; blockTime: number } | undefined>
  fetchBlockHeight(): Promise<number>
  push(hex: string): Promise<string>
}

/** Frames of the recording that come after the clients have connected: nine blocks, and transactions without a block. */
const LIVE_FRAMES = IS_WHOLE ? 12 : 6
const scripthash = (name: string): string => `blockchain.scripthash.${name}`

describe('clients of the Electrum protocol', () => {
  const recorded = new RecordedResults('1.4')
  const allHashes = recorded
    .paramsOf(scripthash('subscribe'))
    .map(([hash]) => hash as string)
    .filter((hash) => /^[0-9a-f]{64}$/.test(hash))
  const hashes = sampled(allHashes, 3)
  const txids = recorded
    .paramsOf('blockchain.transaction.get')
    .filter(({ length }) => length === 1)
    .map(([txid]) => txid as string)
  const statuses = new Map<string, unknown>()
  /** The script hashes of which messages have come. */
  const changed = new Set<string>()
  const tips: Header[] = []
  const open: { close(): void | Promise<void> }[] = []
  let node: RecordedNode
  let pipeline: Pipeline
  let mempool: MempoolClient
  let electrum: Explorer
  let esplora: Explorer

  beforeAll(async () => {
    const frames = readFrames(ELECTRUM_RECORDING)
    const before = frames.at(-1 - LIVE_FRAMES)
    const last = frames.at(-1)
    if (before === undefined || last === undefined) throw new Error('the recording is too short')
    node = await startRecordedNode({ timeline: timelineOf(ELECTRUM_RECORDING) })
    open.push(node)
    node.step(frames.length - 1 - LIVE_FRAMES)
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { electrumPort: 0, esploraPort: 0, broadcast: true },
    })
    open.push(pipeline)
    await pipeline.level({ tip: before.chaininfo.bestblockhash, mempoolSize: before.mempoolinfo.size })
    const [host = '', port] = pipeline.electrumAddress.split(':')

    const Mempool = packageOf('@mempool/electrum-client') as new (
      port: number,
      host: string,
      protocol: string,
      options: null,
      callbacks: Readonly<Record<string, () => void>>,
    ) => MempoolClient
    mempool = new Mempool(Number(port), host, 'tcp', null, { onLog: () => undefined })
    open.push(mempool)
    await mempool.initElectrum({ client: 'mempool', version: '1.4' })
    mempool.subscribe.on('blockchain.headers.subscribe', ([tip]) => tips.push(tip as Header))
    mempool.subscribe.on(scripthash('subscribe'), ([hash, status]) => {
      statuses.set(hash as string, status)
      changed.add(hash as string)
    })
    tips.push((await mempool.request('blockchain.headers.subscribe', [])) as Header)
    for (const hash of hashes) {
      const status = await mempool.blockchainScripthash_subscribe(hash)
      // A message that came with the answer is newer. For the result null the client returns the whole answer.
      if (!statuses.has(hash)) statuses.set(hash, typeof status === 'string' ? status : null)
    }

    const name = '@bitcoinerlab/explorer'
    const { ElectrumExplorer, EsploraExplorer } = packageOf(name) as Record<
      'ElectrumExplorer' | 'EsploraExplorer',
      new (options: unknown) => Explorer
    >
    const { networks } = createRequire(packageOf.resolve(name))('bitcoinjs-lib') as {
      networks: { regtest: unknown }
    }
    electrum = new ElectrumExplorer({
      host,
      port: Number(port),
      protocol: 'tcp',
      network: networks.regtest,
    })
    open.push(electrum)
    await electrum.connect()
    expect(await electrum.fetchBlockHeight()).toBe(before.chaininfo.blocks)

    node.step(LIVE_FRAMES)
    await pipeline.level({ tip: last.chaininfo.bestblockhash, mempoolSize: last.mempoolinfo.size })
    esplora = new EsploraExplorer({ url: pipeline.esploraUrl })
    await esplora.connect()
  })

  afterAll(async () => {
    for (const each of open.reverse()) await each.close()
  })

  it('mempool: is up to date by the messages to a subscriber', async () => {
    const expected = hashes.map((hash) => recorded.of(scripthash('subscribe'), hash))
    await until('the statuses are those of ElectrumX', () =>
      hashes.every((hash, index) => statuses.get(hash) === expected[index]),
    )
    expect(changed.size).toBeGreaterThan(10)
    const tip = recorded.of('blockchain.headers.subscribe') as Header
    await until('the tip is that of ElectrumX', () => tips.at(-1)?.hex === tip.hex)
    expect(tips.at(-1)).toEqual(tip)
    const heights = tips.map(({ height }) => height)
    expect(heights.length).toBeGreaterThan(1)
    expect(heights).toEqual([...new Set(heights)].sort((one, other) => one - other))
  })

  it('mempool: gets the answers of ElectrumX', async () => {
    expect(mempool.versionInfo).toEqual(['Headwater (ElectrumX compatible)', '1.4'])
    expect(await mempool.server_features()).toEqual({
      ...(recorded.of('server.features') as object),
      server_version: 'Headwater (ElectrumX compatible)',
    })
    expect(await mempool.server_ping()).toMatchObject({ result: null })
    expect(await mempool.serverPeers_subscribe()).toEqual(recorded.of('server.peers.subscribe'))
    expect(await mempool.blockchain_relayfee()).toBe(recorded.of('blockchain.relayfee'))
    expect(await mempool.mempool_getFeeHistogram()).toEqual(recorded.of('mempool.get_fee_histogram'))
    for (const hash of hashes) {
      const is = (name: string, own: unknown): void => {
        expect(own, `${name} ${hash}`).toEqual(recorded.of(scripthash(name), hash))
      }
      is('get_balance', await mempool.blockchainScripthash_getBalance(hash))
      is('get_history', await mempool.blockchainScripthash_getHistory(hash))
      is('get_mempool', await mempool.blockchainScripthash_getMempool(hash))
    }
    for (const params of recorded.paramsOf('blockchain.transaction.get_merkle')) {
      const [txid, height] = params as [string, number]
      const proof = await mempool.blockchainTransaction_getMerkle(txid, height)
      expect(proof, txid).toEqual(recorded.of('blockchain.transaction.get_merkle', ...params))
    }
    for (const params of recorded.paramsOf('blockchain.block.header'))
      expect(await mempool.request('blockchain.block.header', params)).toEqual(
        recorded.of('blockchain.block.header', ...params),
      )
    // Its method sends a parameter that ended with version 1.4 of the protocol, which ElectrumX refuses too.
    await expect(mempool.blockchainHeaders_subscribe()).rejects.toMatchObject({ code: -32_602 })
  })

  it('mempool: gets the answers of ElectrumX in batches', async () => {
    const batches = {
      get_balance: mempool.blockchainScripthash_getBalanceBatch(hashes),
      get_history: mempool.blockchainScripthash_getHistoryBatch(hashes),
      listunspent: mempool.blockchainScripthash_listunspentBatch(hashes),
    }
    for (const [name, batch] of Object.entries(batches)) {
      const answers = await batch
      expect(new Set(answers.map(({ param }) => param))).toEqual(new Set(hashes))
      for (const { param, result } of answers) {
        const expected = recorded.of(scripthash(name), param)
        const isUnspent = name === 'listunspent'
        expect(isUnspent ? sortedUnspent(result) : result, `${name} ${param}`).toEqual(
          isUnspent ? sortedUnspent(expected) : expected,
        )
      }
    }
    const verbose = recorded
      .paramsOf('blockchain.transaction.get')
      .filter(([, isVerbose]) => isVerbose === true)
    for (const isVerbose of [false, true]) {
      const wanted = isVerbose ? verbose.map(([txid]) => txid as string) : txids
      expect(wanted.length).toBeGreaterThan(20)
      for (const { param, result } of await mempool.blockchainTransaction_getBatch(wanted, isVerbose)) {
        const expected = recorded.of('blockchain.transaction.get', param, ...(isVerbose ? [true] : []))
        expect(isVerbose ? withoutSpent(result) : result, param).toEqual(
          isVerbose ? withoutSpent(expected) : expected,
        )
      }
    }
  })

  it('bitcoinerlab: agrees over Electrum and over Esplora, with the chain and with each other', async () => {
    expect(await electrum.isConnected()).toBe(true)
    const { height: tip } = recorded.of('blockchain.headers.subscribe') as Header
    await until('its tip is the newest', async () => (await electrum.fetchBlockHeight()) === tip)
    expect(await esplora.fetchBlockHeight()).toBe(tip)
    for (const height of [0, 1, 121, 321, tip - 2, tip - 1, tip, tip + 1]) {
      const status = await electrum.fetchBlockStatus(height)
      expect(status, String(height)).toEqual(await esplora.fetchBlockStatus(height))
      const hash = height > tip ? undefined : await callNode<string>(node, 'getblockhash', height)
      expect(status?.blockHash).toBe(hash)
    }

    const { addresses, scripts = {} } = readOracles(ELECTRUM_RECORDING)
    const byHeight = (list: readonly ExplorerTx[]): readonly ExplorerTx[] =>
      [...list].sort((one, other) => one.blockHeight - other.blockHeight || (one.txId < other.txId ? -1 : 1))
    const all = [
      ...Object.entries(addresses).map(([address, oracle]) => ({
        // For an address of Taproot the package needs a library of secp256k1.
        address: /^(?:5[1-9a-f]|60)/.test(oracle.scriptPubKey) ? undefined : address,
        oracle,
      })),
      ...Object.entries(scripts).map(([script, oracle]) => ({
        address: undefined,
        oracle: { ...oracle, scriptPubKey: script },
      })),
    ]
    expect(all.filter(({ address }) => address !== undefined).length).toBeGreaterThan(20)
    expect(all.length).toBeGreaterThan(80)
    // Each type of script, with and without an address that the package reads; the longest histories come first, and are left out.
    const kinds = ({ address, oracle: { scriptPubKey } }: (typeof all)[number]): string =>
      `${String(address !== undefined)} ${scriptPubKey.slice(0, 4)} ${String(scriptPubKey.length)}`
    for (const { address, oracle } of sampledByKind(all.reverse(), 5, kinds)) {
      const scriptHash = electrumHashOf(Buffer.from(oracle.scriptPubKey, 'hex'))
      const read = (explorer: Explorer): Promise<{ balance: number }> =>
        address === undefined ? explorer.fetchScriptHash(scriptHash) : explorer.fetchAddress(address)
      const of = address === undefined ? { scriptHash } : { address }
      const state = await read(electrum)
      expect(state, address).toEqual(await read(esplora))
      // The node's own sum of the unspent outputs.
      expect(state.balance, address).toBe(Number(baseUnits(oracle.balance)))
      const history = await electrum.fetchTxHistory(of)
      // A coinbase that exists twice is in a history of Electrum twice, in one of Esplora once; both as in the reference servers.
      const single = [...new Map(history.map((tx) => [tx.txId, tx])).values()]
      expect(byHeight(single), address).toEqual(byHeight(await esplora.fetchTxHistory(of)))
      const expected = recorded.of(scripthash('get_history'), scriptHash) as { tx_hash: string }[]
      expect(history.map(({ txId }) => txId)).toEqual(expected.map(({ tx_hash }) => tx_hash))
    }
  })

  it('bitcoinerlab: gets transactions and fees, and sends, over Electrum and over Esplora', async () => {
    for (const txid of txids.slice(IS_WHOLE ? -40 : -15)) {
      const expected = recorded.of('blockchain.transaction.get', txid)
      expect(await electrum.fetchTx(txid)).toBe(expected)
      expect(await esplora.fetchTx(txid)).toBe(expected)
    }
    const [fees, same] = [await electrum.fetchFeeEstimates(), await esplora.fetchFeeEstimates()]
    expect(Object.keys(fees)).toEqual(Object.keys(same))
    expect(Object.keys(fees).length).toBeGreaterThan(20)
    for (const [target, rate] of Object.entries(fees)) {
      expect(rate, target).toBeGreaterThan(0)
      expect(rate, target).toBeCloseTo(same[target] ?? Number.NaN, 2)
      expect(await mempool.blockchainEstimatefee(Number(target))).toBeCloseTo(rate / 100_000, 10)
    }
    const [unconfirmed = ''] = await callNode<string[]>(node, 'getrawmempool')
    const hex = await callNode<string>(node, 'getrawtransaction', unconfirmed)
    for (const explorer of [electrum, esplora]) expect(await explorer.push(hex)).toBe(unconfirmed)
    expect(await mempool.blockchainTransaction_broadcast(hex)).toBe(unconfirmed)
    for (const explorer of [electrum, esplora])
      await expect(explorer.push('00')).rejects.toThrow(/TX decode failed/)
    await expect(mempool.blockchainTransaction_broadcast('00')).rejects.toMatchObject({
      code: 1,
      message: expect.stringContaining('TX decode failed') as string,
    })
  })
})
