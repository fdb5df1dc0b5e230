import { setTimeout as sleep } from 'node:timers/promises'
import { getAnswer } from '../harness/pipeline.js'
import type { SourceNode } from './source-node.js'

const PAUSE_MS = 20

/** Reads without pause and checks that each answer describes one consistent state that the node really had. */
export class StateReader {
  readonly faults: string[] = []
  readonly #running: Promise<void>
  #stopped = false
  /** The number of answers whose state was also read from the node. */
  compared = 0

  constructor(
    private readonly explorerUrl: string,
    private readonly node: SourceNode,
  ) {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const answer = await getAnswer(`${this.explorerUrl}/api/v1/stats/supply`).catch(() => undefined)
      // Two processors are shared with the processes under test.
      await sleep(PAUSE_MS)
      const figures = answer?.status === 200 ? this.node.seen.get(answer.tip) : undefined
      if (answer === undefined || figures === undefined) continue
      this.compared++
      const { circulatingSupply, utxoCount } = answer.body
      if (circulatingSupply === figures.supply && utxoCount === figures.utxoCount) continue
      this.faults.push(
        `at ${String(answer.height)} ${answer.tip} supply ${circulatingSupply} and ${utxoCount} coins were read, the node had ${figures.supply} and ${String(figures.utxoCount)}`,
      )
    }
  }
}
