import { setTimeout as sleep } from 'node:timers/promises'
import { newestWriter } from '../../pipelines/tables/writers.js'
import { latestHead } from '../../pipelines/tables/head.js'
import { until } from '../harness/until.js'
import type { Fault } from './fault.js'
import type { Service, World } from './world.js'

/** Milliseconds until a fault occurs, and until a killed process is started again. */
const MOMENT_MS = 250
/**
 * The longest time for which a process is frozen. If it holds the lock of the embedded log, nothing can be written
 * until it resumes, so it is resumed after this time even if no other process has taken over.
 */
const FROZEN_MS = 3000
/** Kafka gives the lease of a silent member to another one after six seconds. */
const FROZEN_ON_KAFKA_MS = 20_000

const killed = (name: Exclude<Service, 'engine'>): Fault => ({
  name: `${name} killed`,
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    await world.service(name).kill()
    await sleep(random.below(MOMENT_MS))
    world.service(name).start()
  },
})

/** Kills at the exact points between rows, head, announcement and the log's offset. */
const killedAt = (name: string, point: 'rows' | 'head' | 'announcement'): Fault => ({
  name,
  async strike(world) {
    const materializer = world.service('materializer')
    const { args } = materializer
    await materializer.kill()
    materializer.args = [...args, '--crash-at', point]
    materializer.start()
    await world.node.order('mine?blocks=1')
    await until(`the materializer dies at ${point}`, () => !materializer.alive)
    materializer.args = args
    materializer.start()
  },
})

/** Kills while some rows of a block are in their tables and others are not. */
const killedAmidRows: Fault = {
  name: 'materializer killed amid its rows',
  async strike(world, random) {
    const materializer = world.service('materializer')
    const table = random.pick(['block_txs', 'txs', 'spends', 'script_txs', 'scripts', 'op_returns'])
    let kill: Promise<void> | undefined
    world.links.writer.whenSent(`INTO+${table}+`, () => {
      kill = materializer.kill()
    })
    await world.node.order('mine?blocks=1')
    await until(`rows of ${table} are sent`, () => kill !== undefined)
    await kill
    await sleep(random.below(MOMENT_MS))
    materializer.start()
  },
}

const engineKilled: Fault = {
  name: 'engine killed',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    await world.killEngine()
    await world.startEngine()
  },
}

const engineRestarted: Fault = {
  name: 'engine restarted',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    await world.service('engine').kill('SIGTERM')
    await world.startEngine()
  },
}

async function killAll(world: World): Promise<void> {
  const names = ['poller', 'materializer', 'explorer'] as const
  await Promise.all([world.killEngine(), ...names.map((name) => world.service(name).kill())])
  await world.broker?.kill()
  await world.startEngine()
}

function startAll(world: World): void {
  for (const name of ['poller', 'materializer', 'explorer'] as const) world.service(name).start()
}

const allKilled: Fault = {
  name: 'everything killed at once',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    await killAll(world)
    startAll(world)
  },
}

/** The key of each point table, and the rows that name its keys by height. */
const POINT_KEYS = [
  ['txs', 'txid', 'block_txs', 'txid'],
  ['scripts', 'script_hash', 'script_txs', 'script_hash'],
  ['block_heights', 'hash', 'blocks', 'hash'],
] as const

/**
 * The minimum number of blocks whose keys a power cut removes: more than `live` reorganises, so that some of these
 * blocks stay canonical.
 */
const LEAST_LOST = 30

/**
 * Like a kill, but a power cut also loses the newest keys of the point tables, whose write-ahead log is not synced.
 * After a kill the kernel still writes them, so here they are deleted explicitly.
 */
const powerCut: Fault = {
  name: 'power cut',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    await killAll(world)
    const head = await latestHead(world.db)
    const from = String(Math.max(0, (head?.tipHeight ?? 0) - LEAST_LOST - random.below(60)))
    for (const [table, key, rows, column] of POINT_KEYS) {
      const keys = `SELECT ${column} FROM ${rows} WHERE height >= ${from}`
      await world.db.command(`DELETE FROM ${table} WHERE ${key} IN (${keys})`)
    }
    startAll(world)
  },
}

/**
 * Starts a second process while the first one is healthy: the first must exit, and nothing that it writes may be
 * visible from then on.
 */
const secondPoller: Fault = {
  name: 'second poller',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    world.another('poller')
  },
}

const secondMaterializer: Fault = {
  name: 'second materializer',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    const before = await newestWriter(world.db)
    const first = world.service('materializer')
    world.another('materializer')
    // There the new one stands by until the first one exits.
    if (world.broker !== undefined) await first.kill(random.pick(['SIGTERM', 'SIGKILL']))
    await until('it takes over', async () => (await newestWriter(world.db)) > before)
    // The first one notices when it next writes.
    await world.node.order('mine?blocks=1')
  },
}

const frozenMaterializer: Fault = {
  name: 'materializer frozen',
  async strike(world, random) {
    const first = world.service('materializer')
    const before = await newestWriter(world.db)
    if (random.chance(0.5)) {
      // Freezes a materializer that is about to write a head.
      let met = false
      world.links.writer.whenSent('INTO+heads+', () => {
        first.signal('SIGSTOP')
        met = true
      })
      await world.node.order('mine?blocks=1')
      await until('a head is sent', () => met)
    } else {
      await sleep(random.below(MOMENT_MS))
      first.signal('SIGSTOP')
    }
    world.another('materializer')
    const { height } = await world.node.order('mine?blocks=1')
    const isTaken = async (): Promise<boolean> => {
      const head = await latestHead(world.db)
      return (head?.writer ?? 0n) > before && (head?.tipHeight ?? 0) >= height - 1
    }
    const frozenMs = world.broker === undefined ? FROZEN_MS : FROZEN_ON_KAFKA_MS
    await until('another process has taken over', isTaken, frozenMs).catch(() => undefined)
    await sleep(random.below(MOMENT_MS))
    first.signal('SIGCONT')
    await until(
      'another process has taken over in the end',
      async () => (await newestWriter(world.db)) > before,
    )
    await world.node.order('mine?blocks=1')
    // There it stands by from now on, and what it had in flight has been written.
    if (world.broker !== undefined) await first.kill('SIGTERM')
  },
}

const frozenPoller: Fault = {
  name: 'poller frozen',
  async strike(world, random) {
    await sleep(random.below(MOMENT_MS))
    const first = world.service('poller')
    first.signal('SIGSTOP')
    const last = await until('the end of the log can be read', () => world.log.last('chain'))
    world.another('poller')
    const isTaken = async (): Promise<boolean> => (await world.log.last('chain')) > last
    await until('another process has taken over', isTaken, FROZEN_MS).catch(() => undefined)
    await sleep(random.below(MOMENT_MS))
    first.signal('SIGCONT')
  },
}

export const PROCESS_FAULTS: readonly Fault[] = [
  killed('poller'),
  killed('materializer'),
  killed('explorer'),
  engineKilled,
  engineRestarted,
  killedAt('materializer killed at its head', 'rows'),
  killedAt('materializer killed before it announces', 'head'),
  killedAt('materializer killed before it commits', 'announcement'),
  killedAmidRows,
  allKilled,
  powerCut,
  secondMaterializer,
  secondPoller,
  frozenMaterializer,
  frozenPoller,
]
