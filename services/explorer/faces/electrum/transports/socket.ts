import type { Origin } from '../../../../access/client-address.js'
import type { Session as SocketSession, Socket } from '../../../http/sockets.js'
import { Inbox } from './inbox.js'
import { MAX_MESSAGE_BYTES, Session, type Shared } from '../session.js'

/** The characters of messages that may wait to be answered: a WebSocket client cannot be paused. */
const MAX_WAITING = 4 * MAX_MESSAGE_BYTES
const NORMAL = 1000
const UNSUPPORTED_DATA = 1003
const POLICY_VIOLATION = 1008

/** Returns the session of a WebSocket client: one message a text frame. */
export function socketSession(socket: Socket, origin: Origin, shared: Shared): SocketSession {
  let isOpen = true
  const session = new Session(shared, {
    origin,
    answer: (message) => socket.send(message),
    send: (message) => {
      socket.sendAll([message])
    },
    end: () => {
      socket.close(NORMAL, '')
    },
  })
  const onDefect = (error: unknown): void => {
    shared.core.defect(error, 'electrum socket')
  }
  // An answer is in progress until the client has room for the next one.
  const inbox = new Inbox(session, () => isOpen, onDefect)
  const pump = (): void => {
    inbox.pump(pump)
  }
  return {
    message: (text, isBinary) => {
      if (isBinary) {
        socket.close(UNSUPPORTED_DATA, 'messages must be text')
        return
      }
      inbox.add(text)
      pump()
      if (inbox.waiting > MAX_WAITING)
        socket.close(POLICY_VIOLATION, 'too many messages wait for their answers')
    },
    closed: () => {
      isOpen = false
      inbox.clear()
      session.close()
    },
  }
}
