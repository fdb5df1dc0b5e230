import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Network } from '../../chain/networks.js'
import type { Logger } from '../../logger.js'
import { backoffMs, NODE_BACKOFF } from '../../node/backoff.js'
import type { NodeClient } from '../../node/client.js'
import { isRpcError, RPC_MISC_ERROR } from '../../node/errors.js'
import type { NodeBlock } from '../../node/replies.js'
import { InvalidBlockError, MissingPrevoutError, NoPrevoutsError, PrunedNodeError } from '../errors.js'
import type { Sized } from '../fetch-in-order.js'
import { verifiedBlock, type VerifiedBlock } from './verified-block.js'

/** The number of block hashes fetched in one request. */
const HASHES_AT_ONCE = 64
/** The number of requests for an inconsistent block before the poll fails. */
const ATTEMPTS = 5
/** The approximate size of a prevout without its script. */
const PREVOUT_BYTES = 64

/** Fetches verified blocks by height, in a range of the node's chain. */
export class BlockSource {
  readonly #node: NodeClient
  readonly #to: number
  readonly #logger: Logger
  readonly #network: Network
  /** Hashes of the latest requests, by the lowest height of each. */
  readonly #hashes = new LRUCache<number, Promise<string[]>>({ max: 5 })

  constructor(node: NodeClient, to: number, logger: Logger, network: Network) {
    this.#node = node
    this.#to = to
    this.#logger = logger
    this.#network = network
  }

  /**
   * Fetches the block at a height.
   * @throws PrunedNodeError if the node has pruned it; NodeRpcError -5 or -8 if the node's chain has changed; InvalidBlockError
   * if the node keeps returning an inconsistent block, NoPrevoutsError if that lacks what its inputs spend.
   */
  async fetch(height: number, signal: AbortSignal): Promise<Sized<VerifiedBlock>> {
    const hash = await this.#hashAt(height, signal)
    for (let attempt = 1; ; attempt++) {
      try {
        const block = verifiedBlock(await this.#block(hash, height, signal), this.#network)
        if (block.hash !== hash)
          throw new InvalidBlockError(hash, `the node returned block ${block.hash} instead`)
        if (block.height !== height)
          throw new InvalidBlockError(hash, `it is at height ${String(block.height)}`)
        const scripts = block.prevouts.reduce((sum, { script }) => sum + script.length + PREVOUT_BYTES, 0)
        return { value: block, bytes: block.raw.length + scripts }
      } catch (error) {
        if (!(error instanceof InvalidBlockError)) throw error
        if (attempt === ATTEMPTS)
          throw error instanceof MissingPrevoutError ? new NoPrevoutsError(hash) : error
        this.#logger.warn({ code: error.code, height, attempt }, `${error.message}; requesting it again`)
      }
      await sleep(backoffMs(NODE_BACKOFF, attempt), undefined, { signal })
    }
  }

  async #block(hash: string, height: number, signal: AbortSignal): Promise<NodeBlock> {
    try {
      return await this.#node.block(hash, signal)
    } catch (error) {
      if (isRpcError(error, RPC_MISC_ERROR) && /pruned/i.test(error.message))
        throw new PrunedNodeError(this.#node.address, height)
      throw error
    }
  }

  async #hashAt(height: number, signal: AbortSignal): Promise<string> {
    const first = height - (height % HASHES_AT_ONCE)
    let hashes = this.#hashes.get(first)
    if (hashes === undefined) {
      const count = Math.min(HASHES_AT_ONCE, this.#to - first + 1)
      hashes = this.#node.blockHashes(first, count, signal)
      // The fetches that await it handle the error.
      hashes.catch(() => undefined)
      this.#hashes.set(first, hashes)
    }
    const hash = (await hashes)[height - first]
    if (hash === undefined)
      throw new RangeError(`height ${String(height)} is beyond the range up to ${String(this.#to)}`)
    return hash
  }
}
