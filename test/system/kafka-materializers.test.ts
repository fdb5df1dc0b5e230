import { AssignerProtocol, Kafka, logLevel } from 'kafkajs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Database } from '../../pipelines/tables/clickhouse.js'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { expectSameRows } from '../harness/clean-index.js'
import { KafkaCluster } from '../harness/kafka.js'
import { WITHOUT_KAFKA } from '../harness/without-kafka.js'
import { getAnswer, Pipeline } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'
import { IS_WHOLE } from '../harness/whole.js'

const SECONDS = Number(process.env['REBALANCE_SECONDS'] ?? 5)
/** The number of changes of the leader. */
const LEADERS = IS_WHOLE ? 3 : 2
/** Rounds in which a materializer freezes. */
const ROUNDS = SECONDS > 60 ? 2 : 1
const FINALITY = 12
const TOPIC = 'headwater.chain'
const GROUP = 'headwater.materializer'

describe.skipIf(WITHOUT_KAFKA !== undefined)('two materializers in one group of Kafka', () => {
  const service: Record<string, ServiceProcess> = {}
  const database = `t_group_${String(process.pid)}`
  let folder = ''
  let cluster: KafkaCluster
  let node: Simnode
  let url = ''
  let env: Record<string, string> = {}
  let admin: ReturnType<Kafka['admin']>
  let db: Database

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-group-'))
    const plan = { id: 1, port: await freePort(), controllerPort: await freePort() }
    // One transaction in 64 has an id that starts like an option.
    const known = { clusterId: '-mCY0yqeq6WNGU9UAQy45Q', plans: [plan] }
    await mkdir(join(folder, 'kafka'))
    await writeFile(join(folder, 'kafka', 'cluster.json'), JSON.stringify(known))
    cluster = await KafkaCluster.start(1, folder)
    admin = new Kafka({
      brokers: cluster.url.replace('kafka://', '').split(','),
      logLevel: logLevel.NOTHING,
    }).admin()
    await admin.connect()
    node = await startSimnode({ seed: 'group', blocks: 40 })
    const port = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    env = {
      DATA_DIR: folder,
      LOG_URL: cluster.url,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: inject('engineUrl'),
      CLICKHOUSE_DATABASE: database,
      EXPLORER_PORT: String(port),
      EXPLORER_GRPC_PORT: '0',
      POLL_INTERVAL_MS: '100',
      FINALITY_DEPTH: String(FINALITY),
      RATE_LIMIT_PER_MINUTE: '0',
    }
    const add = (key: string, name: string): void => {
      service[key] = new ServiceProcess(name, env, join(folder, `${key}.log`)).start()
    }
    db = new Database({ url: inject('engineUrl'), database })
    for (const name of ['poller', 'explorer']) add(name, name)
    for (const key of ['one', 'two']) add(key, 'materializer')
    await shown()
  })
  afterAll(async () => {
    for (const each of Object.values(service)) await each.kill()
    await db.close()
    await node.close()
    await admin.disconnect()
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const control = async (what: string): Promise<void> => {
    const answer = await fetch(new URL(`/control/${what}`, node.url.replace(/\/\/.*@/, '//')), {
      method: 'POST',
    })
    expect(answer.status).toBe(200)
  }

  /** The explorer shows the node's state. */
  async function shown(): Promise<string> {
    const address = new URL('/control/state', node.url.replace(/\/\/.*@/, '//'))
    const state = (await (await fetch(address)).json()) as { hash: string; supply: string; utxoCount: number }
    await until(`the explorer is at ${state.hash}`, async () => {
      const answer = await getAnswer(`${url}/api/v1/stats/supply`)
      if (answer.tip !== state.hash) return false
      expect(answer.body).toMatchObject({ circulatingSupply: state.supply, utxoCount: state.utxoCount })
      return true
    })
    return state.hash
  }

  /** Returns the materializer to which the partition is assigned; undefined while it is assigned to none. */
  async function leader(): Promise<ServiceProcess | undefined> {
    const { groups } = await admin.describeGroups([GROUP])
    const member = groups[0]?.members.find(({ memberAssignment }) => {
      const assigned = AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment[TOPIC]
      return (assigned?.length ?? 0) > 0
    })
    return [service['one'], service['two']].find(
      (each) => member?.clientId.endsWith(`-${String(each?.pid)}`) === true,
    )
  }

  async function highestWritten(): Promise<number> {
    const [row] = await db.query<{ height: number }>('SELECT max(height) AS height FROM blocks')
    return row?.height ?? -1
  }

  /** Compares a database with an index of the node that is built at once. */
  async function expectCleanRows(name: string): Promise<void> {
    const tip = await shown()
    const options = { nodeUrl: node.url, engineUrl: inject('engineUrl'), finalityDepth: FINALITY }
    const clean = await Pipeline.start(options)
    const db = new Database({ url: inject('engineUrl'), database: name })
    try {
      await clean.level({ tip })
      await expectSameRows(db, clean.db)
    } finally {
      await clean.close()
      await db.close()
    }
  }

  it('the other one stands by', async () => {
    const startsOf = async (name: string): Promise<number> =>
      (await readFile(join(folder, `${name}.log`), 'utf8')).split('"materializing"').length
    const [before, after] = await until('one leads for a while', async () => {
      const leads = await leader()
      const other = leads === service['one'] ? 'two' : 'one'
      const starts = await startsOf(other)
      await control('mine?blocks=3')
      await shown()
      // If the roles changed meanwhile, as joining may do, the other one was active before.
      return leads !== undefined && (await leader()) === leads && [starts, await startsOf(other)]
    })
    expect(after).toBe(before)
  })

  it('takes over from one that is frozen, and nothing of that one is visible when it resumes', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const frozen = await until('one leads', leader)
      // In the middle of the blocks: the first of them has rows.
      const before = await highestWritten()
      await control('mine?blocks=8')
      await until('it has begun', async () => (await highestWritten()) > before)
      process.kill(frozen.pid ?? 0, 'SIGSTOP')
      await control('reorg?depth=5')
      await control('mine?blocks=2')
      await shown()
      expect(await leader()).not.toBe(frozen)
      process.kill(frozen.pid ?? 0, 'SIGCONT')
      await control('reorg?depth=2')
      await shown()
      expect(frozen.alive).toBe(true)
    }
  })

  const title = `continue through forced rebalances for ${String(SECONDS)} s, without duplicates`
  it(title, { timeout: SECONDS * 1000 + 600_000 }, async () => {
    const ends = performance.now() + SECONDS * 1000
    let leaders = 0
    let last: ServiceProcess | undefined
    for (let round = 0; performance.now() < ends || leaders < LEADERS; round++) {
      // A member that leaves, with or without notice, and comes back: the group is rebalanced twice.
      const leaving =
        round % 2 === 0 ? await until('one leads', leader) : service[round % 4 === 1 ? 'one' : 'two']
      await Promise.all([
        control(round % 3 === 0 ? 'reorg?depth=4' : 'mine?blocks=2'),
        leaving?.kill(round % 3 === 2 ? 'SIGKILL' : 'SIGTERM'),
      ])
      leaving?.start()
      await control('mine?blocks=1')
      await shown()
      const now = await until('one leads', leader)
      if (now !== last) leaders++
      last = now
    }
    await expectCleanRows(database)
    await until('lag monitors see that all is done', async () => {
      const [offsets] = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] })
      const [end] = await admin.fetchTopicOffsets(TOPIC)
      return offsets?.partitions[0]?.offset === end?.offset
    })
  })
  it.runIf(IS_WHOLE)(
    'a second database is built from the same topic, and both materializers switch over to it',
    async () => {
      const successor = `${database}_next`
      const replay = new ServiceProcess('replay', env, join(folder, 'replay.log'), [
        '--into',
        successor,
      ]).start()
      for (let round = 0; replay.alive; round++) {
        await control(round % 3 === 1 ? 'reorg?depth=3' : 'mine?blocks=1')
        await shown()
      }
      expect(await readFile(join(folder, 'replay.log'), 'utf8')).toContain(`${successor} serves from block`)
      await (await until('one leads', leader)).kill()
      await control('mine?blocks=2')
      await expectCleanRows(successor)
    },
  )
})
