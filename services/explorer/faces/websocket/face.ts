import { API, errorAnswer, failedAsJson, GET } from '../../http/answer.js'
import type { HttpFace } from '../face.js'
import { type Feeds, FeedSession } from './session.js'

/** Returns the face of the channels as WebSocket messages, at /ws. */
export function websocketFace(feeds: Feeds): HttpFace {
  const paths = ['/ws', `${API}/ws`]
  const handle = () => errorAnswer('HW_UPGRADE_REQUIRED', 'Upgrade Required', [['upgrade', 'websocket']])
  return {
    routes: paths.map((pattern) => ({ pattern, methods: GET, isLimited: pattern.startsWith(API), handle })),
    failed: failedAsJson,
    // Clients need not offer a protocol.
    sockets: [{ paths, choose: (offered) => offered, open: (socket) => new FeedSession(feeds, socket) }],
  }
}
