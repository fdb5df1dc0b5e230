import { createRequire } from 'node:module'
import { coded, StartRefused } from '../errors.js'

/** Thrown if the optional package `zeromq` is not installed or has no binary for this machine. */
export class ZmqMissing extends coded('HW_ZMQ_MISSING') {}

/** The frames of a message: topic, body, and the publisher's count of the topic. */
export type ZmqMessage = readonly Buffer[]

export interface ZmqSubscription {
  /** Ends when the subscription is closed. */
  readonly messages: AsyncIterable<ZmqMessage>
  close(): void
}

export interface ZmqObserver {
  connected(): void
  /** Called once per outage, and if the first attempt to connect fails. */
  disconnected(): void
}

/** The part of the package that is used. Its own types are not imported, so that a build does not need the package. */
interface Zeromq {
  readonly Subscriber: new (options: Readonly<Record<string, number>>) => Subscriber
}

interface Subscriber extends AsyncIterable<Buffer[]> {
  readonly events: { on(type: string, listener: () => void): unknown }
  connect(address: string): void
  subscribe(...prefixes: string[]): void
  close(): void
}

/** Milliseconds. Heartbeats detect a publisher whose machine was lost, which TCP alone does not within hours. */
const OPTIONS = {
  reconnectInterval: 250,
  reconnectMaxInterval: 5_000,
  heartbeatInterval: 10_000,
  heartbeatTimeout: 20_000,
  linger: 0,
}

/**
 * Subscribes to topics of a ZMQ publisher. The connection is restored whenever it is lost; messages of that time are lost.
 * @throws ZmqMissing, and StartRefused if the endpoint is invalid.
 */
export function openZmq(
  url: string,
  topics: readonly string[],
  observer: ZmqObserver,
  load: () => unknown = loadPackage,
): ZmqSubscription {
  const { Subscriber } = packageOf(load)
  const socket = new Subscriber(OPTIONS)
  let isDown: boolean | undefined
  socket.events.on('handshake', () => {
    isDown = false
    observer.connected()
  })
  for (const type of ['disconnect', 'connect:retry'])
    socket.events.on(type, () => {
      if (isDown !== true) observer.disconnected()
      isDown = true
    })
  try {
    socket.connect(url)
    socket.subscribe(...topics)
  } catch (error) {
    socket.close()
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartRefused(`NODE_ZMQ_URL must be an endpoint such as tcp://127.0.0.1:28332 (${reason})`)
  }
  return {
    messages: socket,
    close: () => {
      socket.close()
    },
  }
}

const loadPackage = (): unknown => createRequire(import.meta.url)('zeromq')

function packageOf(load: () => unknown): Zeromq {
  try {
    return load() as Zeromq
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
    throw new ZmqMissing(
      `NODE_ZMQ_URL needs the optional package zeromq, which cannot be loaded: run npm install --include=optional (${reason})`,
    )
  }
}
