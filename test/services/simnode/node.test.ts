import { mkdtempSync, rmSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { BITCOIN_REGTEST, REGTEST, TEST } from '../../../pipelines/chain/networks.js'
import { decodeAddress } from '../../../pipelines/chain/address.js'
import { parseBlock } from '../../../pipelines/chain/block.js'
import { NaiveState } from '../../harness/naive-state.js'
import { type Simnode, type SimnodeOptions, startSimnode } from '../../../services/simnode/node.js'
import { buildChain, forkAt } from '../../../services/simnode/chain/sim-chain.js'
import { baseUnits, type NodeBlock } from '../../harness/node-json.js'
import { until } from '../../harness/until.js'

interface State {
  height: number
  hash: string
  supply: string
  utxoCount: number
  pool: string[]
  balances?: Record<string, string>
}

const open: Simnode[] = []
const folders: string[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((node) => node.close()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function start(options: SimnodeOptions): Promise<Simnode> {
  const node = await startSimnode(options)
  open.push(node)
  return node
}

async function rawCall(node: Simnode, method: string, ...params: unknown[]): Promise<Response> {
  return fetch(`http://127.0.0.1:${String(node.port)}/`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('any:one')}` },
    body: JSON.stringify({ jsonrpc: '1.0', id: 7, method, params }),
  })
}

async function call<T>(node: Simnode, method: string, ...params: unknown[]): Promise<T> {
  const answer = (await (await rawCall(node, method, ...params)).json()) as {
    result: T
    error: unknown
    id: number
  }
  expect(answer).toMatchObject({ error: null, id: 7 })
  return answer.result
}

async function control(node: Simnode, path: string, method = 'POST'): Promise<State> {
  const response = await fetch(`http://127.0.0.1:${String(node.port)}/control/${path}`, { method })
  expect(response.status).toBe(200)
  return (await response.json()) as State
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'simnode-'))
  folders.push(path)
  return path
}

describe('a simulated node', () => {
  test('returns consistent blocks in every verbosity', async () => {
    const node = await start({ seed: 'rpc', blocks: 60, txsPerBlock: 6 })
    const hash = await call<string>(node, 'getbestblockhash')
    expect(await call<number>(node, 'getblockcount')).toBe(60)
    expect(await call<string>(node, 'getblockhash', 60)).toBe(hash)
    const parsed = parseBlock(Buffer.from(await call<string>(node, 'getblock', hash, 0), 'hex'), REGTEST)
    const ids = await call<{ tx: string[]; nTx: number }>(node, 'getblock', hash)
    const block = await call<NodeBlock>(node, 'getblock', hash, 3)
    const header = await call<Record<string, unknown>>(node, 'getblockheader', hash)
    expect(parsed.hash).toBe(hash)
    expect(ids.tx).toEqual(parsed.txs.map((tx) => tx.txid))
    expect(block.tx.map((tx) => tx.txid)).toEqual(ids.tx)
    expect(block).toMatchObject(header)
    expect(block.weight).toBe(15 * block.strippedsize + block.size)
    for (const tx of block.tx.slice(1)) {
      const taken = tx.vin.reduce((sum, input) => sum + baseUnits(input.prevout?.value ?? 0), 0n)
      const given = tx.vout.reduce((sum, output) => sum + baseUnits(output.value), 0n)
      expect(baseUnits(tx.fee ?? 0)).toBe(taken - given)
      expect(await call<object>(node, 'getrawtransaction', tx.txid, 2)).toMatchObject({
        ...tx,
        blockhash: hash,
        confirmations: 1,
      })
    }
  })

  test('has sums of coins that agree with its blocks, and scans that agree with its addresses', async () => {
    const node = await start({ seed: 'sums', blocks: 80, txsPerBlock: 6 })
    await control(node, 'reorg?depth=5')
    const fold = new NaiveState(node.chain)
    const info = await call<{ total_amount: number; txouts: number }>(node, 'gettxoutsetinfo')
    expect(baseUnits(info.total_amount)).toBe(fold.supply)
    expect(info.txouts).toBe(fold.utxos().size)
    const state = await control(node, 'state?balances=1', 'GET')
    expect(state.balances).toEqual(
      Object.fromEntries([...fold.balances()].map(([script, sum]) => [script, String(sum)])),
    )
    const block = await call<NodeBlock>(node, 'getblock', state.hash, 2)
    const address = block.tx
      .flatMap((tx) => tx.vout)
      .find((output) => output.scriptPubKey.address !== undefined)?.scriptPubKey
    const scan = await call<{ total_amount: number }>(node, 'scantxoutset', 'start', [
      `addr(${address?.address ?? ''})`,
    ])
    expect(baseUnits(scan.total_amount)).toBe(fold.balances().get(address?.hex ?? '') ?? 0n)
    expect(decodeAddress(address?.address ?? '', REGTEST)?.script.toString('hex')).toBe(address?.hex)
  })

  test('reports its mempool', async () => {
    const node = await start({ seed: 'pool', blocks: 60, txsPerBlock: 6 })
    const { pool } = await control(node, 'pool?enter=20&replace=2&evict=1')
    const entries = await call<Record<string, { vsize: number; weight: number; fees: { base: number } }>>(
      node,
      'getrawmempool',
      true,
    )
    expect(await call<string[]>(node, 'getrawmempool')).toEqual(pool)
    expect(Object.keys(entries)).toEqual(pool)
    const info = await call<{ size: number; bytes: number }>(node, 'getmempoolinfo')
    expect(info).toMatchObject({
      size: pool.length,
      bytes: Object.values(entries).reduce((sum, entry) => sum + entry.vsize, 0),
    })
    for (const [txid, entry] of Object.entries(entries)) {
      expect(entry.vsize).toBe(Math.ceil(entry.weight / 16))
      const tx = await call<Record<string, unknown>>(node, 'getrawtransaction', txid, 2)
      expect(tx).toMatchObject({ txid, vsize: entry.weight, weight: entry.weight })
      expect(tx).not.toHaveProperty('fee')
    }
  })

  test('answers errors as a real node does', async () => {
    const node = await start({ blocks: 2 })
    const unknown = await rawCall(node, 'getblock', 'f'.repeat(64))
    expect(unknown.status).toBe(500)
    expect(await unknown.json()).toEqual({
      result: null,
      error: { code: -5, message: 'Block not found' },
      id: 7,
    })
    expect((await rawCall(node, 'getblockhash', 3)).status).toBe(500)
    expect((await rawCall(node, 'listunspent')).status).toBe(404)
  })

  test('makes the requested number of requests fail, and no more', async () => {
    const node = await start({ blocks: 2 })
    await control(node, 'fault?kind=503&count=1')
    expect((await rawCall(node, 'getblockcount')).status).toBe(503)
    await control(node, 'fault?kind=workqueue')
    expect(await (await rawCall(node, 'getblockcount')).text()).toContain('Work queue depth exceeded')
    await control(node, 'fault?kind=truncate&method=getblock')
    expect(await call<number>(node, 'getblockcount')).toBe(2)
    await expect((await rawCall(node, 'getblock', node.chain.tip.hash, 3)).json()).rejects.toThrow(
      SyntaxError,
    )
    await control(node, 'fault?kind=reset')
    await expect(rawCall(node, 'getblockcount')).rejects.toThrow('fetch failed')
    await control(node, 'fault?kind=slow&ms=120')
    const before = performance.now()
    expect(await call<number>(node, 'getblockcount')).toBe(2)
    expect(performance.now() - before).toBeGreaterThan(100)
  })

  test('accepts twenty requests at a time, and refuses the others at once', async () => {
    const node = await start({ blocks: 2, blockMs: 3_600_000 })
    const statuses: number[] = []
    const ask = async (): Promise<void> => {
      const { status } = await rawCall(node, 'getblock', node.chain.tip.hash, 3)
      statuses.push(status)
    }
    const requested = Promise.allSettled(Array.from({ length: 30 }, ask))
    await until('ten are answered', () => statuses.length === 10)
    expect(new Set(statuses)).toEqual(new Set([503]))
    await node.close()
    await requested
    expect(statuses).toHaveLength(10)
  })

  test('answers waitfornewblock when its tip changes, or when the time is over', async () => {
    const node = await start({ seed: 'waits', blocks: 5 })
    for (const change of ['mine?blocks=1', 'tip-back?blocks=2', 'empty']) {
      const waiting = call<{ hash: string; height: number }>(node, 'waitfornewblock', 0)
      await until('it waits', () => node.tipWaits.size === 1)
      const { hash, height } = await control(node, change)
      expect(await waiting).toEqual({ hash, height })
    }
    const before = node.chain.tip
    expect(await call<object>(node, 'waitfornewblock', 1)).toEqual({ hash: before.hash, height: 0 })
    expect(node.tipWaits.size).toBe(0)
  })

  test('occupies one of its four threads with each waitfornewblock', async () => {
    const node = await start({ seed: 'threads', blocks: 5 })
    const waiting = Array.from({ length: 4 }, () => call<{ height: number }>(node, 'waitfornewblock', 0))
    await until('all wait', () => node.tipWaits.size === 4)
    let isAnswered = false
    const queued = call<number>(node, 'getblockcount').then((count) => {
      isAnswered = true
      return count
    })
    // Requests of control are not queued: this one is answered after the other has arrived.
    await control(node, 'state', 'GET')
    await control(node, 'state', 'GET')
    expect(isAnswered).toBe(false)
    await control(node, 'mine')
    expect((await Promise.all(waiting)).map(({ height }) => height)).toEqual([6, 6, 6, 6])
    expect(await queued).toBe(6)
  })

  test('can go back, reorganise and start empty', async () => {
    const node = await start({ seed: 'moves', blocks: 40, txsPerBlock: 5 })
    expect(await control(node, 'tip-back?blocks=4')).toMatchObject({ height: 36 })
    expect(await control(node, 'mine?blocks=3&txs=2')).toMatchObject({ height: 39 })
    expect(await control(node, 'reorg?depth=3&length=7')).toMatchObject({ height: 43 })
    expect(await control(node, 'empty')).toMatchObject({ height: 0, supply: '0', pool: [] })
    expect(await call<number>(node, 'getblockcount')).toBe(0)
  })

  test('serves a scripted chain, whose tip a test moves', async () => {
    const chain = buildChain({ blocks: 5 })
    const node = await start({ chain })
    const old = chain.tip
    const fork = forkAt(chain, 3)
    fork.mine({}, {}, {})
    expect(await call<string>(node, 'getbestblockhash')).toBe(old.hash)
    fork.activate()
    expect(await call<string>(node, 'getbestblockhash')).toBe(fork.tip.hash)
    expect(await call<object>(node, 'getblockheader', old.hash)).toMatchObject({ confirmations: -1 })
  })
})

describe('a simulated chain that is stored', () => {
  test('continues where it was, as if it had never stopped', async () => {
    const straight = await start({ seed: 'kept', blocks: 70, txsPerBlock: 5 })
    const dataDir = folder()
    const first = await startSimnode({ seed: 'kept', blocks: 40, txsPerBlock: 5, dataDir })
    const { txs } = first.chain.read(first.chain.tip)
    await first.close()
    const second = await start({ seed: 'kept', blocks: 70, txsPerBlock: 5, dataDir })
    expect(second.chain.tip.hash).toBe(straight.chain.tip.hash)
    expect(await call<object>(second, 'getrawtransaction', txs[0]?.txid, 1)).toMatchObject({
      confirmations: 31,
    })
  })

  test('goes back to its last complete state without its last bytes or its snapshot, with all branches', async () => {
    const dataDir = folder()
    const first = await startSimnode({ seed: 'torn', blocks: 30, txsPerBlock: 5, dataDir })
    await control(first, 'reorg?depth=3')
    const wholeTip = first.chain.tip
    await control(first, 'mine?blocks=1&txs=3')
    await first.close()
    rmSync(join(dataDir, 'snapshot.dat'))
    truncateSync(join(dataDir, 'blocks.dat'), statSync(join(dataDir, 'blocks.dat')).size - 10)
    const second = await start({ seed: 'torn', dataDir })
    expect(second.chain.tip.hash).toBe(wholeTip.hash)
    const fold = new NaiveState(second.chain)
    expect(second.chain.coins.total).toBe(fold.supply)
    expect(second.chain.coins.size).toBe(fold.utxos().size)
    expect(await control(second, 'mine?blocks=2&txs=3')).toMatchObject({ height: wholeTip.height + 2 })
  })

  test('refuses the folder of another chain', async () => {
    const dataDir = folder()
    await (await startSimnode({ seed: 'mine', dataDir })).close()
    await expect(startSimnode({ seed: 'yours', dataDir })).rejects.toThrow(
      'contains another chain (btq-regtest mine, wanted btq-regtest yours)',
    )
    await expect(startSimnode({ seed: 'mine', network: BITCOIN_REGTEST, dataDir })).rejects.toThrow(
      'wanted bitcoin-regtest mine',
    )
    writeFileSync(join(dataDir, 'chain.json'), '{"identity":"test mine"}')
    await expect(startSimnode({ seed: 'mine', network: TEST, dataDir })).rejects.toThrow(
      'block 0 of btq-test',
    )
    // The name of an earlier version.
    writeFileSync(join(dataDir, 'chain.json'), '{"identity":"regtest mine"}')
    await (await startSimnode({ seed: 'mine', dataDir })).close()
  })
})
