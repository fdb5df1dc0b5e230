import type { Origin } from '../../access/client-address.js'

/** A WebSocket connection of a protocol, at any server. */
export interface PlainSocket {
  /** The chosen protocol; empty if the client offered none that is known. */
  readonly protocol: string
  /** Sends a message. Resolves when the client has room for the next message, or has disconnected. */
  send(text: string): Promise<void>
  /**
   * Sends messages, however many others wait for the client.
   * @returns false if the client has disconnected, or is disconnected because too much waits for it.
   */
  sendAll(texts: readonly string[]): boolean
  close(code: number, reason: string): void
}

/** A WebSocket connection at a server that publishes messages. */
export interface Socket extends PlainSocket {
  /** Adds the connection to the receivers of messages that are published under a name. */
  subscribe(name: string): void
  unsubscribe(name: string): void
}

/** The handlers of a protocol for a connection. */
export interface Session {
  message(text: string, isBinary: boolean): void
  closed(code: number, reason: string): void
}

/** The maximum sizes of a protocol, in bytes. */
export interface SocketSizes {
  /** A longer message of a client closes its connection with status 1009. */
  readonly message: number
  /** The messages that may wait for a client. Beyond this it is disconnected. */
  readonly backlog: number
}

/** A protocol of WebSocket connections. */
export interface SocketProtocol<S extends PlainSocket = Socket> {
  readonly paths: readonly string[]
  /** Returns the protocol to use; empty if none is known. @param offered the header `sec-websocket-protocol`. */
  choose(offered: string): string
  /** Not set: those of the feed. */
  readonly sizes?: SocketSizes
  open(socket: S, origin: Origin): Session
}
