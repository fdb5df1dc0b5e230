import { BadArgument } from '../reads/read.js'
import {
  type AddressFeed,
  type AddressMessage,
  BAD_ADDRESS,
  MAX_ADDRESSES,
  TOO_MANY_ADDRESSES,
} from './address-feed.js'
import { BAD_SINCE, isSeq } from './feed.js'

/** The number of messages that may wait for a client. Beyond it, it receives resync instead, and continues. */
const MAX_WAITING = 10_000

/** The addresses that a client subscribes to. */
export interface AddressRequest {
  readonly addresses: readonly string[]
  /** The position that the client knows. Not set: from now on. */
  readonly since: number | undefined
}

/**
 * Subscribes to addresses, and returns their messages as the client takes them: of each address first what it has missed, then
 * `synced`, then changes. Ends when the signal aborts.
 * @throws BadArgument.
 */
export function addressMessages(
  feed: AddressFeed,
  { addresses, since }: AddressRequest,
  signal: AbortSignal,
): AsyncGenerator<AddressMessage, void> {
  if (since !== undefined && !isSeq(since)) throw new BadArgument(BAD_SINCE)
  const different = new Set(addresses)
  if (different.size === 0) throw new BadArgument('addresses must contain at least one address')
  if (different.size > MAX_ADDRESSES) throw new BadArgument(TOO_MANY_ADDRESSES)
  const waiting = new Waiting()
  const ends: (() => void)[] = []
  const end = (): void => {
    for (const each of ends.splice(0)) each()
    waiting.wake()
  }
  for (const address of different) {
    const one = feed.subscribe(address, since, (message) => waiting.add(message), waiting)
    if (one === undefined) {
      end()
      throw new BadArgument(BAD_ADDRESS)
    }
    ends.push(one)
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  return read(waiting, signal, end)
}

async function* read(
  waiting: Waiting,
  signal: AbortSignal,
  end: () => void,
): AsyncGenerator<AddressMessage, void> {
  try {
    while (!signal.aborted) {
      yield* waiting.take()
      await waiting.more(signal)
    }
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

/** The messages that wait for a client. */
class Waiting {
  #messages: AddressMessage[] = []
  wake: () => void = () => undefined

  add(message: AddressMessage): void {
    const { seq } = message
    // Each address with waiting messages needs to be read again.
    if (this.#messages.length >= MAX_WAITING)
      this.#messages = [...new Set(this.#messages.map(addressOf))].map((address) => {
        return { kind: 'resync', address, seq }
      })
    this.#messages.push(message)
    this.wake()
  }

  take(): readonly AddressMessage[] {
    return this.#messages.splice(0)
  }

  /** Resolves when there are messages, or when the signal aborts and `wake` is called. */
  async more(signal: AbortSignal): Promise<void> {
    while (this.#messages.length === 0 && !signal.aborted)
      await new Promise<void>((resolve) => (this.wake = resolve))
  }
}

/** Returns the address that a message is about. */
export const addressOf = (message: AddressMessage): string =>
  message.kind === 'event' ? message.data.address : message.address
