import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Logger } from '../../../pipelines/logger.js'
import { holdFile } from '../../../pipelines/log/embedded/record-file.js'
import { pause } from '../../../pipelines/pause.js'
import { WorkerThread } from '../../../pipelines/worker-thread.js'
import type { ChainState, State } from '../core/state/state.js'
import type { NearRows } from '../core/tables/near-rows.js'
import type { TxStoreJob, TxStoreProgress, TxStoreSettings, TxStoreThreadData } from './tx-store-settings.js'

/** The pause between two attempts to become the writer, and after an error. */
const RETRY_MS = 5_000
/** The maximum heap of the thread, in MB: a block takes some ten times its size. */
const MAX_HEAP_MB = 256
/** The time after which an idle thread ends. */
const IDLE_MS = 10_000

/** Returns the file of the transaction store in a folder. */
export const txStorePath = (dataDir: string): string => join(dataDir, 'tx-store', 'txs.sqlite')

/**
 * Writes the transaction store of this machine, on a thread. Of several explorers that share the store, and of the processes of each, one
 * writes. It begins when the index is level with the node, so that it takes nothing from a backfill, and then leaves every other
 * moment to requests until the store is level with the log.
 */
export class TxStoreFollower {
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
    let reported = ''
    while (!signal.aborted) {
      let release: (() => void) | undefined
      try {
        mkdirSync(dirname(path), { recursive: true })
        release = holdFile(`${path}.lock`)
        if (release !== undefined) await this.#write(signal)
      } catch (error) {
        // Not every few seconds.
        if (String(error) !== reported)
          logger.warn({ err: error }, 'cannot write the transaction store; the database answers instead')
        reported = String(error)
      } finally {
        release?.()
      }
      near.refresh()
      await pause(RETRY_MS, signal)
    }
  }

  /** Writes while this process may, whenever there is a new head. A thread that is idle ends, which frees its memory. */
  async #write(signal: AbortSignal): Promise<void> {
    const { state } = this.parts
    const isLevel = (): boolean => state.ready && state.chain.view?.head.reached === true
    while (!signal.aborted) {
      if (!(await state.until(isLevel, undefined, signal))) return
      const written = await this.#follow(signal)
      await state.until(() => state.chain !== written, undefined, signal)
    }
  }

  /** Writes until the store is level with the log and nothing has happened for a while. @returns the chain at that moment. */
  async #follow(signal: AbortSignal): Promise<ChainState> {
    const { path, settings, maxBytes } = this.options
    const { state, near } = this.parts
    const workerData: TxStoreThreadData = { path, settings }
    const thread = new WorkerThread<TxStoreJob, TxStoreProgress>('services/explorer/host/tx-store-thread', {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 4 },
    })
    const stop = (): void => void thread.close()
    signal.addEventListener('abort', stop)
    try {
      for (;;) {
        const { chain } = state
        const began = performance.now()
        const progress = await thread.run({ chain: chain.network?.name ?? '', maxBytes })
        near.refresh()
        // Not until the next event of the log, which would take further polling: most reads are of earlier blocks.
        if (!progress.isLevel) await pause(performance.now() - began, signal)
        else if (!(await state.until(() => state.chain !== chain, IDLE_MS, signal))) return chain
      }
    } catch (error) {
      if (signal.aborted) return state.chain
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
      await thread.close()
    }
  }
}
