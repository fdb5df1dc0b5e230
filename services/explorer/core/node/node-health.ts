import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDefect } from '../../../../pipelines/errors.js'
import { NodeClient } from '../../../../pipelines/node/client.js'
import { NodeUnavailable } from '../../../../pipelines/node/errors.js'
import type { NodeNetworkInfo, NodeMempoolInfo } from '../../../../pipelines/node/replies.js'
import type { Logger } from '../../../../pipelines/logger.js'

/** The size of the file system of the node's data directory, in bytes. */
export interface DataDir {
  readonly freeBytes: number
  readonly totalBytes: number
}

export interface NodeHealth {
  /** Bytes. */
  readonly blockchainSize: number
  /** The size of its file system; undefined if this machine cannot read it. */
  readonly dataDir: DataDir | undefined
  readonly mempool: NodeMempoolInfo
  readonly network: NodeNetworkInfo
  /** Seconds. */
  readonly uptime: number
}

export interface NodeWatchOptions {
  /** Returns the URL of the node's RPC; undefined if it is not known. */
  readonly locate: () => Promise<string | undefined>
  /** The node's data directory, if it is on this machine. */
  readonly dataDir?: string | undefined
  readonly logger: Logger
}

/** The time for which an answer is reused, so that many clients cause no load on the node. */
const SHARED_MS = 1_000
/**
 * The deadline of all calls together, below the deadline of an answer: a node that connects a block or is short of processor time responds
 * to nothing for seconds. A node that refuses connections is detected at once.
 */
const DEADLINE_MS = 4_500
const STATFS_DEADLINE_MS = 200

/** Requests the health of the node on demand; locates the node again after a failure. */
export class NodeWatch {
  readonly #options: NodeWatchOptions
  #node: { readonly url: string; readonly client: NodeClient } | undefined
  #current: Promise<NodeHealth> | undefined
  #forget: NodeJS.Timeout | undefined

  constructor(options: NodeWatchOptions) {
    this.#options = options
  }

  /** Returns the node's health within five seconds. @throws NodeUnavailable. */
  health(): Promise<NodeHealth> {
    this.#current ??= this.#request().finally(() => {
      this.#forget = setTimeout(() => {
        this.#current = undefined
      }, SHARED_MS).unref()
    })
    return this.#current
  }

  close(): void {
    clearTimeout(this.#forget)
    this.#drop()
  }

  async #request(): Promise<NodeHealth> {
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

  /** Reads the size of the file system; returns undefined if it fails or hangs, as a network mount may. */
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
