import type { Logger } from '../../../../pipelines/logger.js'
import { DefinitionFile } from '../../../process/definition-file.js'
import { Labels, parseLabels } from './labels.js'
import { MiningPools, parseMiningPools } from './mining-pools.js'

export interface DefinitionPaths {
  readonly labels?: string | undefined
  readonly pools?: string | undefined
}

/** The definitions of the operator: labels of addresses and mining pools, as last loaded from their files. */
export class Definitions {
  readonly #labels: DefinitionFile<Labels>
  readonly #pools: DefinitionFile<MiningPools>
  #version = 0

  constructor({ labels, pools }: DefinitionPaths, logger: Logger) {
    const changed = (): void => {
      this.#version++
    }
    this.#labels = new DefinitionFile({
      path: labels,
      empty: new Labels(),
      parse: parseLabels,
      logger,
      changed,
    })
    this.#pools = new DefinitionFile({
      path: pools,
      empty: new MiningPools(),
      parse: parseMiningPools,
      logger,
      changed,
    })
  }

  /** A number that increases whenever one of the files is loaded. */
  get version(): number {
    return this.#version
  }

  get labels(): Labels {
    return this.#labels.value
  }

  get pools(): MiningPools {
    return this.#pools.value
  }

  /** Returns for each file whether its current content was rejected. */
  refused(): readonly { readonly file: 'labels' | 'pools'; readonly isRefused: boolean }[] {
    return [
      { file: 'labels', isRefused: this.#labels.isRefused },
      { file: 'pools', isRefused: this.#pools.isRefused },
    ]
  }

  /** Loads both files, then follows their changes. Resolves after the first attempt. */
  async start(): Promise<void> {
    await Promise.all([this.#labels.start(), this.#pools.start()])
  }

  close(): void {
    this.#labels.close()
    this.#pools.close()
  }
}
