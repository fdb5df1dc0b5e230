import { Random } from '../../services/simnode/random.js'
import { PATIENCE_MS } from '../harness/until.js'
import { cleanIndexDifferences, differences, settled } from './agreement.js'
import { CONTROLS, type Control } from './controls.js'
import { ElectrumWallets } from './electrum-wallets.js'
import type { Fault } from './fault.js'
import { possibleFaults } from './faults.js'
import { FeedWatch } from './feed-watch.js'
import { live } from './life.js'
import { StateReader } from './state-reader.js'
import { World, type WorldOptions } from './world.js'

export interface Run extends WorldOptions {
  readonly rounds: number
  /** The names of the faults to make; empty for all that are possible here. */
  readonly only: readonly string[]
  /** Keeps the world of a control too. */
  readonly keep: boolean
  readonly say: (line: string) => void
}

export interface Outcome {
  readonly rounds: number
  /** The differences of the first round that failed; empty if none did. */
  readonly differences: readonly string[]
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
/** The controls that failed to show a difference: their world never agrees with the node. */
const STUCK_SETTLE_MS = 20_000
/** A control may lack messages of the feed, or have a process that does not exit, for good. */
const CONTROL_MS = 10_000
const CLEAN_INDEX_EVERY = 20

/**
 * Runs rounds of one fault each on one world while the chain advances. After each round everything that is visible is
 * compared with the node itself. Stops after the first round that shows a difference, keeps the data folder and
 * prints its path.
 * @throws Error if the world cannot be made, or a fault cannot be caused.
 */
export async function chaos(run: Run): Promise<Outcome> {
  const world = await World.start(run)
  const close = async (keep: boolean): Promise<void> => {
    await world.close(keep)
    if (keep) run.say(world.whatIsLeft)
  }
  const breakOff = (): void => void close(true).finally(() => process.exit(2))
  for (const signal of SIGNALS) process.once(signal, breakOff)
  let round = 0
  // Also after an interruption.
  let keep = true
  try {
    const faults = chosenFaults(run, world)
    sayWhatIsMissing(run, world)
    run.say(`conditions: ${run.conditions.join(', ') || 'none'}`)
    let wrong = (await settled(world)).map((each) => `before the first round ${each}`)
    if (run.control !== undefined && wrong.length > 0) throw new Error(wrong[0])
    const watch = new FeedWatch(
      world.explorerUrl,
      () => world.service('explorer').pid,
      world.node,
      await world.node.state(),
    )
    const reader = new StateReader(world.explorerUrl, world.node)
    world.watch = watch
    await watch.connected()
    const wallets = await ElectrumWallets.start(world)
    while (round < run.rounds && wrong.length === 0) {
      round++
      const fault = faultOfRound(faults, run.seed, round)
      const isLast = round === run.rounds
      wrong = await oneRound(world, { fault, round, reader, watch, wallets, isLast, run })
    }
    await reader.close()
    await watch.close()
    await wallets.close()
    if (reader.compared === 0) wrong.push('no answer was read during the fault')
    if (watch.requested === 0) wrong.push('no object of the feed was requested')
    if (wallets.notified === 0) wrong.push('no message was sent to a client of the Electrum protocol')
    keep = wrong.length > 0 && (run.control === undefined || run.keep)
    return { rounds: round, differences: wrong }
  } finally {
    for (const signal of SIGNALS) process.off(signal, breakOff)
    await close(keep)
  }
}

/** Every fault occurs once before any is repeated, in an order that the seed decides. */
export function faultOfRound(faults: readonly Fault[], seed: number, round: number): Fault {
  const deck = Math.floor((round - 1) / faults.length)
  const random = Random.of('deck', seed, deck)
  const left = [...faults]
  let drawn = left[0]
  for (let draw = 0; draw <= (round - 1) % faults.length; draw++)
    [drawn] = left.splice(random.below(left.length), 1)
  if (drawn === undefined) throw new Error('no fault is possible here')
  return drawn
}

interface Round {
  readonly fault: Fault
  readonly round: number
  readonly watch: FeedWatch
  readonly wallets: ElectrumWallets
  readonly reader: StateReader
  readonly isLast: boolean
  readonly run: Run
}

async function oneRound(
  world: World,
  { fault, round, watch, wallets, reader, isLast, run }: Round,
): Promise<string[]> {
  const from = performance.now()
  const random = (part: string): Random => Random.of(part, run.seed, round)
  const before = {
    received: watch.received,
    requested: watch.requested,
    compared: reader.compared,
    notified: wallets.notified,
  }
  wallets.join(random('wallet'))
  const life = live(world.node, random('life'))
  const struck = (fault.alone === true ? life : Promise.resolve()).then(() =>
    fault.strike(world, random('fault')),
  )
  const ends = await Promise.allSettled([life, struck])
  const broken = ends.flatMap((end) =>
    end.status === 'rejected' ? [`the round was aborted: ${reason(end.reason)}`] : [],
  )
  const died = await world.repair()
  // A control that could not be made was not missed.
  if (run.control !== undefined && broken.length > 0) throw new Error(broken[0])
  const isStuck = run.control === 'duplicates' || run.control === 'repair'
  const unsettled = await settled(world, isStuck ? STUCK_SETTLE_MS : undefined)
  const state = await world.node.wholeState()
  const hashes = await world.node.hashes(state.height)
  const wrong = [...broken, ...unsettled, ...died.map((name) => `${name} died by itself`)]
  // If the index does not reach the node's state, everything differs.
  if (unsettled.length === 0) wrong.push(...(await differences(world, state, hashes, random('sample'))))
  const waitMs = run.control === undefined ? PATIENCE_MS : CONTROL_MS
  if (unsettled.length === 0) wrong.push(...(await watch.missing(state, hashes, waitMs)))
  if (unsettled.length === 0) wrong.push(...(await wallets.differences(waitMs)))
  wrong.push(...watch.faults, ...reader.faults)
  wrong.push(...(await stillRunning(world, waitMs)))
  const isClean = isLast || round % CLEAN_INDEX_EVERY === 0 || run.control !== undefined
  if (isClean && unsettled.length === 0) wrong.push(...(await cleanIndexDifferences(world, state.hash)))
  const seconds = ((performance.now() - from) / 1000).toFixed(1)
  run.say(
    [
      `round ${String(round)} ${fault.name}: ${wrong.length === 0 ? 'ok' : 'WRONG'}, ${seconds} s;`,
      `${String(state.height + 1)} blocks, ${String(Object.keys(state.coins).length)} coins,`,
      `${String(Object.keys(state.balances).length)} balances, ${String(state.pool.length)} in the mempool,`,
      `${String(watch.received - before.received)} events received and ${String(watch.requested - before.requested)} objects requested,`,
      `${String(wallets.notified - before.notified)} messages to a wallet,`,
      `${String(reader.compared - before.compared)} answers read${isClean ? ', a clean index' : ''}`,
    ].join(' '),
  )
  return wrong
}

/** A superseded process exits by itself. */
async function stillRunning(world: World, waitMs: number): Promise<string[]> {
  const left = Promise.all(world.retired.map((each) => each.ended()))
  const late = new Promise<boolean>((resolve) => {
    setTimeout(resolve, waitMs, true).unref()
  })
  if (!(await Promise.race([left.then(() => false), late]))) world.retired = []
  return world.retired
    .filter((each) => each.alive)
    .map(({ name }) => `a ${name} that was superseded still runs`)
}

function chosenFaults({ only, control }: Run, world: World): Fault[] {
  const possible = possibleFaults(world)
  const wanted = control === undefined ? only : namesOf(control)
  const unknown = wanted.find((name) => possible.every((fault) => fault.name !== name))
  if (unknown !== undefined)
    throw new Error(
      `the fault '${unknown}' is not possible here; possible are ${possible.map(({ name }) => name).join(', ')}`,
    )
  return wanted.length === 0 ? possible : possible.filter(({ name }) => wanted.includes(name))
}

function namesOf(control: Control): readonly string[] {
  return CONTROLS[control]
}

function sayWhatIsMissing({ say, log, conditions }: Run, { disks }: World): void {
  if (conditions.includes('slow disk')) say('on a slow disk: full disks are not drawn')
  else if (disks.log === undefined)
    say('NOT TESTED: full disks, because this user may not mount a file system')
  if (log === 'embedded') say('no broker: faults of brokers are not drawn')
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message} (${reason(error.cause)})`
}
