import { type Answer, answerCalls, serveNode, TipWaits } from '../http/json-rpc.js'
import { callMethod } from './methods.js'
import { Playback } from './playback.js'
import { Timeline } from './timeline.js'

export interface RecordedNodeOptions {
  /** The file of the recording: JSON lines, gzipped if the name ends in .gz. */
  readonly timeline: string
  /** 0 or not set: a free port. */
  readonly port?: number
  /** The first frame to serve, from 0; the last one if it is beyond the end. */
  readonly frame?: number
}

export interface RecordedNode {
  readonly url: string
  /** Advances by n frames, at most to the last one. @returns the number of the frame that is served then. */
  step(n: number): number
  frame(): number
  /** The number of frames of the recording. */
  readonly frames: number
  close(): Promise<void>
}

/** Serves a recording as the node that it was taken from. Rejects if the recording cannot be read or the port is in use. */
export async function startRecordedNode(options: RecordedNodeOptions): Promise<RecordedNode> {
  const node = new Playback(Timeline.open(options.timeline), options.frame ?? 0)
  const tipWaits = new TipWaits()
  const step = (frames: number): void => {
    const before = node.hashAt(node.tip)
    node.step(frames)
    if (node.hashAt(node.tip) !== before) tipWaits.changed()
  }
  const server = await serveNode({
    port: options.port,
    answer: async (request) => {
      await tipWaits.before(request)
      return answerCalls(request, (method, params) => JSON.stringify(callMethod(node, method, params)))
    },
    control: (method, url) => control(node, step, method, url),
  })
  return {
    url: `http://127.0.0.1:${String(server.port)}`,
    frames: node.frames,
    frame: () => node.frame,
    step: (n) => {
      step(n)
      return node.frame
    },
    close: () => server.close(),
  }
}

function control(
  node: Playback,
  step: (frames: number) => void,
  method: string,
  { pathname, searchParams }: URL,
): Answer {
  const frames = searchParams.get('frames') ?? '1'
  if (method === 'POST' && pathname === '/control/step' && /^\d{1,9}$/.test(frames)) step(Number(frames))
  else if (method !== 'GET' || pathname !== '/control')
    return {
      status: 400,
      body: '{"error":"GET /control, POST /control/step?frames=N, or JSON-RPC by POST to /"}',
    }
  return { status: 200, body: JSON.stringify({ frame: node.frame, frames: node.frames }) }
}
