import { LRUCache } from 'lru-cache'
import { hexOf } from '../../../pipelines/chain/hash.js'
import type { Network } from '../../../pipelines/chain/networks.js'
import { isoTime } from '../../../pipelines/chain/time.js'
import { decodeChainEvent } from '../../../pipelines/events/chain-event.js'
import { offsetOf, positionOf } from '../../../pipelines/events/positions.js'
import type { EventLog, LogRecord } from '../../../pipelines/log/port.js'
import { batchesBack } from '../../../pipelines/log/records.js'
import { decodeBlock } from '../../../pipelines/materialize/apply/decode.js'
import { MAX_CONFIRMATIONS } from '../hooks.js'
import type { HookSet, Match } from './matching.js'
import type { Store, StoredBlock } from '../store.js'

/** The transactions of a block that hooks watch. */
export interface BlockMatches {
  /** Time of the block's header, ISO 8601. */
  readonly time: string
  readonly matches: readonly Match[]
}

/** A block that an event of the log has connected. */
interface Connection extends StoredBlock {
  readonly prevHash: string
}

/** The number of records read at once when reading backwards: each may be a block. */
const CHUNK = 32

/**
 * Yields the blocks of a chain from its tip down, by the events that connected them last.
 * @param from the position from which on the log is read backwards.
 */
export async function* blocksBack(log: EventLog, from: number, tipHash: string): AsyncGenerator<StoredBlock> {
  let wanted = tipHash
  for await (const batch of batchesBack(log, 'chain', from, connectionIn, { atOnce: CHUNK }))
    for (const { prevHash, ...block } of batch.reverse()) {
      if (block.hash !== wanted) continue
      yield block
      wanted = prevHash
    }
}

/** Returns the block that a record connects; undefined for all other records, and for damaged ones. */
function connectionIn({ position, time, value }: LogRecord): Connection | undefined {
  try {
    const { generation, event } = decodeChainEvent(value)
    if (event.case !== 'blockConnected') return undefined
    const { height, hash, prevHash } = event.value
    return {
      height,
      hash: hexOf(hash),
      prevHash: hexOf(prevHash),
      position: positionOf(generation, position),
      time,
    }
  } catch {
    return undefined
  }
}

/** Finds what hooks watch in blocks of the log. The matches of the newest blocks are kept: they are read once per confirmation. */
export class Blocks {
  readonly #known = new LRUCache<string, BlockMatches>({ max: MAX_CONFIRMATIONS + 16 })

  constructor(
    private readonly parts: { readonly log: EventLog; readonly store: Store; readonly network: Network },
    private readonly hooks: HookSet,
  ) {}

  /** Returns the matches of a block of the chain at the cursor, or above it. @throws Error if the log does not contain the block. */
  async matchesIn(block: StoredBlock): Promise<BlockMatches> {
    const known = this.#known.get(block.hash)
    if (known !== undefined) return known
    const found = (await this.#read(block)) ?? (await this.#read(await this.#located(block)))
    if (found === undefined) throw new Error(`block ${block.hash} cannot be read from the log`)
    this.#known.set(block.hash, found)
    return found
  }

  /** Returns the matches of a block; undefined if the log does not contain it at its position. */
  async #read({ hash, position }: StoredBlock): Promise<BlockMatches | undefined> {
    const offset = offsetOf(position)
    if (offset < 0) return undefined
    const [record] = await this.parts.log.read('chain', offset, 1)
    if (record?.position !== offset) return undefined
    const { event } = decodeChainEvent(record.value)
    if (event.case !== 'blockConnected' || hexOf(event.value.hash) !== hash) return undefined
    const { header, txs, prevouts } = decodeBlock(offset, event.value, this.parts.network)
    return { time: isoTime(header.time), matches: this.hooks.inBlock(txs, prevouts) }
  }

  /** Finds a block in a log that has replaced the one that had it at its position. */
  async #located(block: StoredBlock): Promise<StoredBlock> {
    const { log, store } = this.parts
    for await (const found of batchesBack(log, 'chain', await log.last('chain'), connectionIn, {
      atOnce: CHUNK,
    })) {
      const connection = found.find(({ hash }) => hash === block.hash)
      if (connection === undefined) continue
      const { height, hash, position, time } = connection
      store.write(() => {
        if (store.block(height)?.hash === hash) store.putBlock({ height, hash, position, time })
      })
      return connection
    }
    throw new Error(`the log no longer contains block ${block.hash}`)
  }
}
