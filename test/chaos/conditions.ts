import { cpus } from 'node:os'

/** What holds for a whole run, beside the faults of its rounds. */
export const CONDITIONS = {
  /** Busy loops beside the processes. */
  'starved processor': { busy: 2 * cpus().length },
  /** Others sync their writes to the same disk without pause. A run on such a disk fills none: those that can be filled are in memory. */
  'slow disk': { synced: 4 },
  /** The poller fetches and appends one block at a time. */
  'single records': {},
} as const satisfies Readonly<Record<string, { readonly busy?: number; readonly synced?: number }>>

export type Condition = keyof typeof CONDITIONS

const NAMES = Object.keys(CONDITIONS) as Condition[]

export const isCondition = (name: string): name is Condition => name in CONDITIONS

/** Those of a run that was not answered any: each alone in one of eight seeds in a row, and all together in one. */
export function conditionsOf(seed: number): Condition[] {
  const place = seed % 8
  return place === 0 ? NAMES : NAMES.filter((_, index) => place === 2 * (index + 1))
}

/** How much longer is waited under them. */
export function patience(conditions: readonly Condition[]): number {
  return conditions.some((each) => each !== 'single records') ? 3 : 1
}
