import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { NETWORKS } from '../../pipelines/chain/networks.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { ElectrumClient, type ElectrumMessage } from '../harness/electrum-client.js'
import { callNode, follow } from '../harness/follow-node.js'
import { NaiveChain } from '../harness/naive-chain.js'
import { electrumHash, electrumStatus, unconfirmedByScript } from '../harness/naive-electrum.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const FINALITY = 20
const SCRIPTS = 40
const UNSEEN = 'ff'.repeat(32)

describe.each(['btq-regtest', 'bitcoin-regtest'])('the Electrum protocol on %s', (name) => {
  let node: Simnode
  let pipeline: Pipeline
  const chain = new NaiveChain()

  beforeAll(async () => {
    const network = [...NETWORKS.values()].find((each) => each.name === name)!
    node = await startSimnode({ seed: 'electrum', blocks: 60, txsPerBlock: 5, network })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      finalityDepth: FINALITY,
      explorer: { auditEveryMs: 0, electrumPort: 0 },
    })
    await level()
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  async function level(): Promise<void> {
    await follow(chain, node)
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
  }

  const busiest = (): string[] =>
    [...chain.history]
      .sort(([, one], [, other]) => other.length - one.length)
      .slice(0, SCRIPTS)
      .map(([script]) => script)

  /** A client that knows the statuses of scripts by their hashes. */
  class Wallet {
    readonly known = new Map<string, string | null>()
    readonly tips: { height: number; hex: string }[] = []
    private constructor(readonly client: ElectrumClient) {}

    static async connect(hashes: readonly string[]): Promise<Wallet> {
      const wallet = new Wallet(await ElectrumClient.connect(pipeline.electrumAddress))
      const { client } = wallet
      await client.result('server.version', 'test', ['1.4', '1.6'])
      wallet.tips.push(
        (await client.result('blockchain.headers.subscribe')) as { height: number; hex: string },
      )
      // All lines in one packet.
      const answers = hashes.map(async (hash) =>
        wallet.known.set(
          hash,
          (await client.result('blockchain.scripthash.subscribe', hash)) as string | null,
        ),
      )
      await Promise.all(answers)
      return wallet
    }

    /** Takes the messages that came. @throws for a message that says nothing new. */
    take(): void {
      for (const message of this.client.others.splice(0) as ElectrumMessage[]) {
        const [first, status] = message.params ?? []
        if (message.method === 'blockchain.headers.subscribe') {
          this.tips.push(first as { height: number; hex: string })
          continue
        }
        expect(message.method).toBe('blockchain.scripthash.subscribe')
        expect(this.known.get(first as string), 'an unchanged status').not.toBe(status)
        this.known.set(first as string, status as string | null)
      }
    }
  }

  it('has nothing for a hash that only shares the key in the tables with a script', async () => {
    const [script = ''] = busiest()
    const client = await ElectrumClient.connect(pipeline.electrumAddress)
    const methods = ['subscribe', 'get_history', 'get_balance', 'listunspent']
    const answersOf = async (hash: string): Promise<unknown[]> => {
      const calls = methods.map((method) => [`blockchain.scripthash.${method}`, hash] as const)
      const alone = await Promise.all(calls.map(([method]) => client.result(method, hash)))
      expect(await client.results(calls)).toEqual(alone)
      return alone
    }
    const none = [null, [], { confirmed: 0, unconfirmed: 0 }, []]
    // The last bytes of a script hash are the first of the digest, which are the key.
    const impostor = '00'.repeat(12) + electrumHash(script).slice(24)
    expect(await answersOf(impostor)).toEqual(none)
    expect(await answersOf(electrumHash(script))).not.toContainEqual(null)
    expect(await answersOf(impostor)).toEqual(none)
    client.close()
  })

  it.runIf(IS_WHOLE || name === 'bitcoin-regtest')(
    'keeps subscribers up to date through reorganisations, and agrees with a naive index',
    async () => {
      const scripts = busiest()
      const hashes = [...scripts.map(electrumHash), UNSEEN]
      const wallet = await Wallet.connect(hashes)

      const check = async (each: Wallet): Promise<void> => {
        const mempool = await unconfirmedByScript(chain, node)
        const expected = new Map<string, string | null>([[UNSEEN, null]])
        const requests = []
        const answers: unknown[] = []
        for (const script of scripts) {
          const rows = chain.history.get(script) ?? []
          const unconfirmed = mempool.get(script) ?? []
          expected.set(electrumHash(script), electrumStatus([...rows, ...unconfirmed]))
          const history = [
            ...rows.map(({ txid, height }) => ({ tx_hash: txid, height })),
            ...unconfirmed.map(({ txid, height, fee }) => ({ tx_hash: txid, height, fee })),
          ]
          const change = unconfirmed.reduce((sum, tx) => sum + tx.change, 0n)
          const balance = { confirmed: Number(chain.balance(script)), unconfirmed: Number(change) }
          for (const [method, answer] of [
            ['get_history', history],
            ['get_balance', balance],
          ] as const) {
            requests.push({
              id: `m/${String(requests.length)}`,
              method: `blockchain.scripthash.${method}`,
              params: { scripthash: electrumHash(script) },
            })
            answers.push(answer)
          }
        }
        await until(
          'the statuses are those of a naive index',
          () => {
            each.take()
            return [...expected].every(([hash, status]) => each.known.get(hash) === status)
          },
          60_000,
        )
        const { client } = each
        client.send(`${JSON.stringify(requests)}\n`)
        const batch = await until('the batch is answered', () =>
          client.others.find((one) => Array.isArray(one)),
        )
        client.others.splice(client.others.indexOf(batch), 1)
        const results = new Map(
          (batch as ElectrumMessage[]).map(({ id, result, error }) => [id, error ?? result]),
        )
        for (const [index, answer] of answers.entries())
          expect(results.get(`m/${String(index)}`), JSON.stringify(requests[index])).toEqual(answer)
        await until('the client has the tip', () => {
          each.take()
          return each.tips.at(-1)?.height === node.chain.tip.height
        })
        expect(each.tips.at(-1)?.hex).toBe(await callNode(node, 'getblockheader', node.chain.tip.hash, false))
      }

      await check(wallet)
      for (const depth of [1, 2, FINALITY + 3, 1]) {
        node.simulation.enter(8)
        node.simulation.replace(2)
        await level()
        await check(wallet)
        node.simulation.reorg(depth)
        await level()
        await check(wallet)
        node.simulation.enter(3)
        node.simulation.mine({ blocks: 2 })
        await level()
        await check(wallet)
        const again = await Wallet.connect(hashes)
        await check(again)
        again.client.close()
      }
      node.simulation.tipBack(2)
      await level()
      await check(wallet)
      wallet.client.close()
    },
  )
})

