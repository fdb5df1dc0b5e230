/** A WebSocket connection of a protocol. */
export interface Socket {
  /** The chosen protocol; empty if the client offered none that is known. */
  readonly protocol: string
  /** Sends a message. Resolves when the client has room for the next one, or has disconnected. */
  send(text: string): Promise<void>
  close(code: number, reason: string): void
}

/** The handlers of a protocol for a connection. */
export interface Session {
  message(text: string): void
  closed(code: number, reason: string): void
}

/** A protocol of WebSocket connections at a path, besides that of the feed. */
export interface SocketProtocol {
  readonly path: string
  /** Returns the protocol to use; empty if none is known. @param offered the header `sec-websocket-protocol`. */
  choose(offered: string): string
  open(socket: Socket): Session
}
