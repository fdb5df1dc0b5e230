import { HDKey } from '@scure/bip32'
import { p2tr } from '@scure/btc-signer'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { addressOf } from '../../pipelines/chain/address.js'
import { hash160, sha256 } from '../../pipelines/chain/hash.js'
import { BITCOIN_REGTEST, MAIN, type Network, REGTEST } from '../../pipelines/chain/networks.js'
import { isoTime } from '../../pipelines/chain/time.js'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { wallet, walletAddresses } from '../../services/explorer/core/reads/wallet/wallet.js'
import { walletTransactions, walletUtxos } from '../../services/explorer/core/reads/wallet/lists.js'
import type { SimTx } from '../../services/simnode/chain/sim-tx.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Browsing } from '../harness/browsing.js'
import { CHROMIUM } from '../harness/chromium.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { baseUnits, type NodeTx } from '../harness/node-json.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { IS_WHOLE } from '../harness/whole.js'
import { type Face, graphql, grpc } from '../services/explorer/core/reads/faces.js'

const FINALITY = 6
const GAP = 5
/** An account of which only the public key is sent. */
const ACCOUNT = HDKey.fromMasterSeed(Buffer.alloc(64, 7), { public: 0x043587cf, private: 0x04358394 }).derive(
  "m/84'/1'/0'",
)
const COSIGNER = HDKey.fromMasterSeed(Buffer.alloc(64, 8), {
  public: 0x043587cf,
  private: 0x04358394,
}).derive("m/48'/1'/0'")
const XPUB = ACCOUNT.publicExtendedKey

const keys = new Map<string, Buffer>()

/** Returns a public key from the private one: the explorer derives it from the public one. */
function keyAt(branch: number, index: number, account = ACCOUNT): Buffer {
  const path = `m/${String(branch)}/${String(index)}`
  const name = `${account.publicExtendedKey} ${path}`
  const key = keys.get(name) ?? Buffer.from(account.derive(path).publicKey!)
  keys.set(name, key)
  return key
}

const framed = (before: string, middle: Uint8Array, after = ''): Buffer =>
  Buffer.concat([Buffer.from(before, 'hex'), middle, Buffer.from(after, 'hex')])

const p2wpkh = (branch: number, index: number): Buffer => framed('0014', hash160(keyAt(branch, index)))
/** The scripts at an index of a branch, by type. */
const SCRIPTS: Readonly<Record<string, (branch: number, index: number) => Buffer>> = {
  p2pkh: (branch, index) => framed('76a914', hash160(keyAt(branch, index)), '88ac'),
  p2sh_p2wpkh: (branch, index) => framed('a914', hash160(p2wpkh(branch, index)), '87'),
  p2wpkh,
  p2tr: (branch, index) => Buffer.from(p2tr(keyAt(branch, index).subarray(1)).script),
  descriptor: (branch, index) => {
    const keys = [keyAt(branch, index), keyAt(branch, index, COSIGNER)].sort((one, other) =>
      Buffer.compare(one, other),
    )
    return framed(
      '0020',
      sha256(
        Buffer.concat([
          Buffer.from([0x52, 33]),
          keys[0]!,
          Buffer.from([33]),
          keys[1]!,
          Buffer.from('52ae', 'hex'),
        ]),
      ),
    )
  },
}
const TYPES = ['p2pkh', 'p2sh_p2wpkh', 'p2wpkh', 'p2tr']
const MULTISIG = `wsh(sortedmulti(2,${XPUB}/<0;1>/*,${COSIGNER.publicExtendedKey}/<0;1>/*))`

/** A transaction as of chain and mempool, with its changes by script. */
interface NaiveTx {
  readonly txid: string
  readonly height: number | null
  readonly index: number | null
  readonly time: string
  readonly changes: ReadonlyMap<string, { readonly received: bigint; readonly sent: bigint }>
  readonly tx: NodeTx
}

