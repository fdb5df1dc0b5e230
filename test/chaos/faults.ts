import type { Fault, Need } from './fault.js'
import { DISK_FAULTS } from './disk-faults.js'
import { LOG_FAULTS } from './log-faults.js'
import { NETWORK_FAULTS } from './network-faults.js'
import { PROCESS_FAULTS } from './process-faults.js'
import { lateInsert } from './late-insert.js'
import type { World } from './world.js'

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
