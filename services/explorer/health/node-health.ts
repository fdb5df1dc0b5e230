import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { coded, isDefect } from '../../../pipelines/errors.js'
import { NodeClient } from '../../../pipelines/node/client.js'
import type { NodeNetworkInfo, NodeMempoolInfo } from '../../../pipelines/node/replies.js'
import type { Logger } from '../../../pipelines/logger.js'

/** The node does not answer; told to clients as 503. */
export class NodeUnavailable extends coded('HW_NODE_UNAVAILABLE') {}

/** Of the file system that the node's data directory is on; bytes. */
export interface DataDir {
  readonly freeBytes: number
  readonly totalBytes: number
}

export interface NodeHealth {
  /** Bytes. */
  readonly blockchainSize: number
  /** Undefined where it cannot be read from here. */
  readonly dataDir: DataDir | undefined
  readonly mempool: NodeMempoolInfo
  readonly network: NodeNetworkInfo
  /** Seconds. */
  readonly uptime: number
}

export interface NodeWatchOptions {
  /** Where the node's RPC is now; undefined where it is not known. */
  readonly locate: () => Promise<string | undefined>
  /** The node's data directory, where this machine has it. */
  readonly dataDir?: string | undefined
  readonly logger: Logger
}

/** So long an answer is told again: a crowd that asks must not be felt by the node. */
const SHARED_MS = 1_000
/** Of all calls together. */
const DEADLINE_MS = 700
const STATFS_DEADLINE_MS = 200

/** Asks the node how it is, when somebody wants to know; looks for it anew after a failure. */
export class NodeWatch {
  readonly #options: NodeWatchOptions
  #node: { readonly url: string; readonly client: NodeClient } | undefined
  #look: Promise<NodeHealth> | undefined
  #forget: NodeJS.Timeout | undefined

  constructor(options: NodeWatchOptions) {
    this.#options = options
  }

  /** @throws NodeUnavailable, within a second. */
  health(): Promise<NodeHealth> {
    this.#look ??= this.#ask().finally(() => {
      this.#forget = setTimeout(() => {
        this.#look = undefined
      }, SHARED_MS).unref()
    })
    return this.#look
  }

  close(): void {
    clearTimeout(this.#forget)
    this.#drop()
  }

  async #ask(): Promise<NodeHealth> {
    const late = AbortSignal.timeout(DEADLINE_MS)
    try {
      const client = await this.#client()
      const [blockchainSize, mempool, network, uptime, dataDir] = await Promise.all([
        client.chainBytes(late),
        client.mempoolInfo(late),
        client.networkInfo(late),
        client.uptime(late),
        this.#dataDir(),
      ])
      return { blockchainSize, dataDir, mempool, network, uptime }
    } catch (error) {
      this.#drop()
      if (isDefect(error)) throw error
      this.#options.logger.debug({ err: error }, 'the node did not report its health')
      throw new NodeUnavailable('node unreachable', { cause: error })
    }
  }

  async #client(): Promise<NodeClient> {
    if (this.#node !== undefined) return this.#node.client
    const url = await this.#options.locate()
    if (url === undefined) throw new NodeUnavailable('no node was found')
    const client = new NodeClient(url, { timeoutMs: DEADLINE_MS, maxAttempts: 1 })
    this.#node = { url, client }
    return client
  }

  #drop(): void {
    this.#node?.client.close()
    this.#node = undefined
  }

  /** A file system that hangs (a network mount) is one that cannot be read. */
  async #dataDir(): Promise<DataDir | undefined> {
    const { dataDir } = this.#options
    if (dataDir === undefined) return undefined
    const late = sleep(STATFS_DEADLINE_MS, undefined, { ref: false })
    const read = statfs(dataDir).then(
      ({ bavail, blocks, bsize }) => ({ freeBytes: bavail * bsize, totalBytes: blocks * bsize }),
      () => undefined,
    )
    return Promise.race([read, late])
  }
}