describe.each([BITCOIN_REGTEST, REGTEST])(
  'the wallet of keys and descriptors on $name',
  (network: Network) => {
    /** In CI, the second network has only what depends on a network. */
    const isBrief = !IS_WHOLE && network === REGTEST
    let node: Simnode
    let pipeline: Pipeline
    let faces: readonly Face[]
    const chain = new NaiveChain()
    /** The lines that the explorer logs, at the most verbose level. */
    const logged: string[] = []
    const lines = { write: (line: string) => void logged.push(line) }
    /** All transactions of the chain, in order, and those of the mempool. */
    let all: NaiveTx[] = []

    beforeAll(async () => {
      node = await startSimnode({ network, seed: 'wallets', blocks: 30, txsPerBlock: 4 })
      pipeline = await Pipeline.start({
        nodeUrl: node.url,
        engineUrl: inject('engineUrl'),
        finalityDepth: FINALITY,
        explorer: { auditEveryMs: 0, grpcPort: 0, logger: pino({ level: 'trace' }, lines) },
      })
      faces = [grpc(pipeline.grpcAddress), graphql(pipeline.url)]
      await level()
    })
    afterAll(async () => {
      for (const face of faces) face.close()
      await pipeline.close()
      await node.close()
    })

    /** Levels the explorer with the node, and computes all transactions again from the node's JSON. */
    async function level(): Promise<void> {
      await follow(chain, node)
      const txids = await callNode<string[]>(node, 'getrawmempool')
      const entries = await callNode<Record<string, { time: number }>>(node, 'getrawmempool', true)
      await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: txids.length })
      const outputs = new Map<string, { script: string; value: bigint }>()
      const naive = (tx: NodeTx, place: Pick<NaiveTx, 'height' | 'index' | 'time'>): NaiveTx => {
        const changes = new Map<string, { received: bigint; sent: bigint }>()
        const of = (script: string) => {
          const change = changes.get(script) ?? { received: 0n, sent: 0n }
          changes.set(script, change)
          return change
        }
        for (const { n, value, scriptPubKey } of tx.vout) {
          outputs.set(`${tx.txid}:${String(n)}`, { script: scriptPubKey.hex, value: baseUnits(value) })
          of(scriptPubKey.hex).received += baseUnits(value)
        }
        for (const { txid, vout } of tx.vin) {
          const spent = txid === undefined ? undefined : outputs.get(`${txid}:${String(vout)}`)
          if (spent !== undefined) of(spent.script).sent += spent.value
        }
        return { txid: tx.txid, ...place, changes, tx }
      }
      all = chain.blocks.flatMap(({ tx, height, time }) =>
        tx.map((each, index) => naive(each, { height, index, time: isoTime(time) })),
      )
      // Parents before children.
      const mempool = await Promise.all(
        txids.map((txid) => callNode<NodeTx>(node, 'getrawtransaction', txid, 2)),
      )
      const known = new Map(mempool.map((tx) => [tx.txid, tx]))
      const add = (tx: NodeTx): void => {
        if (!known.delete(tx.txid)) return
        for (const { txid = '' } of tx.vin) {
          const parent = known.get(txid)
          if (parent !== undefined) add(parent)
        }
        all.push(naive(tx, { height: null, index: null, time: isoTime(entries[tx.txid]?.time ?? 0) }))
      }
      for (const tx of mempool) add(tx)
    }

    /** Returns the transactions of a script. */
    const historyOf = (script: string): NaiveTx[] => all.filter(({ changes }) => changes.has(script))

    /** Returns the scripts of a branch as a wallet with a gap limit finds them, and the index of the last used one. */
    function branchOf(type: string, branch: number): { scripts: string[]; last: number } {
      const scripts: string[] = []
      let last = -1
      for (let index = 0; index <= last + GAP; index++) {
        const script = SCRIPTS[type]!(branch, index).toString('hex')
        scripts.push(script)
        if (historyOf(script).length > 0) last = index
      }
      return { scripts, last }
    }

    /** Computes what all reads of a wallet should answer. */
    function expected(kind: string, types: readonly string[]) {
      const branches = types.flatMap((type) =>
        [0, 1].map((branch) => ({ type, branch, ...branchOf(type, branch) })),
      )
      const used = branches.some(({ last }) => last >= 0)
        ? new Set(branches.filter(({ last }) => last >= 0).map(({ type }) => type))
        : new Set([types[0]])
      const shown = branches.filter(({ type }) => used.has(type))
      const place = new Map(
        shown.flatMap(({ type, branch, scripts }) =>
          scripts.map((script, index) => [script, { type, branch, index }] as const),
        ),
      )
      const ours = [...place.keys()]
      const sums = (scripts: readonly string[], isConfirmed: boolean) => {
        let [received, sent] = [0n, 0n]
        const txids = new Set<string>()
        for (const { changes, height, txid } of all) {
          if ((height !== null) !== isConfirmed) continue
          for (const script of scripts) {
            const change = changes.get(script)
            if (change === undefined) continue
            received += change.received
            sent += change.sent
            txids.add(txid)
          }
        }
        return { received, sent, count: txids.size }
      }
      const totals = (scripts: readonly string[]) => {
        const [confirmed, unconfirmed] = [sums(scripts, true), sums(scripts, false)]
        return {
          balance: String(confirmed.received - confirmed.sent),
          total_received: String(confirmed.received),
          total_sent: String(confirmed.sent),
          unconfirmed: {
            balance_change: String(unconfirmed.received - unconfirmed.sent),
            tx_count: unconfirmed.count,
          },
          tx_count: confirmed.count,
        }
      }
      const addressAt = (script: string) => addressOf(Buffer.from(script, 'hex'), network) ?? null
      const isUsed = (script: string) => historyOf(script).length > 0
      const summary = {
        kind,
        gap_limit: GAP,
        is_complete: true,
        ...totals(ours),
        used_count: ours.filter(isUsed).length,
        unspent_count: ours.reduce((sum, script) => sum + chain.utxos(script).length, 0),
        branches: shown.map(({ type, branch, scripts, last }) => ({
          type,
          branch,
          is_ranged: true,
          derived_count: scripts.length,
          used_count: scripts.filter(isUsed).length,
          last_used_index: last < 0 ? null : last,
          next_unused: {
            index: last + 1,
            address: addressAt(scripts[last + 1]!),
            script_pub_key: scripts[last + 1],
          },
        })),
      }
      const addresses = ours.map((script) => ({
        ...place.get(script)!,
        address: addressAt(script),
        script_pub_key: script,
        is_used: isUsed(script),
        ...totals([script]),
      }))
      const changeOf = ({ changes }: NaiveTx): bigint =>
        ours.reduce(
          (sum, script) => sum + (changes.get(script)?.received ?? 0n) - (changes.get(script)?.sent ?? 0n),
          0n,
        )
      const txs = all
        .filter(({ changes }) => ours.some((script) => changes.has(script)))
        .map((each) => ({
          txid: each.txid,
          block_height: each.height,
          tx_index: each.index,
          value_change: String(changeOf(each)),
          timestamp: each.time,
        }))
      const spent = new Set(
        all.flatMap(({ tx }) => tx.vin.map(({ txid, vout }) => `${String(txid)}:${String(vout)}`)),
      )
      const utxos = all.flatMap(({ tx, height, index }) =>
        tx.vout
          .filter(
            ({ scriptPubKey, n }) => place.has(scriptPubKey.hex) && !spent.has(`${tx.txid}:${String(n)}`),
          )
          .map(({ n, value, scriptPubKey }) => ({
            txid: tx.txid,
            vout: n,
            block_height: height,
            value: String(baseUnits(value)),
            is_coinbase: index === 0,
            ...place.get(scriptPubKey.hex)!,
            address: addressAt(scriptPubKey.hex),
          })),
      )
      return { summary, addresses, txs, utxos }
    }

    const post = (path: string, body: object) =>
      getAnswer(`${pipeline.url}/api/v1${path}`, { 'content-type': 'application/json' }, JSON.stringify(body))

    /** Compares all reads of a wallet with the naive computation. @param withFaces compares other protocols too. */
    async function compare(
      descriptor: string,
      kind: string,
      types: readonly string[],
      withFaces = false,
    ): Promise<ReturnType<typeof expected>> {
      const wanted = expected(kind, types)
      const args = { descriptor, gap_limit: GAP }
      const answer = await post('/wallet', args)
      expect(answer.body).toEqual(wanted.summary)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.tip).toBe(node.chain.tip.hash)
      const addresses = []
      while (addresses.length < wanted.addresses.length) {
        const { body } = await post('/wallet/addresses', { ...args, limit: 40, offset: addresses.length })
        expect(body.total).toBe(wanted.addresses.length)
        expect(body.items.length).toBeGreaterThan(0)
        addresses.push(...body.items)
      }
      expect(addresses).toEqual(wanted.addresses)
      const byPlace = (
        items: readonly {
          block_height: number | null
          tx_index?: number | null
          txid: string
          vout?: number
        }[],
      ) =>
        [...items].sort((one, other) => {
          const [high, low] = [one, other].map(({ block_height: height }) => height ?? 1e9)
          return (
            low! - high! || (other.tx_index ?? 0) - (one.tx_index ?? 0) || (one.txid < other.txid ? -1 : 1)
          )
        })
      const paged = []
      const continued = []
      let cursor: string | null | undefined
      for (let page = 1; cursor !== null; page++) {
        const [byPage, byCursor] = await Promise.all([
          post('/wallet/txs', { ...args, limit: 6, page }),
          post('/wallet/txs', { ...args, limit: 6, ...(cursor === undefined ? {} : { cursor }) }),
        ])
        expect(byPage.body.total).toBe(wanted.txs.length)
        paged.push(...byPage.body.items)
        continued.push(...byCursor.body.items)
        cursor = byCursor.body.next_cursor
      }
      expect(continued).toEqual(paged)
      expect(byPlace(paged)).toEqual(byPlace(wanted.txs))
      // Newest first: unconfirmed ones, then by height and index.
      const order = paged.map(
        ({ block_height: height, tx_index: index }) => (height ?? 1e9) * 1e6 + (index ?? 0),
      )
      expect(order).toEqual([...order].sort((one, other) => other - one))
      const { body: unspent } = await post('/wallet/utxos', { ...args, limit: 500 })
      expect(unspent.total).toBe(wanted.utxos.length)
      const byOutpoint = (items: readonly { txid: string; vout: number }[]) =>
        [...items].sort((one, other) =>
          one.txid === other.txid ? one.vout - other.vout : one.txid < other.txid ? -1 : 1,
        )
      expect(byOutpoint(unspent.items)).toEqual(byOutpoint(wanted.utxos))
      // The other faces have the same figures.
      for (const read of withFaces ? [wallet, walletAddresses, walletTransactions, walletUtxos] : []) {
        const { body } = await post(read.path, args)
        for (const face of faces) {
          const reply = await face.ask(read, { descriptor, gap_limit: String(GAP) })
          expect(reply?.content, `${face.name} ${read.name}`).toEqual(body)
        }
      }
      return wanted
    }

    const coinsTaken = new Set<string>()

    /** Pays scripts from a coin of another owner. */
    function pay(...scripts: Buffer[]): SimTx {
      const young = new Set(chain.blocks.map(({ tx }) => tx[0]!.txid))
      const value = 10_000n
      const [outpoint, coin] = [...chain.coins].find(
        ([at, { value: worth }]) => worth > value * 20n && !coinsTaken.has(at) && !young.has(at.slice(0, 64)),
      )!
      coinsTaken.add(outpoint)
      const [txid = '', vout] = outpoint.split(':')
      return node.chain.pay({
        from: [{ txid, vout: Number(vout) }],
        to: scripts.map((script, at) => ({ value: value + BigInt(at), script })),
        change: Buffer.from(coin.script, 'hex'),
      })
    }

    /** Spends outputs of a transaction, to scripts of the wallet and to another owner. */
    const spend = (tx: SimTx, vouts: readonly number[], ...to: Buffer[]): SimTx =>
      node.chain.pay({
        from: vouts.map((vout) => ({ tx, vout })),
        to: to.map((script) => ({ value: 3_000n, script })),
        change: node.simulation.chain.keyring.ownerOf('p2wpkh').script,
      })

    it('has the figures of a naive computation, through blocks, mempool and reorganisations', async () => {
      if (!isBrief) {
        // Nothing is used: the addresses of the first type.
        const { summary } = await compare(XPUB, 'extended_key', TYPES)
        expect(summary).toMatchObject({ used_count: 0, branches: [{ type: 'p2pkh' }, { type: 'p2pkh' }] })
      }
      if (IS_WHOLE) await compare(MULTISIG, 'descriptor', ['descriptor'])

      const { p2tr: taproot, descriptor: multisig } = SCRIPTS
      // Within the gap, at its end, and beyond it.
      const first = pay(p2wpkh(0, 0), p2wpkh(0, 4), p2wpkh(0, 9), p2wpkh(1, 2), p2wpkh(0, 0))
      const second = pay(multisig!(0, 0), multisig!(0, 1), p2wpkh(0, 15), taproot!(0, 1))
      node.chain.mine({ txs: [first] })
      if (IS_WHOLE) {
        await level()
        await compare(XPUB, 'extended_key', TYPES)
      }
      node.chain.mine({ txs: [second] })
      await level()
      const { summary } = await compare(XPUB, 'extended_key', TYPES)
      expect(summary.branches.map(({ type, branch, last_used_index: last }) => [type, branch, last])).toEqual(
        [
          ['p2wpkh', 0, 9],
          ['p2wpkh', 1, 2],
          ['p2tr', 0, 1],
          ['p2tr', 1, null],
        ],
      )
      await compare(MULTISIG, 'descriptor', ['descriptor'])

      // From one address to another, in the mempool; 14 makes 15 part of the wallet.
      const third = spend(first, [0, 1], p2wpkh(1, 0), p2wpkh(0, 14))
      const fourth = spend(third, [0, 1, 2], p2wpkh(1, 3), multisig!(1, 0))
      for (const tx of [third, fourth]) expect(node.simulation.mempool.accept(tx)).toBeDefined()
      await level()
      const unconfirmed = await compare(XPUB, 'extended_key', TYPES, !isBrief)
      expect(unconfirmed.summary.unconfirmed.tx_count).toBe(2)
      expect(unconfirmed.summary.branches[0]).toMatchObject({ last_used_index: 15, used_count: 5 })
      if (!isBrief) await compare(MULTISIG, 'descriptor', ['descriptor'])

      // Confirmed, and removed again by reorganisations, one of them below the final height.
      node.chain.mine({ txs: [third, fourth] })
      await level()
      if (IS_WHOLE) await compare(XPUB, 'extended_key', TYPES)
      for (const depth of IS_WHOLE ? [2, FINALITY + 3] : [FINALITY + 3]) {
        node.simulation.reorg(depth)
        await level()
        await compare(XPUB, 'extended_key', TYPES)
        if (!isBrief) await compare(MULTISIG, 'descriptor', ['descriptor'])
      }
      if (isBrief) return
      node.simulation.mine({ blocks: 2, txs: 30 })
      await level()
      await compare(XPUB, 'extended_key', TYPES)
    })

    it('lists each script once, whatever branches have it', async () => {
      const plain = `pkh(${keyAt(5, 5).toString('hex')})`
      const tx = pay(SCRIPTS['p2pkh']!(5, 5))
      node.chain.mine({ txs: [tx] })
      await level()
      const single = { descriptor: plain }
      const { body } = await post('/wallet', single)
      expect(body).toMatchObject({
        balance: '10000',
        tx_count: 1,
        branches: [{ is_ranged: false, next_unused: null }],
      })
      const twice = { descriptor: `pkh(${XPUB}/5/5)`, gap_limit: 1 }
      expect((await post('/wallet', twice)).body.balance).toBe('10000')
      expect((await post('/wallet/txs', { descriptor: `combo(${XPUB}/5/5)` })).body.items).toHaveLength(1)
    })

    it('refuses what it cannot derive, without repeating it', async () => {
      const other = HDKey.fromMasterSeed(Buffer.alloc(64, 7), {
        public: MAIN.extendedKey,
        private: 0,
      }).publicExtendedKey
      const secret = ACCOUNT.privateExtendedKey
      for (const [descriptor, text] of [
        [secret, 'exposed'],
        [`wpkh(${secret}/0/*)`, 'exposed'],
        [other, 'another network'],
        [`wpkh(${XPUB}/0/*)#aaaaaaaa`, 'checksum'],
        ['nothing', 'neither'],
        ['x'.repeat(8_001), 'at most 8000 characters'],
      ] as const) {
        for (const read of [wallet, walletTransactions]) {
          const { status, body } = await post(read.path, { descriptor })
          expect(status).toBe(400)
          expect(body.code).toBe('HW_INVALID_ARGUMENT')
          expect(body.error).toContain(text)
          expect(body.error).not.toContain(descriptor.slice(0, 20))
          for (const face of faces)
            expect(await face.ask(read, { descriptor })).toMatchObject({ content: body.error })
        }
      }
      const { body } = await post('/wallet', { descriptor: `wpkh(${XPUB}/0/*)`, type: 'p2tr' })
      expect(body.error).toContain('type is for an extended key')
    })

    const submit = (fields: Record<string, string>, path = '/wallet') =>
      fetch(pipeline.url + path, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: { accept: 'text/html' },
      })

    it('is a page, by a form that is sent in the body', async () => {
      const empty = await fetch(`${pipeline.url}/wallet?descriptor=${XPUB}`, {
        headers: { accept: 'text/html' },
      })
      expect(empty.status).toBe(200)
      const formText = await empty.text()
      expect(formText).toContain('<form class="wallet" method="post" action="/wallet"')
      expect(formText).not.toContain(XPUB)
      const { body: summary } = await post('/wallet', { descriptor: MULTISIG, gap_limit: GAP })
      const { body: unspent } = await post('/wallet/utxos', { descriptor: MULTISIG, gap_limit: GAP })
      for (const path of ['/wallet', '/de/wallet']) {
        const shown = await submit({ descriptor: MULTISIG, type: '', gap_limit: String(GAP) }, path)
        expect(shown.status).toBe(200)
        expect(shown.headers.get('cache-control')).toBe('no-store')
        expect(shown.headers.get('referrer-policy')).toBe('no-referrer')
        const text = await shown.text()
        for (const { next_unused: next } of summary.branches) expect(text).toContain(next.address)
        for (const { txid, vout } of unspent.items)
          expect(text).toContain(`id="u-${String(txid)}-${String(vout)}"`)
        expect(text).toContain('<form class="live" method="post"')
      }
      const secret = ACCOUNT.privateExtendedKey
      const refused = await submit({ descriptor: secret })
      const text = await refused.text()
      expect(text).toContain('exposed')
      expect(text).not.toContain(secret.slice(0, 20))
    })

    it.skipIf(CHROMIUM === undefined || isBrief)('is a page that follows the chain by itself', async () => {
      const browsing = await Browsing.start(pipeline.url)
      try {
        const page = await browsing.open('/wallet')
        await page.fill('textarea[name=descriptor]', MULTISIG)
        await page.fill('input[name=gap_limit]', String(GAP))
        await page.click('form.wallet button')
        await page.waitForSelector('form.live')
        expect(page.url()).toBe(`${pipeline.url}/wallet`)
        await page.waitForSelector('.feed[data-state=live]')
        node.chain.mine({ txs: [pay(SCRIPTS['descriptor']!(0, branchOf('descriptor', 0).last + 1))] })
        await level()
        const { next_unused: next } = (await post('/wallet', { descriptor: MULTISIG, gap_limit: GAP })).body
          .branches[0]
        await page.waitForSelector(`main a[href$="${String(next.address)}"]`)
        await browsing.done(page)
      } finally {
        await browsing.close()
      }
    })

    it.skipIf(isBrief)('leaves no trace of keys in logs, metrics and queries of the database', async () => {
      const spies = (['query', 'bytes'] as const).map((name) => vi.spyOn(Database.prototype, name))
      const secret = ACCOUNT.privateExtendedKey
      const texts = [XPUB, `wpkh(${XPUB}/0/*)`, `wpkh(${XPUB}/0/*`, secret, `${XPUB}x`, `pkh(${secret})`]
      const query = (text: string) =>
        `{ wallet(descriptor: ${JSON.stringify(text)}, no_such: 1) { balance } }`
      const headers = { 'content-type': 'application/json' }
      for (const text of texts) {
        for (const { path } of [wallet, walletUtxos]) await post(path, { descriptor: text, type: text })
        for (const face of faces) await face.ask(wallet, { descriptor: text })
        await submit({ descriptor: text })
        const literal = `{ wallet(descriptor: ${JSON.stringify(text)}) { balance } }`
        for (const document of [query(text), literal, text])
          await fetch(`${pipeline.url}/graphql`, {
            method: 'POST',
            headers,
            body: JSON.stringify({ query: document }),
          })
        await fetch(`${pipeline.url}/api/v1/wallet`, { method: 'POST', body: `{"descriptor": ${text}` })
        // Against the documentation, in a URL.
        for (const path of [
          '/api/v1/wallet?descriptor=',
          '/api/v1/wallet/',
          '/graphql?query=',
          '/wallet?descriptor=',
        ])
          await fetch(`${pipeline.url}${path}${encodeURIComponent(text)}`)
      }
      const metrics = await (await fetch(`${pipeline.url}/metrics`)).text()
      const queries = spies.flatMap(({ mock }) => mock.calls.map((call) => JSON.stringify(call.slice(0, 2))))
      for (const spy of spies) spy.mockRestore()
      // Scripts were looked up by their hashes.
      expect(queries.filter((query) => query.includes('script_txs')).length).toBeGreaterThan(0)
      const everything = [...logged, metrics, ...queries].join('\n')
      for (const key of [XPUB, secret])
        for (let at = 4; at + 12 <= key.length; at += 4)
          expect(everything).not.toContain(key.slice(at, at + 12))
    })

    it('is no part of a URL: GET is refused by REST and GraphQL', async () => {
      expect((await getAnswer(`${pipeline.url}/api/v1/wallet?descriptor=${XPUB}`)).status).toBe(405)
      const query = 'query($key: String!) { wallet(descriptor: $key) { balance } }'
      const params = new URLSearchParams({ query, variables: JSON.stringify({ key: XPUB }) })
      const refused = await fetch(`${pipeline.url}/graphql?${params.toString()}`)
      expect(refused.status).toBe(405)
      expect(await refused.text()).not.toContain(XPUB.slice(0, 20))
      const body = JSON.stringify({ query, variables: { key: XPUB } })
      const headers = { 'content-type': 'application/json' }
      const posted = await fetch(`${pipeline.url}/graphql`, { method: 'POST', headers, body })
      expect(posted.status).toBe(200)
      expect(posted.headers.get('cache-control')).toBe('no-store')
    })
  },
)
