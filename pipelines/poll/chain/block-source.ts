import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Network } from '../../chain/networks.js'
import type { Logger } from '../../logger.js'
import { backoffMs, NODE_BACKOFF } from '../../node/backoff.js'
import type { NodeClient } from '../../node/client.js'
import { isRpcError, RPC_MISC_ERROR } from '../../node/errors.js'
import type { NodeBlock } from '../../node/replies.js'
import { InvalidBlockError, PrunedNodeError } from '../errors.js'
import type { Sized } from '../fetch-in-order.js'
import { verifiedBlock, type VerifiedBlock } from './verified-block.js'

/** Heights whose hashes are asked for in one request. */
const HASHES_AT_ONCE = 64
/** A block that contradicts itself is asked for this often before the whole poll starts again. */
const ATTEMPTS = 5
/** What an input's prevout takes beside its script. */
const PREVOUT_BYTES = 64

/** Verified blocks by height, for one stretch of the node's chain. */
export class BlockSource {
  readonly #node: NodeClient
  readonly #to: number
  readonly #logger: Logger
  readonly #network: Network
  /** By the lowest height: of the requests at hand. */
  readonly #hashes = new LRUCache<number, Promise<string[]>>({ max: 5 })

  constructor(node: NodeClient, to: number, logger: Logger, network: Network) {
    this.#node = node
    this.#to = to
    this.#logger = logger
    this.#network = network
  }

  /**
   * @throws PrunedNodeError where the node does not keep the block, NodeRpcError -5 or -8 where the node's chain is not any more as it was, BlockFaultError where the node keeps giving
   * a block that contradicts itself.
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
        if (!(error instanceof InvalidBlockError) || attempt === ATTEMPTS) throw error
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
      // Each fetch that awaits it is told; the promise itself has no other listener.
      hashes.catch(() => undefined)
      this.#hashes.set(first, hashes)
    }
    const hash = (await hashes)[height - first]
    if (hash === undefined)
      throw new RangeError(`height ${String(height)} is beyond the range up to ${String(this.#to)}`)
    return hash
  }
}
