import { randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { Store } from '../../services/webhooks/store.js'
import { callNode } from '../harness/follow-node.js'
import { HostileReceiver } from '../harness/hostile-receiver.js'
import { lineOf, NaiveWebhooks, type Watched } from '../harness/naive-webhooks.js'
import type { NodeBlock, NodeTx } from '../harness/node-json.js'
import { Pipeline } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'

const SECRET = `whsec_${randomBytes(32).toString('base64')}`
/** Short pauses: what takes an hour takes seconds here. The last pause is longer than the test; only a receiver that is down reaches it. */
const RETRY_MS = [20, 40, ...Array<number>(40).fill(80), 600_000]
/**
 * Short, and longer than this process, which is also the receiver, is busy with something else or waits for a processor: with 150 ms
 * beside other tests hardly a delivery was in time.
 */
const TIMEOUT_MS = 500
const ARGS = ['--retry-ms', RETRY_MS.join(','), '--timeout-ms', String(TIMEOUT_MS)]

describe('webhooks to a receiver that fails, sleeps and lies', () => {
  let folder: string
  let log: EventLog
  let node: Simnode
  let pipeline: Pipeline
  let receiver: HostileReceiver
  let service: ServiceProcess
  let store: Store
  let env: Record<string, string>
  const naive = new NaiveWebhooks()
  const hooks: Watched[] = []
  const blocks: NodeBlock[] = []

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-webhooks-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    node = await startSimnode({ seed: 'webhooks', blocks: 40, txsPerBlock: 4 })
    pipeline = await Pipeline.start({ nodeUrl: node.url, engineUrl: inject('engineUrl'), log })
    receiver = await HostileReceiver.start(SECRET)
    receiver.always.set('/down', 'error')
    env = {
      DATA_DIR: folder,
      WEBHOOKS_FILE: join(folder, 'webhooks.json'),
      WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8',
    }
    service = new ServiceProcess('webhooks', env, join(folder, 'webhooks.log'), ARGS)
  })
  afterAll(async () => {
    await service.kill()
    store.close()
    receiver.close()
    await pipeline.close()
    await log.close()
    await node.close()
    await rm(folder, { recursive: true })
  })

  /** Brings log and tables level with the node, and notes what follows from the node's own answers. */
  async function level(): Promise<void> {
    await pipeline.level({ tip: node.chain.tip.hash, mempoolSize: node.simulation.mempool.size })
    while (blocks.length > 0 && (await hashAt(blocks.length - 1)) !== blocks.at(-1)?.hash) blocks.pop()
    for (let hash = await hashAt(blocks.length); hash !== null; hash = await hashAt(blocks.length))
      blocks.push(await callNode<NodeBlock>(node, 'getblock', hash, 3))
    const txids = await callNode<string[]>(node, 'getrawmempool')
    const txs = await Promise.all(txids.map((txid) => callNode<NodeTx>(node, 'getrawtransaction', txid, 1)))
    naive.step([...blocks], new Map(txs.map((tx) => [tx.txid, tx])))
  }

  const hashAt = (height: number): Promise<string | null> => callNode(node, 'getblockhash', height)

  async function register(...added: readonly Watched[]): Promise<void> {
    hooks.push(...added)
    for (const hook of added) naive.register(hook)
    const entries = hooks.map(({ id, scripts, txids, minValue, reorgs, confirmations }) => {
      const watched = {
        scripts,
        transactions: txids,
        min_value: minValue?.toString(),
        reorgs,
        confirmations,
      }
      return { id, url: `${receiver.url}/${id}`, secrets: [SECRET], ...watched }
    })
    await writeFile(join(folder, 'new.json'), JSON.stringify(entries))
    await rename(join(folder, 'new.json'), join(folder, 'webhooks.json'))
    if (!service.alive) service.start()
    await until('the hooks are registered', () => {
      store ??= new Store(join(folder, 'webhooks.sqlite'))
      return added.every(({ id }) => store.hook(id) !== undefined)
    })
  }

  /** Damages the log, and waits until it is repaired. */
  async function damage(): Promise<void> {
    await log.append('chain', [Buffer.from('ff00ff', 'hex')])
    node.simulation.mine({ blocks: 1 })
    await until('the log is repaired', async () => {
      await pipeline.poll()
      await pipeline.materialize()
      return (
        pipeline.fold.damage === undefined && (await latestHead(pipeline.db))?.tipHash === node.chain.tip.hash
      )
    })
  }

  /** Returns the scripts that most transactions touch. */
  function busiest(count: number): string[] {
    const counts = new Map<string, number>()
    for (const { scriptPubKey } of blocks.slice(1).flatMap(({ tx }) => tx.flatMap(({ vout }) => vout)))
      if (!scriptPubKey.hex.startsWith('6a'))
        counts.set(scriptPubKey.hex, (counts.get(scriptPubKey.hex) ?? 0) + 1)
    return [...counts]
      .sort(([, one], [, other]) => other - one)
      .slice(0, count)
      .map(([script]) => script)
  }

  const waiting = (only?: string): number =>
    store
      .overview()
      .filter(({ id }) => (only === undefined ? id !== 'down' : id === only))
      .reduce((sum, { waiting: count }) => sum + count, 0)

  it('lose nothing, invent nothing and repeat no event under another id, while processes are killed', async () => {
    await level()
    naive.steps.length = 0
    const none = { scripts: [], txids: [], reorgs: false, confirmations: [1] }
    const scripts = busiest(9)
    await register(
      { ...none, id: 'shop', scripts: scripts.slice(0, 6), confirmations: [0, 1, 3] },
      { ...none, id: 'unconfirmed', scripts: busiest(1000), confirmations: [0] },
      { ...none, id: 'large', minValue: 100_000_000n, confirmations: [2] },
      { ...none, id: 'forks', reorgs: true },
      { ...none, id: 'down', scripts, reorgs: true, confirmations: [1, 2] },
    )
    const { simulation } = node
    const changes: (() => unknown)[] = [
      () => simulation.enter(9),
      () => simulation.mine({ blocks: 1 }),
      () => simulation.mine({ blocks: 3 }),
      () => {
        simulation.enter(9)
        simulation.replace(4)
      },
      () => service.kill(),
      () => simulation.evict(simulation.mempool.size),
      () => simulation.mine({ blocks: 2 }),
      () => simulation.reorg(2, 3),
      () => simulation.mine({ blocks: 1 }),
      () => service.start(),
      () => simulation.reorg(4, 5),
      () => service.kill(),
      () => {
        pipeline.restartPoller()
        pipeline.restartMaterializer()
        simulation.enter(4)
      },
      damage,
      () => service.start(),
      () => simulation.mine({ blocks: 4 }),
      damage,
    ]
    for (const change of changes) {
      await change()
      await level()
    }
    // A transaction is registered after it was sent, and after it was confirmed.
    await until('the service is level', () => store.chain?.tipHash === node.chain.tip.hash)
    simulation.enter(3)
    await level()
    const confirmed = blocks.at(-2)!.tx.at(-1)!.txid
    const [unconfirmed = ''] = await callNode<string[]>(node, 'getrawmempool')
    await until('the mempool is read', () => (store.node ?? -1) >= 0)
    await register({ ...none, id: 'txs', txids: [confirmed, unconfirmed], confirmations: [0, 1, 2, 6] })
    for (const change of [
      () => simulation.mine({ blocks: 1 }),
      () => simulation.reorg(3, 4),
      () => service.kill(),
    ]) {
      await change()
      await level()
    }
    service.start()
    await until('the service is level', () => store.chain?.tipHash === node.chain.tip.hash)
    const expected = naive.steps.flat().filter((line) => !line.startsWith('down '))
    const bodiesOf = (isWanted: (path: string) => boolean): string[] => [
      ...new Map(
        receiver.received.filter(({ path }) => isWanted(path)).map(({ id, body }) => [id, body]),
      ).values(),
    ]
    const isUp = (path: string): boolean => path !== '/down'
    // Not an error here: the comparison below shows what is missing.
    const areAccepted = (): boolean => bodiesOf(isUp).length >= expected.length && waiting() === 0
    await until('the events are accepted', areAccepted).catch(() => undefined)
    const events = bodiesOf(isUp).map(lineOf)
    expect([...events].sort()).toEqual([...expected].sort())
    expect(waiting()).toBe(0)

    // The receiver that was down for all the time comes back, and the operator does not wait for the next attempt.
    const retrying = new ServiceProcess('webhooks', env, join(folder, 'command.log'), ['--retry', 'down'])
    receiver.always.set('/down', 'ok')
    await retrying.start().ended()
    const late = naive.steps.flat().filter((line) => line.startsWith('down '))
    await until(
      'the other events are accepted',
      () => bodiesOf((path) => !isUp(path)).length >= late.length && waiting('down') === 0,
    )
    expect(
      bodiesOf((path) => !isUp(path))
        .map(lineOf)
        .sort(),
    ).toEqual(late.sort())
    const received = receiver.received.filter(({ path }) => isUp(path))
    expect(receiver.refused).toEqual([])
    expect(receiver.received.some(({ path }) => path === '/redirected')).toBe(false)

    const bodies = new Map<string, string>()
    for (const { id, body } of receiver.received) {
      expect(bodies.get(id) ?? body).toBe(body)
      bodies.set(id, body)
    }
    const kinds = new Set(events.map((line) => line.split(' ').slice(0, 2).join(' ')))
    for (const kind of [
      'shop seen',
      'unconfirmed dropped',
      'shop confirmed',
      'shop unconfirmed',
      'forks reorganisation',
    ])
      expect(kinds).toContain(kind)
    for (const kind of [
      'large confirmed',
      'large unconfirmed',
      'txs seen',
      'txs confirmed',
      'txs unconfirmed',
    ])
      expect(kinds).toContain(kind)

    // In the order of the chain for each hook. A line that two steps have is of no use for that.
    const steps = new Map<string, number>()
    const repeated = new Set<string>()
    for (const [index, lines] of naive.steps.entries())
      for (const line of lines) {
        if (steps.has(line)) repeated.add(line)
        steps.set(line, index)
      }
    for (const { id } of hooks) {
      const order = events.filter((line) => line.startsWith(`${id} `) && !repeated.has(line))
      const indexes = order.map((line) => steps.get(line) ?? -1)
      expect(indexes, id).toEqual([...indexes].sort((one, other) => one - other))
    }
    // Every reaction was met, and a failure was followed by the same delivery.
    expect(new Set(received.map(({ reaction }) => reaction)).size).toBe(8)
    for (const [index, { path, id, reaction }] of received.entries()) {
      if (['ok', 'slow', 'huge'].includes(reaction)) continue
      expect(received.slice(index + 1).find((each) => each.path === path)?.id).toBe(id)
    }
  })
})
