import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { WebSocket } from 'ws'
import { electrumHashOf } from '../../pipelines/chain/script.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { ElectrumClient, type ElectrumMessage } from '../harness/electrum-client.js'
import { callNode } from '../harness/follow-node.js'
import type { NodeBlock } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'

/** A client of the Electrum protocol over WebSocket: a message a frame. */
class SocketClient {
  readonly received: (ElectrumMessage | ElectrumMessage[])[] = []
  closedWith: number | undefined

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      this.received.push(JSON.parse(data.toString()) as ElectrumMessage)
    })
    socket.once('close', (code) => (this.closedWith = code))
  }

  static async connect(url: string): Promise<SocketClient> {
    const client = new SocketClient(new WebSocket(`${url.replace('http', 'ws')}/electrum`))
    await once(client.socket, 'open')
    return client
  }

  send(...messages: object[]): void {
    for (const message of messages) this.socket.send(JSON.stringify(message))
  }

  /** Waits until so many messages were received. */
  async messages(count: number): Promise<readonly (ElectrumMessage | ElectrumMessage[])[]> {
    await until('the messages are received', () => this.received.length >= count)
    return this.received
  }
}

describe('the Electrum protocol over WebSocket', () => {
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({ seed: 'electrum socket', blocks: 30 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { auditEveryMs: 0, electrumPort: 0, electrumHosts: { 'a.example': { wss_port: 443 } } },
    })
    await pipeline.level({ tip: node.chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  /** Returns the script hash of the coinbase of the tip. */
  async function minedScript(): Promise<string> {
    const { tx } = await callNode<NodeBlock>(node, 'getblock', node.chain.tip.hash, 2)
    return electrumHashOf(Buffer.from(tx[0]!.vout[0]!.scriptPubKey.hex, 'hex'))
  }

  it('answers as over TCP: alone, in batches, and before the previous answer', async () => {
    const client = await SocketClient.connect(pipeline.url)
    const tcp = await ElectrumClient.connect(pipeline.electrumAddress)
    const hash = await minedScript()
    client.send(
      { id: 1, method: 'server.version', params: ['test', ['1.4', '1.6']] },
      { id: 2, method: 'server.features' },
      { id: 3, method: 'blockchain.scripthash.get_history', params: [hash] },
    )
    const answers = (await client.messages(3)) as readonly ElectrumMessage[]
    const resultOf = (id: number) => answers.find((answer) => answer.id === id)?.result
    expect(resultOf(1)).toEqual(['Headwater (ElectrumX compatible)', '1.6'])
    expect(resultOf(2)).toMatchObject({ hosts: { 'a.example': { wss_port: 443 } } })
    const history = await tcp.result('blockchain.scripthash.get_history', hash)
    expect(resultOf(3)).toEqual(history)
    expect(history).not.toEqual([])
    const batch = [4, 5].map((id) => ({ id, method: 'blockchain.block.header', params: [id] }))
    client.send(batch)
    const [, , , last] = await client.messages(4)
    expect(last).toMatchObject([
      { id: 4, result: await tcp.result('blockchain.block.header', 4) },
      { id: 5, result: await tcp.result('blockchain.block.header', 5) },
    ])
    tcp.close()
    client.socket.close()
  })

  it('sends what clients of each transport have subscribed to, once', async () => {
    const client = await SocketClient.connect(pipeline.url)
    const tcp = await ElectrumClient.connect(pipeline.electrumAddress)
    const hash = await minedScript()
    client.send(
      { id: 1, method: 'blockchain.headers.subscribe' },
      { id: 2, method: 'blockchain.scripthash.subscribe', params: [hash] },
    )
    await client.messages(2)
    await tcp.result('blockchain.scripthash.subscribe', hash)
    node.simulation.tipBack(1)
    node.simulation.mine({ blocks: 2 })
    await pipeline.level({ tip: node.chain.tip.hash })
    const isStatus = (message: ElectrumMessage | readonly ElectrumMessage[]): boolean =>
      'method' in message && message.method === 'blockchain.scripthash.subscribe'
    await until('both have the status', () => client.received.some(isStatus) && tcp.others.some(isStatus))
    await until('the client has the tip', () =>
      client.received.some((each) => 'method' in each && each.method === 'blockchain.headers.subscribe'),
    )
    expect(client.received.filter(isStatus)).toEqual(tcp.others.filter(isStatus))
    tcp.close()
    client.socket.close()
  })

  it('takes messages of a megabyte, and closes after a larger one, and after bytes', async () => {
    const large = await SocketClient.connect(pipeline.url)
    const method = 'blockchain.transaction.broadcast'
    large.send({ id: 1, method, params: ['00'.repeat(490_000)] })
    expect(await large.messages(1)).toMatchObject([{ id: 1, error: { code: 1 } }])
    large.send({ id: 2, method, params: ['00'.repeat(510_000)] })
    await until('it is closed', () => large.closedWith !== undefined)
    expect(large.closedWith).toBe(1009)
    const binary = await SocketClient.connect(pipeline.url)
    binary.socket.send(Buffer.from('{}'))
    await until('it is closed', () => binary.closedWith !== undefined)
    expect(binary.closedWith).toBe(1003)
  })

  it('is counted while it is connected, and refuses what is no WebSocket', async () => {
    const count = async (): Promise<string | undefined> =>
      /headwater_electrum_clients (\d+)/.exec(await (await fetch(`${pipeline.url}/metrics`)).text())?.[1]
    await until('former clients are counted no more', async () => (await count()) === '0')
    const client = await SocketClient.connect(pipeline.url)
    expect(await count()).toBe('1')
    client.socket.close()
    await until('it is counted no more', async () => (await count()) === '0')
    expect((await fetch(`${pipeline.url}/electrum`)).status).toBe(426)
  })
})
