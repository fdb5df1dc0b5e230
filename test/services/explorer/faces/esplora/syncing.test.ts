import { afterEach, describe, expect, it } from 'vitest'
import { BITCOIN_REGTEST } from '../../../../../pipelines/chain/networks.js'
import { ChainView } from '../../../../../pipelines/tables/chain-view.js'
import { NO_CHAIN, State } from '../../../../../services/explorer/core/state/state.js'
import { Tables } from '../../../../../services/explorer/core/tables/tables.js'
import { esploraFace } from '../../../../../services/explorer/faces/esplora/face.js'
import { ReadAnswers } from '../../../../../services/explorer/http/read-answers.js'
import { headWith } from '../../../../harness/heads.js'
import { type BareServer, startBare } from '../../bare-server.js'

const HEIGHT = 100
const TIP = 'aa'.repeat(32)
const UNKNOWN = 'bb'.repeat(32)
const ADDRESS = 'muBcxPrRdbzkvdX3aS7ovfiLgp6QB23rmo'

const NOTHING = new Tables({
  connected: true,
  isCrowded: false,
  query: () => Promise.resolve([]),
  bytes: () => Promise.resolve(Buffer.alloc(0)),
})

/** The statuses of the answers of an index at the height of its node, and of one that is behind. */
const EXPECTED: Readonly<Record<string, readonly [level: number, behind: number]>> = {
  '/blocks/tip/height': [200, 200],
  '/blocks/tip/hash': [200, 200],
  [`/block-height/${String(HEIGHT + 1)}`]: [404, 503],
  [`/blocks/${String(HEIGHT + 1)}`]: [404, 503],
  [`/block/${UNKNOWN}`]: [404, 503],
  [`/block/${UNKNOWN}/header`]: [404, 503],
  [`/block/${UNKNOWN}/status`]: [200, 503],
  [`/block/${UNKNOWN}/txids`]: [404, 503],
  [`/block/${UNKNOWN}/txid/0`]: [404, 503],
  [`/block/${UNKNOWN}/txs`]: [404, 503],
  [`/block/${UNKNOWN}/raw`]: [404, 503],
  [`/tx/${UNKNOWN}`]: [404, 503],
  [`/tx/${UNKNOWN}/status`]: [200, 503],
  [`/tx/${UNKNOWN}/hex`]: [404, 503],
  [`/tx/${UNKNOWN}/raw`]: [404, 503],
  [`/tx/${UNKNOWN}/outspends`]: [404, 503],
  [`/tx/${UNKNOWN}/outspend/0`]: [200, 503],
  [`/tx/${UNKNOWN}/merkle-proof`]: [404, 503],
  [`/tx/${UNKNOWN}/merkleblock-proof`]: [404, 503],
  [`/address/${ADDRESS}`]: [200, 503],
  [`/address/${ADDRESS}/txs`]: [200, 503],
  [`/address/${ADDRESS}/txs/chain`]: [200, 503],
  [`/address/${ADDRESS}/txs/chain/${UNKNOWN}`]: [200, 503],
  [`/address/${ADDRESS}/txs/mempool`]: [200, 503],
  [`/address/${ADDRESS}/utxo`]: [200, 503],
  [`/scripthash/${UNKNOWN}`]: [200, 503],
  [`/scripthash/${UNKNOWN}/txs`]: [200, 503],
  [`/scripthash/${UNKNOWN}/utxo`]: [200, 503],
  [`/txs/outspends?txids=${UNKNOWN}`]: [200, 503],
  '/mempool': [200, 200],
  '/mempool/txids': [200, 200],
  '/fee-estimates': [200, 200],
  '/v1/fees/recommended': [200, 200],
  '/v1/fees/precise': [200, 200],
  '/v1/fees/mempool-blocks': [200, 200],
  '/v1/difficulty-adjustment': [200, 200],
  [`/v1/cpfp/${UNKNOWN}`]: [200, 503],
  [`/v1/transaction-times?txId[]=${UNKNOWN}`]: [200, 200],
  [`/v1/validate-address/${ADDRESS}`]: [200, 200],
  // What is malformed is so whatever the index has.
  '/tx/zz': [400, 400],
  '/v1/cpfp/zz': [400, 400],
  '/v1/transaction-times': [400, 400],
  '/address/nonsense': [400, 400],
  '/block-height/x': [400, 400],
  '/nothing': [404, 404],
}

describe('the Esplora API of an index that does not have what is requested', () => {
  let bare: BareServer
  afterEach(() => {
    bare.close()
  })

  /** @param isKnown false before the first head. */
  async function start(nodeHeight: number, isKnown = true): Promise<void> {
    const state = new State()
    const view = new ChainView(
      headWith({
        position: 7,
        tipHeight: HEIGHT,
        tipHash: TIP,
        sequence: 7n,
        finalHeight: HEIGHT,
        reached: true,
      }),
      new Map(),
      new Map(),
    )
    if (!isKnown) state.adopt(NO_CHAIN)
    else
      state.adopt({ ...NO_CHAIN, view, position: 7, network: BITCOIN_REGTEST, height: HEIGHT, tipHash: TIP })
    state.mempoolLoaded()
    state.nodeSeen = { pollIntervalMs: 1_000, timeMs: 1, nodeHeight }
    const pages = (core: Parameters<typeof esploraFace>[0]) =>
      esploraFace(core, new ReadAnswers(core.reader, undefined, 'esplora '))
    bare = await startBare({ state, tables: NOTHING, pages })
  }

  it.each([
    ['says so at the height of the node', HEIGHT, 0],
    ['is 503 with Retry-After while it is behind, never empty', HEIGHT + 7, 1],
  ] as const)('%s', async (_, nodeHeight, at) => {
    await start(nodeHeight)
    for (const [path, statuses] of Object.entries(EXPECTED)) {
      // Twice: a cached answer is judged again.
      for (let time = 0; time < 2; time++) {
        const response = await fetch(bare.url + path)
        const text = await response.text()
        expect(response.status, `${path}: ${text}`).toBe(statuses[at])
        if (response.status !== 503) continue
        expect(text, path).toBe('Index is syncing')
        expect(Number(response.headers.get('retry-after')), path).toBeGreaterThan(0)
      }
    }
  })

  it('is 503 before the first block', async () => {
    await start(HEIGHT + 7, false)
    for (const [path, [level]] of Object.entries(EXPECTED)) {
      const { status } = await fetch(bare.url + path)
      // Without the chain it is not known either of which one an address is.
      const allowed = level === 400 || path === '/nothing' ? [level, 503] : [200, 503]
      expect(allowed, `${path}: ${String(status)}`).toContain(status)
      if (!/^\/(?:mempool|fee)/.test(path) && level !== 400 && path !== '/nothing')
        expect(status, path).toBe(503)
    }
  })
})
