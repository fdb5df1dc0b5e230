import { address as schema, badArgument } from '../reads/arguments.js'
import { BadArgument } from '../reads/read.js'
import { scriptOf } from '../reads/script.js'
import type { AddressEvent } from '../reads/shapes.js'
import type { State } from '../state/state.js'
import { type FeedMessage, pulled, type Source } from './pull.js'
import type { ScriptFeed } from './script-feed.js'
import { requestedSince } from './streams.js'

/** The maximum number of addresses that a connection subscribes to. */
export const MAX_ADDRESSES = 1_000
/** The number of messages that may wait for a client. Beyond it, it receives resync instead, and continues. */
const MAX_WAITING = 10_000

/** A message about an address. */
export interface AddressMessage extends FeedMessage {
  /** As in the subscription. */
  readonly address: string
  readonly data: AddressEvent | undefined
}

/** The addresses that a client subscribes to. */
export interface AddressRequest {
  readonly addresses: readonly string[]
  /** The position that the client knows. Not set: from now on. */
  readonly since: number | undefined
}

/** Checks the number of addresses that a connection is subscribed to. @throws BadArgument. */
export function assertAddresses(count: number): void {
  if (count > MAX_ADDRESSES)
    throw new BadArgument(
      `a connection subscribes to at most ${MAX_ADDRESSES.toLocaleString('en')} addresses`,
    )
}

/** The changes of scripts for clients that name a script by its address, or as in the path `/address/:address`. */
export class AddressFeed {
  readonly #state: State
  readonly #scripts: ScriptFeed

  constructor(state: State, scripts: ScriptFeed) {
    this.#state = state
    this.#scripts = scripts
  }

  /**
   * Subscribes to an address: first `send` receives what was missed since a position, then an event `synced`, then each change.
   * @param stream an object that all addresses of a client share if the client resumes them at one position.
   * @returns a function that ends the subscription.
   * @throws BadArgument if the address is malformed.
   */
  subscribe(
    address: string,
    since: number | undefined,
    send: (message: AddressMessage) => void,
    stream: object = {},
  ): () => void {
    const script = scriptOf(this.#state, address)?.scriptHash
    if (script === undefined) throw badArgument('address', schema)
    return this.#scripts.subscribe({
      script,
      since,
      stream,
      send: ({ seq, data }) => {
        send({ address, seq, data: data === undefined ? undefined : { address, ...data } })
      },
    })
  }

  /**
   * Subscribes to addresses, and returns their messages as the client takes them: of each address first what it has missed, then
   * `synced`, then changes. Ends when the signal aborts.
   * @throws BadArgument.
   */
  messages({ addresses, since }: AddressRequest, signal: AbortSignal): AsyncGenerator<AddressMessage, void> {
    const from = requestedSince(since)
    const different = new Set(addresses)
    if (different.size === 0) throw new BadArgument('addresses must contain at least one address')
    assertAddresses(different.size)
    const waiting = new Waiting()
    const ends: (() => void)[] = []
    const end = (): void => {
      for (const each of ends.splice(0)) each()
      waiting.wake()
    }
    try {
      for (const address of different)
        ends.push(this.subscribe(address, from, (message) => waiting.add(message), waiting))
    } catch (error) {
      end()
      throw error
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    return untilEnd(pulled(waiting, signal), () => {
      signal.removeEventListener('abort', end)
      end()
    })
  }
}

/** Yields messages, and calls back when the client takes no more of them. */
async function* untilEnd<M>(messages: AsyncGenerator<M, void>, end: () => void): AsyncGenerator<M, void> {
  try {
    yield* messages
  } finally {
    end()
  }
}

/** The messages that wait for a client. */
class Waiting implements Source<AddressMessage> {
  #messages: AddressMessage[] = []
  wake: () => void = () => undefined

  add(message: AddressMessage): void {
    const { seq } = message
    // Each address with waiting messages needs to be read again.
    if (this.#messages.length >= MAX_WAITING)
      this.#messages = [...new Set(this.#messages.map(({ address }) => address))].map((address) => {
        return { address, seq, data: undefined }
      })
    this.#messages.push(message)
    this.wake()
  }

  take(): readonly AddressMessage[] {
    return this.#messages.splice(0)
  }

  changed(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve))
  }
}
