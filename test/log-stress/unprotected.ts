import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog, Topic } from '../../pipelines/log/port.js'

/** Longer than a writer takes that does not wait for this one. */
const PAUSE_MS = 5

/**
 * The embedded log without mutual exclusion of writers: each reads the last position first and writes later, over
 * what another has written there meanwhile. With two writers of a topic an acknowledged record is lost at once: the
 * control of the stress test.
 */
export async function openUnprotectedLog(folder: string): Promise<EventLog> {
  const log = await openEmbeddedLog(folder)
  const append = async (topic: Topic, values: readonly Uint8Array[]): Promise<number> => {
    const last = await log.last(topic)
    await sleep(PAUSE_MS)
    const db = new DatabaseSync(join(folder, `${topic}.sqlite`), { timeout: 10_000 })
    try {
      db.exec('BEGIN IMMEDIATE')
      const put = db.prepare('INSERT OR REPLACE INTO records VALUES (?, ?, ?)')
      for (const [i, value] of values.entries()) put.run(last + 1 + i, Date.now(), value)
      db.exec('COMMIT')
    } finally {
      db.close()
    }
    return last + values.length
  }
  return new Proxy(log, {
    get: (target, name) => {
      if (name === 'append') return append
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
