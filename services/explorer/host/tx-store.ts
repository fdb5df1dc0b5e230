import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Logger } from '../../../pipelines/logger.js'
import { holdFile } from '../../../pipelines/log/embedded/record-file.js'
import { pause } from '../../../pipelines/pause.js'
import { WorkerThread } from '../../../pipelines/worker-thread.js'
import type { State } from '../core/state/state.js'
import type { NearRows } from '../core/tables/near-rows.js'
import type { TxStoreJob, TxStoreProgress, TxStoreSettings, TxStoreThreadData } from './tx-store-settings.js'

/** The pause between two attempts to become the writer, and after an error. */
const RETRY_MS = 5_000
/** The longest wait for a change of the chain. */
const WAIT_MS = 5_000

/** Returns the file of the transaction store in a folder. */
export const txStorePath = (dataDir: string): string => join(dataDir, 'tx-store', 'txs.sqlite')

/**
 * Writes the transaction store of this machine, on a thread. Of several explorers that share the store, and of the processes of each, one
 * writes. It begins when the index is level with the node, so that it takes nothing from a backfill, and then leaves every other
 * moment to requests until the store is level with the log.
 */
export class TxStoreFollower {
  /** The next position of topic `chain`; -1 in a process that does not write the store. */
  next = -1

  constructor(
    private readonly options: TxStoreSettings,
    private readonly parts: {
      readonly state: State
      readonly near: NearRows
      readonly logger: Logger
    },
  ) {}

  /** Runs until the signal aborts. Never rejects: without the store, the database answers. */
  async run(signal: AbortSignal): Promise<void> {
    const { path } = this.options
    const { near, logger } = this.parts
    while (!signal.aborted) {
      let release: (() => void) | undefined
      try {
        mkdirSync(dirname(path), { recursive: true })
        release = holdFile(`${path}.lock`)
        if (release !== undefined) await this.#write(signal)
      } catch (error) {
        logger.warn({ err: error }, 'cannot write the transaction store; the database answers instead')
      } finally {
        release?.()
        this.next = -1
      }
      near.refresh()
      await pause(RETRY_MS, signal)
    }
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { path, settings, maxBytes } = this.options
    const { state, near } = this.parts
    const isLevel = (): boolean => state.ready && state.chain.view?.head.reached === true
    while (!isLevel() && !signal.aborted) await state.until(isLevel, WAIT_MS, signal)
    if (signal.aborted) return
    const workerData: TxStoreThreadData = { path, settings }
    const thread = new WorkerThread<TxStoreJob, TxStoreProgress>('services/explorer/host/tx-store-thread', {
      workerData,
    })
    const stop = (): void => void thread.close()
    signal.addEventListener('abort', stop)
    try {
      while (!signal.aborted) {
        const began = performance.now()
        const { chain } = state
        const progress = await thread.run({ chain: chain.network?.name ?? '', maxBytes })
        this.next = progress.next
        near.refresh()
        // Not for the event in the log, which would take further polling: most reads are of earlier blocks.
        if (progress.isLevel) await state.until(() => state.chain !== chain, WAIT_MS, signal)
        else await pause(performance.now() - began, signal)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      signal.removeEventListener('abort', stop)
      await thread.close()
    }
  }
}
