import { setTimeout as sleep } from 'node:timers/promises'
import type { Disk } from './disk.js'
import type { Fault, Need } from './fault.js'
import type { World } from './world.js'

const FULL_MS = 1500
/** Longer than an engine takes to exit after it lost a write. */
const NOTICED_MS = 1200

/** Fills the disk of the next writes, then frees it. */
const full = (what: string, needs: Need, diskOf: (world: World) => Disk | undefined): Fault => ({
  name: `disk of the ${what} full`,
  needs,
  async strike(world, random) {
    await sleep(random.below(200))
    diskOf(world)?.fill(random.below(200_000))
    await sleep(FULL_MS)
    diskOf(world)?.free()
    await sleep(NOTICED_MS)
    // As its supervisor would.
    if (!world.service('engine').alive) await world.startEngine()
  },
})

export const DISK_FAULTS: readonly Fault[] = [
  full('log', 'log disk', ({ disks }) => disks.log),
  full('engine', 'engine disk', ({ disks }) => disks.engine),
]
