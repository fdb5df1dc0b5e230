import type { Network } from '../../chain/networks.js'
import type { EventLog } from '../../log/port.js'
import { backwards, type Link } from './chain-log.js'
import { LogLostError } from '../errors.js'

/** The minimum number of links kept in memory; lower ones are read from the log. */
const KEEP = 2048

/**
 * The chain of the log. Only its upper end is in memory; lower blocks are read from the log when they are needed, so a fork may
 * be at any depth.
 */
export class OwnChain {
  readonly #log: EventLog
  readonly #network: Network
  /** Links with ascending heights, without gaps; the last one is the tip. */
  #links: Link[]

  constructor(log: EventLog, tip: Link | undefined, network: Network) {
    this.#log = log
    this.#network = network
    this.#links = tip === undefined ? [] : [tip]
  }

  get tip(): Link | undefined {
    return this.#links.at(-1)
  }

  /** Height of the tip, -1 for an empty chain. */
  get height(): number {
    return this.tip?.height ?? -1
  }

  /** Returns the link at a height. @throws RangeError for a height outside of the chain; LogLostError if the log has lost it. */
  async at(height: number): Promise<Link> {
    const lowest = this.#links[0]
    if (lowest === undefined || height < 0 || height > this.height) {
      throw new RangeError(`the log's chain has no block ${String(height)}`)
    }
    if (height < lowest.height) await this.#readBack(lowest, height)
    const base = this.#links[0]?.height ?? 0
    const link = this.#links[height - base]
    if (link === undefined) throw new Error(`block ${String(height)} was read back, but is not there`)
    return link
  }

  push(link: Link): void {
    if (link.height !== this.height + 1)
      throw new Error(`block ${String(link.height)} does not follow ${String(this.height)}`)
    this.#links.push(link)
    if (this.#links.length > 2 * KEEP) this.#links = this.#links.slice(-KEEP)
  }

  /** Removes the tip. Its parent must have been read before, so that the new tip is in memory. */
  pop(): void {
    const tip = this.#links.pop()
    if (tip !== undefined && tip.height > 0 && this.#links.length === 0) {
      throw new Error('the parent of the disconnected block is not known')
    }
  }

  async #readBack(lowest: Link, height: number): Promise<void> {
    const links: Link[] = []
    let hash = lowest.prevHash
    for await (const note of backwards(this.#log, lowest.position - 1, this.#network)) {
      if (note.kind !== 'connect' || note.link.hash !== hash) continue
      links.push(note.link)
      hash = note.link.prevHash
      if (note.link.height <= height) break
    }
    if (links.at(-1)?.height !== height)
      throw new LogLostError(`the log has lost block ${hash}, below ${String(lowest.height)}`)
    this.#links = [...links.reverse(), ...this.#links]
  }
}
