import type { Random } from '../../services/simnode/random.js'
import { DISK_FAULTS } from './disk-faults.js'
import { LOG_FAULTS } from './log-faults.js'
import { NETWORK_FAULTS } from './network-faults.js'
import { PROCESS_FAULTS } from './process-faults.js'
import { lateInsert } from './late-insert.js'
import type { World } from './world.js'

/** A fault that occurs while the chain advances. It returns when it is over, or leaves the repair to `World.repair`. */
export interface Fault {
  readonly name: string
  /** The requirement of the fault; it is drawn only if that exists. */
  readonly needs?: Need
  /** The fault occurs after the chain's life of the round and decides itself what the chain does meanwhile. */
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

/** The faults that are possible here. */
export function possibleFaults({ broker, disks }: World): Fault[] {
  const has: Readonly<Record<Need, boolean>> = {
    broker: broker !== undefined,
    'log disk': disks.log !== undefined,
    'engine disk': disks.engine !== undefined,
  }
  return FAULTS.filter(({ needs }) => needs === undefined || has[needs])
}
