import { API, errorAnswer, failedAsJson, GET } from '../../http/answer.js'
import type { HttpFace } from '../face.js'

/** Returns the face of the channels as WebSocket messages, at /ws. */
export function websocketFace(): HttpFace {
  const handle = () => errorAnswer('HW_UPGRADE_REQUIRED', 'Upgrade Required', [['upgrade', 'websocket']])
  return {
    routes: [
      { pattern: '/ws', methods: GET, isLimited: false, handle },
      { pattern: `${API}/ws`, methods: GET, isLimited: true, handle },
    ],
    failed: failedAsJson,
  }
}
