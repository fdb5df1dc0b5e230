import type { Core } from '../../../core/core.js'
import { blocks, reorgs } from '../../../core/feed/channels.js'
import { tipOf } from '../reads/headers.js'

/** A client that wants the header of each new tip. */
interface Subscriber {
  tipChanged(hash: string, tip: string): void
}

/** The time in which blocks that come one after another are one new tip, and the longest such time. */
const TOGETHER_MS = 10
const LONGEST_MS = 2_000

/** Tells the subscribers of each new tip, also after a reorganisation, when the explorer answers from its state. */
export class HeaderWatch {
  readonly #core: Core
  readonly #onTip: () => void
  readonly #subscribers = new Set<Subscriber>()
  readonly #stop = new AbortController()
  #timer: NodeJS.Timeout | undefined

  /** @param onTip called at each new tip too. */
  constructor(core: Core, onTip: () => void) {
    this.#core = core
    this.#onTip = onTip
  }

  start(): void {
    for (const { name } of [blocks, reorgs])
      this.#follow(name).catch((error: unknown) => {
        this.#core.defect(error, 'electrum headers')
      })
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber)
  }

  remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
  }

  async #follow(channel: typeof blocks.name | typeof reorgs.name): Promise<void> {
    const messages = this.#core.feed.messages(channel, undefined, this.#stop.signal)
    // An event, or the message that some were missed: the tip is that of the state in both cases.
    while ((await messages.next()).done !== true) {
      this.#onTip()
      this.#timer ??= setTimeout(() => {
        this.#tell(performance.now() + LONGEST_MS)
      }, TOGETHER_MS)
    }
  }

  /** Tells the subscribers of the tip, when the next blocks are there if the node has more. */
  #tell(until: number): void {
    const { reader } = this.#core
    const { chain } = reader
    if (reader.isNodeBeyond(chain) && performance.now() < until) {
      this.#timer = setTimeout(() => {
        this.#tell(until)
      }, TOGETHER_MS)
      return
    }
    this.#timer = undefined
    const tip = tipOf(chain)
    if (tip !== undefined) for (const each of this.#subscribers) each.tipChanged(chain.tipHash, tip)
  }
}
