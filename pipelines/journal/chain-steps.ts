import type { BlockConnected } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { sumOf } from '../chain/amount.js'
import { readBlock } from '../chain/block.js'
import { hexOf } from '../chain/hash.js'
import type { Network } from '../chain/networks.js'
import { decodeChainEvent } from '../events/chain-event.js'
import type { EventLog, LogRecord } from '../log/port.js'
import { batchesBack, recordsOf } from '../log/records.js'
import { isAfter, type Written } from '../log/written.js'
import { LeanTx } from '../mempool/lean-tx.js'

/** A block with its transactions, without the coinbase. */
export interface MinedBlock {
  readonly height: number
  readonly hash: string
  readonly txs: readonly LeanTx[]
}

/** A change of the chain; `broken` if the log does not show it: an invalid event, or an epoch that repairs the log. */
export type ChainStep =
  | {
      readonly kind: 'connected' | 'disconnected'
      readonly block: MinedBlock
      /** Time at which the event was appended to the log, in Unix milliseconds. */
      readonly time: number
      readonly position: number
    }
  | { readonly kind: 'broken' }

/** The number of events that are read at once: blocks are large. */
const AT_ONCE = 4
/** The number of events in which a disconnected block is looked for. */
const MAX_SEARCHED = 1_000

/** Reads the changes of the chain that a mempool has to follow. They are few, and near the end of the log. */
export class ChainSteps {
  readonly #log: EventLog
  readonly #network: Network
  #last: Written = { epoch: -1, sequence: -1n }
  #tip = ''

  constructor(log: EventLog, network: Network) {
    this.#log = log
    this.#network = network
  }

  /** Hash of the tip after the last change; empty if it is not known. */
  get tip(): string {
    return this.#tip
  }

  /** Continues after an offset of topic `chain`, whatever has happened up to there. */
  async skipTo(offset: number): Promise<void> {
    this.#last = { epoch: -1, sequence: -1n }
    this.#tip = ''
    const options = { atOnce: AT_ONCE }
    for await (const batch of batchesBack(this.#log, 'chain', offset, decoded, options)) {
      for (const event of batch) this.#takes(event)
      if (this.#tip !== '') return
    }
  }

  /** Yields the changes between two offsets, both inclusive, which follow the last ones. */
  async *between(from: number, to: number): AsyncGenerator<ChainStep> {
    for await (const record of recordsOf(this.#log, 'chain', from, to, AT_ONCE)) {
      const event = decoded(record)
      if (event === undefined) yield { kind: 'broken' }
      else if (this.#takes(event)) yield* this.#stepsOf(event, record)
    }
  }

  /** Counts an event, unless it is of a superseded poller or a duplicate. */
  #takes(event: ChainEvent): boolean {
    if (!isAfter(event, this.#last)) return false
    this.#last = { epoch: event.epoch, sequence: event.sequence }
    const { event: change } = event
    if (change.case === 'blockConnected') this.#tip = hexOf(change.value.hash)
    if (change.case === 'blockDisconnected') this.#tip = hexOf(change.value.prevHash)
    if (change.case === 'epochStarted' && change.value.resume !== undefined)
      this.#tip = hexOf(change.value.resume.hash)
    return true
  }

  async *#stepsOf({ event: change }: ChainEvent, record: LogRecord): AsyncGenerator<ChainStep> {
    const { time, position } = record
    const step = (kind: 'connected' | 'disconnected', block: MinedBlock | undefined): ChainStep =>
      block === undefined ? { kind: 'broken' } : { kind, block, time, position }
    if (change.case === 'epochStarted' && change.value.resume !== undefined) yield { kind: 'broken' }
    if (change.case === 'blockConnected') yield step('connected', this.#mined(change.value, time))
    if (change.case === 'blockDisconnected')
      yield step('disconnected', await this.#connectedBefore(hexOf(change.value.hash), position))
  }

  async #connectedBefore(hash: string, position: number): Promise<MinedBlock | undefined> {
    const find = (record: LogRecord): MinedBlock | undefined => {
      const change = decoded(record)?.event
      const isWanted = change?.case === 'blockConnected' && hexOf(change.value.hash) === hash
      return isWanted ? this.#mined(change.value, record.time) : undefined
    }
    const options = { atOnce: AT_ONCE, downTo: position - MAX_SEARCHED }
    for await (const found of batchesBack(this.#log, 'chain', position - 1, find, options)) {
      const block = found.at(-1)
      if (block !== undefined) return block
    }
    return undefined
  }

  #mined({ height, hash, raw, prevouts }: BlockConnected, time: number): MinedBlock | undefined {
    try {
      const firstSeen = Math.floor(time / 1000)
      let spent = 0
      const txs = readBlock(raw).txs.flatMap((tx) => {
        if (tx.isCoinbase) return []
        const coins = prevouts.slice(spent, (spent += tx.inputs.length))
        return new LeanTx(tx, { fee: sumOf(coins) - sumOf(tx.outputs), firstSeen }, this.#network)
      })
      return spent === prevouts.length ? { height, hash: hexOf(hash), txs } : undefined
    } catch (error) {
      if (error instanceof RangeError) return undefined
      throw error
    }
  }
}

type ChainEvent = ReturnType<typeof decodeChainEvent>

/** Decodes a record; undefined for an invalid one, which the materializer reports. */
function decoded({ value }: LogRecord): ChainEvent | undefined {
  try {
    return decodeChainEvent(value)
  } catch {
    return undefined
  }
}