describe('a connection of the Electrum protocol', () => {
  let node: Simnode
  let pipeline: Pipeline

  beforeAll(async () => {
    node = await startSimnode({ seed: 'connection', blocks: 30 })
    const explorer = { auditEveryMs: 0, electrumPort: 0 }
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), explorer })
    await pipeline.level({ tip: node.chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
  })

  it('answers a thousand lines of one packet', async () => {
    const client = await ElectrumClient.connect(pipeline.electrumAddress)
    client.socket.cork()
    const answers = Array.from({ length: 1_000 }, (_, index) =>
      client.result('blockchain.transaction.id_from_pos', index % 30, 0),
    )
    client.socket.uncork()
    const txids = (await Promise.all(answers)) as string[]
    expect(txids[31]).toBe(txids[1])
    expect(new Set(txids).size).toBe(30)
    client.close()
  })

  it('ends after a line of more than a million bytes, with an error', async () => {
    const client = await ElectrumClient.connect(pipeline.electrumAddress)
    client.send('x'.repeat(1_000_001))
    await until('the connection ends', () => client.isClosed)
    expect(client.others).toMatchObject([{ id: null, error: { code: -32_600 } }])
  })

  it('answers a client that has ended its side, and ends then', async () => {
    const client = await ElectrumClient.connect(pipeline.electrumAddress)
    const requests = [7, 8].map((height) =>
      JSON.stringify({ id: height, method: 'blockchain.transaction.id_from_pos', params: [height, 0] }),
    )
    client.socket.end(`${requests.join('\n')}\n{"id":`)
    await until('the connection ends', () => client.isClosed)
    expect(client.others.map((each) => (each as ElectrumMessage).id).sort()).toEqual([7, 8])
  })

  it('does not send transactions unless the operator allows it', async () => {
    const client = await ElectrumClient.connect(pipeline.electrumAddress)
    const { error } = await client.call('blockchain.transaction.broadcast', ['00'])
    expect(error).toMatchObject({ code: 1, message: expect.stringContaining('BROADCAST=true') as string })
    client.close()
  })

  it('is counted no more after its end', async () => {
    const client = await ElectrumClient.connect(pipeline.electrumAddress)
    await client.result('blockchain.scripthash.subscribe', UNSEEN)
    await client.result('blockchain.headers.subscribe')
    client.close()
    await until('the connection is counted no more', async () =>
      (await (await fetch(`${pipeline.url}/metrics`)).text()).includes('headwater_electrum_clients 0'),
    )
  })
})
