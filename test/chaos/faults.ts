import type { Random } from '../../services/simnode/random.js'
import { DISK_FAULTS } from './disk-faults.js'
import { LOG_FAULTS } from './log-faults.js'
import { NETWORK_FAULTS } from './network-faults.js'
import { PROCESS_FAULTS } from './process-faults.js'
import { lateInsert } from './late-insert.js'
import type { World } from './world.js'

/** Something that happens while the chain goes on. It returns when it is over, or can be left to `World.mend`. */
export interface Fault {
  readonly name: string
  /** What must be there for it to happen; drawn only where it is. */
  readonly needs?: Need
  /** It strikes when the chain's life of the round is over: it says itself what the chain does meanwhile. */
  readonly alone?: boolean
  strike(world: World, random: Random): Promise<void>
}

export type Need = 'broker' | 'log disk' | 'engine disk'

export const FAULTS: readonly Fault[] = [
  ...PROCESS_FAULTS,
  lateInsert,
  ...NETWORK_FAULTS,
  ...LOG_FAULTS,
  ...DISK_FAULTS,
]

/** Which of them can happen here. */
export function possibleFaults({ broker, disks }: World): Fault[] {
  const has: Readonly<Record<Need, boolean>> = {
    broker: broker !== undefined,
    'log disk': disks.log !== undefined,
    'engine disk': disks.engine !== undefined,
  }
  return FAULTS.filter(({ needs }) => needs === undefined || has[needs])
}
