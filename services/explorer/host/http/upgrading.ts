import type { Logger } from '../../../../pipelines/logger.js'
import type { UpgradeProgress } from '../../../../pipelines/log/embedded/embedded.js'
import { upgrading } from '../../core/answering/failure.js'
import { type Answer, failureAnswer } from '../../http/answer.js'
import { Server } from './server.js'

/** Answers every request on the explorer's port with 503 while the log of an earlier version is converted, before the start. */
export class UpgradeAnswers {
  #progress: UpgradeProgress = { done: 0, total: 0 }
  #server: Server | undefined
  #listening: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly at: { readonly host: string; readonly port: number; readonly isShared?: boolean },
    private readonly logger: Logger,
  ) {}

  /** Sets the progress to return; starts to listen at the first call. */
  report(progress: UpgradeProgress): void {
    this.#progress = progress
    if (this.#server !== undefined) return
    const server = new Server()
    server.serve({
      answer: () => this.#answer(),
      refusal: () => this.#answer(),
      observe: () => undefined,
      react: () => ({ replies: [] }),
    })
    this.#server = server
    this.#listening = server.listen(this.at.host, this.at.port, this.at.isShared).catch((error: unknown) => {
      this.logger.warn({ err: error }, 'cannot answer during the conversion of the event log')
    })
  }

  /** Closes the server and releases the port. */
  async close(): Promise<void> {
    await this.#listening
    this.#server?.close()
    this.#server = undefined
  }

  #answer(): Answer {
    const { done, total } = this.#progress
    const health = { status: 'degraded', service: 'headwater-explorer' }
    return failureAnswer(upgrading({ recordsConverted: done, recordsTotal: total, ...health }))
  }
}
