import { cpus } from 'node:os'

/** Conditions of a whole run, in addition to the faults of its rounds. */
export const CONDITIONS = {
  /** Busy loops run beside the processes. */
  'starved processor': { busy: 2 * cpus().length },
  /**
   * Other processes sync writes to the same disk without pause. Such a run fills no disk, because the disks that can
   * be filled are in memory.
   */
  'slow disk': { synced: 4 },
  /** The poller fetches and appends one block at a time. */
  'single records': {},
} as const satisfies Readonly<Record<string, { readonly busy?: number; readonly synced?: number }>>

export type Condition = keyof typeof CONDITIONS

const NAMES = Object.keys(CONDITIONS) as Condition[]

export const isCondition = (name: string): name is Condition => name in CONDITIONS

/**
 * The conditions of a run for which the command line names none: each alone for one of eight consecutive seeds, and
 * all together for one.
 */
export function conditionsOf(seed: number): Condition[] {
  const place = seed % 8
  return place === 0 ? NAMES : NAMES.filter((_, index) => place === 2 * (index + 1))
}
