import { BoundedThread, ContentTooLarge } from '../../../../pipelines/worker-thread.js'
import type { DerivationJob, Derived, Refused } from './derivation.js'

/**
 * Derives scripts on a thread, because a script takes up to some milliseconds. The thread is started by the first job, and ends when it
 * has been idle: an explorer without such requests has none, and no key stays in memory.
 */
const thread = new BoundedThread<DerivationJob, Derived | Refused>(
  'services/explorer/core/wallets/derivation-thread',
  [ContentTooLarge],
)

/** The last job, which others wait for: a job whose answer was cancelled before its turn is not run. */
let last: Promise<unknown> = Promise.resolve()

/**
 * Derives the scripts of a job after those of earlier jobs.
 * @param assertWanted is called at the turn of the job. @throws if the answer was cancelled.
 */
export async function derived(job: DerivationJob, assertWanted: () => void): Promise<Derived | Refused> {
  const turn = last.then(() => {
    assertWanted()
    return thread.run(job)
  })
  last = turn.catch(() => undefined)
  try {
    return await turn
  } catch (error) {
    if (error instanceof ContentTooLarge) return { refused: 'it takes too much time or memory to derive' }
    throw error
  }
}
