import type { Store } from './store.js'

/** Returns the states of all webhooks as lines for the operator. @param now Unix milliseconds. */
export function listing(overview: ReturnType<Store['overview']>, now: number): string {
  const lines = overview.map(({ id, waiting, dead, failures, due, error, disabledUrl }) => {
    const counts = `${id}: ${String(waiting)} waiting, ${String(dead)} given up`
    if (disabledUrl !== '') return `${counts}, disabled because ${disabledUrl} has answered 410`
    if (failures === 0) return counts
    const next = due <= now ? 'now' : `at ${new Date(due).toISOString()}`
    return `${counts}, ${String(failures)} failed attempts (${error}), next ${next}`
  })
  return lines.length === 0 ? 'no webhook was registered yet\n' : `${lines.join('\n')}\n`
}
