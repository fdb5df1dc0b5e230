import { afterEach, describe, expect, inject, it } from 'vitest'
import { sealTx, type SimTx } from '../../services/simnode/chain/sim-tx.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { getAnswer, Pipeline, type PipelineOptions } from '../harness/pipeline.js'

describe('broadcasting', () => {
  const open: { close(): Promise<void> }[] = []

  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close()
  })

  async function start(explorer: PipelineOptions['explorer'] = { broadcast: true }) {
    const node = await startSimnode({ seed: 'broadcast', blocks: 30, txsPerBlock: 3 })
    const pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    open.push(node, pipeline)
    await pipeline.level({ tip: node.chain.tip.hash })
    const send = async (body: unknown) => {
      const response = await fetch(`${pipeline.url}/api/v1/tx/send`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const { headers, status } = response
      return { headers, status, body: (await response.json()) as Record<string, unknown> }
    }
    return { node, pipeline, send, hex: (tx: SimTx) => ({ hex: tx.raw.toString('hex') }) }
  }

  /** Returns an output of the chain that may be spent now. */
  function coinOf({ chain, simulation }: Simnode) {
    const coin = chain.coins.coins.find(
      (each) => !each.coinbase && each.value > 100_000n && !simulation.mempool.isSpent(each),
    )
    if (coin === undefined) throw new Error('there is no coin to spend')
    return coin
  }

  it('adds a transaction to the mempool, and succeeds again while it is there and once it is confirmed', async () => {
    const { node, pipeline, send, hex } = await start()
    const coin = coinOf(node)
    const tx = node.chain.pay({ from: [coin], to: [], change: coin.script, fee: 5_000n })
    const sent = { status: 200, body: { txid: tx.txid } }
    const first = await send(hex(tx))
    expect(first).toMatchObject(sent)
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect(node.simulation.mempool.get(tx.txid)).toBeDefined()
    expect(await send(hex(tx))).toMatchObject(sent)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: 1 })
    expect((await pipeline.get(`/tx/${tx.txid}/status`)).body).toMatchObject({ confirmed: false })
    node.chain.mine({ txs: [tx] })
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: 0 })
    expect(await send(hex(tx))).toMatchObject(sent)
    // The node does not know a transaction any more whose outputs have all been spent.
    const next = node.chain.pay({ from: [{ tx, vout: 0 }], to: [], change: coin.script, fee: 5_000n })
    node.chain.mine({ txs: [next] })
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: 0 })
    expect(await send(hex(tx))).toMatchObject(sent)
    // With another witness it is the same transaction.
    const other = sealTx({
      ...tx,
      inputs: tx.inputs.map((input) => ({ ...input, witness: [Buffer.from('other')] })),
    })
    expect(other.txid).toBe(tx.txid)
    expect(await send(hex(other))).toMatchObject(sent)
  })

  it('takes the transaction as text, and with white space around it', async () => {
    const { node, pipeline, send } = await start()
    const coin = coinOf(node)
    const tx = node.chain.pay({ from: [coin], to: [], change: coin.script, fee: 5_000n })
    const text = tx.raw.toString('hex')
    const sent = { status: 200, body: { txid: tx.txid } }
    for (const body of [text, ` ${text.toUpperCase()}\r\n`, { hex: `\n ${text}\t\n` }])
      expect(await send(body)).toMatchObject(sent)
    // As curl sends it.
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await fetch(`${pipeline.url}/api/v1/tx/send/`, {
      method: 'POST',
      body: text,
      headers: form,
    })
    expect(await response.json()).toEqual({ txid: tx.txid })
    expect(node.simulation.mempool.get(tx.txid)).toBeDefined()
    const malformed = { status: 400, body: { error: 'hex must be a serialised transaction in hexadecimal' } }
    for (const body of ['00', '123', `${text}00`]) expect(await send(body), body).toMatchObject(malformed)
    expect((await send(`${text} ${text}`)).status).toBe(400)
  })

  it("returns the node's reason for a rejection", async () => {
    const { node, send, hex } = await start()
    const coin = coinOf(node)
    const pay = (fee: bigint, sequence?: number) =>
      node.chain.pay({
        from: [coin],
        to: [],
        change: coin.script,
        fee,
        ...(sequence === undefined ? {} : { sequence }),
      })
    const reasonOf = async (tx: SimTx) => {
      const { status, body } = await send(hex(tx))
      expect([status, body['code']]).toEqual([400, 'HW_TX_REJECTED'])
      return body['error']
    }
    expect(await reasonOf(pay(10n))).toMatch(/^min relay fee not met, 10 < \d+$/)
    expect(await reasonOf(pay(coin.value))).toBe(
      'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)',
    )
    const valid = pay(5_000n, 0xffffffff)
    const input = valid.inputs[0]!
    const unknown = sealTx({ ...valid, inputs: [{ ...input, prevTxid: 'ab'.repeat(32) }] })
    expect(await reasonOf(unknown)).toBe('bad-txns-inputs-missingorspent')
    const twice = sealTx({ ...valid, inputs: [input, input] })
    expect(await reasonOf(twice)).toBe('bad-txns-inputs-duplicate')
    const more = sealTx({ ...valid, outputs: [{ value: coin.value + 1n, script: coin.script }] })
    expect(await reasonOf(more)).toMatch(/^bad-txns-in-belowout, value in \(\d+\.\d{8}\) < value out/)
    const huge = sealTx({ ...valid, outputs: [{ value: 2_100_000_000_000_001n, script: coin.script }] })
    expect(await reasonOf(huge)).toBe('bad-txns-vout-toolarge')
    const bulky = sealTx({
      ...valid,
      outputs: [...valid.outputs, { value: 0n, script: Buffer.alloc(60_000, 0x6a) }],
    })
    expect(await reasonOf(bulky)).toBe('tx-size')
    expect(await reasonOf(sealTx({ ...valid, outputs: [] }))).toBe('bad-txns-vout-empty')
    expect((await send(hex(valid))).status).toBe(200)
    // The first one does not allow its replacement.
    expect(await reasonOf(pay(50_000n))).toBe('txn-mempool-conflict')
  })

  it('replaces a transaction that allows it, at a higher fee only', async () => {
    const { node, send, hex } = await start()
    const coin = coinOf(node)
    const pay = (fee: bigint) => node.chain.pay({ from: [coin], to: [], change: coin.script, fee })
    const first = pay(5_000n)
    expect((await send(hex(first))).status).toBe(200)
    expect((await send(hex(pay(5_001n)))).body['error']).toMatch(/^insufficient fee, rejecting replacement/)
    const second = pay(50_000n)
    expect((await send(hex(second))).status).toBe(200)
    expect(node.simulation.mempool.get(first.txid)).toBeUndefined()
    expect(node.simulation.mempool.get(second.txid)).toBeDefined()
  })

  it('refuses what is no transaction without asking the node', async () => {
    const { node, send } = await start()
    await node.close()
    const malformed = 'hex must be a serialised transaction in hexadecimal'
    for (const hex of [undefined, null, 5, '', '0', 'zz', '00', 'ab'.repeat(100), ['00'], {}]) {
      const { status, body } = await send({ hex })
      expect([status, body], JSON.stringify(hex)).toEqual([
        400,
        { error: malformed, code: 'HW_INVALID_ARGUMENT' },
      ])
    }
    for (const body of ['', '{', '[]', '"00"', 'null'])
      expect(await send(body), body).toMatchObject({
        status: 400,
        body: { error: 'body must be a JSON object, or the transaction in hexadecimal' },
      })
    const large = await send({ hex: 'ab'.repeat(1_100_000) })
    expect([large.status, large.body['code']]).toEqual([413, 'HW_BODY_TOO_LARGE'])
  })

  it('is 503 while the node is unreachable, and works again afterwards', async () => {
    const { node, send, hex } = await start()
    const coin = coinOf(node)
    const tx = node.chain.pay({ from: [coin], to: [], change: coin.script, fee: 5_000n })
    for (const kind of ['503', 'reset', 'truncate'] as const) {
      node.faults.order({ kind, ms: 0, method: 'sendrawtransaction' }, 1)
      expect(await send(hex(tx)), kind).toMatchObject({ status: 503, body: { code: 'HW_NODE_UNAVAILABLE' } })
    }
    expect((await send(hex(tx))).status).toBe(200)
  })

  it('has a limit of its own, beside that of all requests', async () => {
    const { pipeline, send } = await start({
      broadcast: true,
      broadcastRateLimitPerMinute: 2,
      rateLimitPerMinute: 1_000,
    })
    const statuses = []
    for (let count = 0; count < 4; count++) statuses.push((await send({ hex: '00' })).status)
    expect(statuses).toEqual([400, 400, 429, 429])
    expect((await getAnswer(`${pipeline.url}/api/v1/blocks/tip`)).status).toBe(200)
  })

  it('is the 404 of the live service unless it is on', async () => {
    const { send, pipeline } = await start({})
    expect(await send({ hex: '00' })).toMatchObject({
      status: 404,
      body: { error: 'Not Found', message: 'Route POST:/api/v1/tx/send not found', statusCode: 404 },
    })
    expect(pipeline.url).toBeDefined()
  })
})
