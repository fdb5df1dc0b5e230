import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartRefused, UsageError } from '../../pipelines/errors.js'
import { KafkaClient } from '../../pipelines/log/kafka/client.js'
import type { Logger } from '../../pipelines/logger.js'
import { runService, untilAborted, type ServiceContext } from '../process/lifecycle.js'
import { freePort, isOpen } from '../process/ports.js'
import { Broker, type BrokerPlan } from './broker.js'
import { kafkaLibraries } from './libraries.js'

const RESTART_MS = 1_000
const LOOK_MS = 100
const START_MS = 60_000

await runService('kafka', run, { stopDeadlineMs: 60_000 })

/**
 * Runs Apache Kafka on loopback, in DATA_DIR/kafka, with `--brokers N` brokers (1, or 3 with replication), and restarts
 * brokers that exit. Ports and data persist. Prints the process of each broker, and `ready kafka://…` for LOG_URL.
 */
async function run({ config, logger, signal, args }: ServiceContext): Promise<void> {
  const folder = join(config.dataDir, 'kafka')
  const { clusterId, plans } = await cluster(folder, brokerCount(args))
  const libraries = await kafkaLibraries(join(config.dataDir, 'kafka-libraries'))
  const print = (broker: Broker, { id, port }: BrokerPlan): void => {
    process.stdout.write(`broker ${String(id)} pid ${String(broker.pid)} port ${String(port)}\n`)
  }
  const brokers = plans.map((plan) => {
    const broker: Broker = new Broker({
      plan,
      plans,
      libraries,
      clusterId,
      folder: join(folder, String(plan.id)),
      onExit: () => {
        if (signal.aborted) return
        logger.warn({ broker: plan.id }, 'broker exited, restarting it')
        setTimeout(() => {
          if (signal.aborted) return
          broker.start()
          print(broker, plan)
        }, RESTART_MS)
      },
    })
    return broker
  })
  try {
    await Promise.all(brokers.map((broker) => broker.format()))
    for (const [i, broker] of brokers.entries()) {
      broker.start()
      const plan = plans[i]
      if (plan !== undefined) print(broker, plan)
    }
    await Promise.all(plans.map(({ port }) => untilOpen(port, signal)))
    const addresses = plans.map(({ port }) => `127.0.0.1:${String(port)}`)
    await untilComplete(addresses, logger, signal)
    if (!signal.aborted) process.stdout.write(`ready kafka://${addresses.join(',')}\n`)
    await untilAborted(signal)
  } finally {
    await Promise.all(brokers.map((broker) => broker.stop()))
  }
}

function brokerCount(args: readonly string[]): number {
  const at = args.indexOf('--brokers')
  const value = at < 0 ? '1' : args[at + 1]
  if (value !== '1' && value !== '3') throw new UsageError(`--brokers must be 1 or 3, got '${value ?? ''}'`)
  return Number(value)
}

interface Cluster {
  readonly clusterId: string
  readonly plans: readonly BrokerPlan[]
}

/** Returns the cluster of the last start, or a new one. Ports must not change: each broker stores the ports of all brokers. */
async function cluster(folder: string, count: number): Promise<Cluster> {
  const file = join(folder, 'cluster.json')
  const before = await readFile(file, 'utf8').catch(() => undefined)
  if (before !== undefined) {
    const saved = JSON.parse(before) as Cluster
    if (saved.plans.length !== count)
      throw new StartRefused(
        `${folder} holds a cluster of ${String(saved.plans.length)}; use another DATA_DIR`,
      )
    return saved
  }
  const plans: BrokerPlan[] = []
  for (let id = 1; id <= count; id++)
    plans.push({ id, port: await freePort('127.0.0.1'), controllerPort: await freePort('127.0.0.1') })
  const newCluster = { clusterId: randomBytes(16).toString('base64url'), plans }
  await mkdir(folder, { recursive: true })
  await writeFile(file, JSON.stringify(newCluster))
  return newCluster
}

/** Waits until a broker has opened its port. @throws StartRefused if it does not. */
async function untilOpen(port: number, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + START_MS
  while (!signal.aborted && !(await isOpen({ port, host: '127.0.0.1' }))) {
    if (performance.now() > deadline)
      throw new StartRefused(`the broker on port ${String(port)} did not start: see its broker.log`)
    await sleep(LOOK_MS)
  }
}

/**
 * Waits until all brokers have joined the cluster: a topic created earlier would permanently have fewer replicas.
 * @throws StartRefused if they do not join in time.
 */
async function untilComplete(brokers: readonly string[], logger: Logger, signal: AbortSignal): Promise<void> {
  const { kafka } = new KafkaClient({ brokers, ssl: false, sasl: undefined }, logger)
  const admin = kafka.admin()
  const deadline = performance.now() + START_MS
  try {
    while (!signal.aborted) {
      const there = await admin
        .connect()
        .then(() => admin.describeCluster())
        .catch(() => ({ brokers: [] }))
      if (there.brokers.length === brokers.length) return
      if (performance.now() > deadline)
        throw new StartRefused('the brokers did not form a cluster: see their broker.log')
      await sleep(LOOK_MS)
    }
  } finally {
    await admin.disconnect()
  }
}
