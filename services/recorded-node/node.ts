import { type Answer, answerCalls, serveNode } from '../json-rpc.js'
import { callMethod } from './methods.js'
import { Playback } from './playback.js'
import { Timeline } from './timeline.js'

export interface RecordedNodeOptions {
  /** The recording: JSON lines, gzipped where the name ends in .gz. */
  readonly timeline: string
  /** 0 or left out: a free one. */
  readonly port?: number
  /** The frame to begin with, from 0; beyond the last it is the last. */
  readonly frame?: number
}

export interface RecordedNode {
  readonly url: string
  /** Moves on by n frames, at most to the last. @returns the frame that is shown then. */
  step(n: number): number
  frame(): number
  /** How many frames the recording has. */
  readonly frames: number
  close(): Promise<void>
}

/** Serves a recording as the node it was taken from. Rejects where the recording cannot be read or the port is taken. */
export async function startRecordedNode(options: RecordedNodeOptions): Promise<RecordedNode> {
  const node = new Playback(Timeline.open(options.timeline), options.frame ?? 0)
  const server = await serveNode({
    port: options.port,
    answer: (request) =>
      answerCalls(request, (method, params) => JSON.stringify(callMethod(node, method, params))),
    control: (method, url) => control(node, method, url),
  })
  return {
    url: `http://127.0.0.1:${String(server.port)}`,
    frames: node.frames,
    frame: () => node.frame,
    step: (n) => {
      node.step(n)
      return node.frame
    },
    close: () => server.close(),
  }
}

function control(node: Playback, method: string, { pathname, searchParams }: URL): Answer {
  const frames = searchParams.get('frames') ?? '1'
  if (method === 'POST' && pathname === '/control/step' && /^\d{1,9}$/.test(frames)) node.step(Number(frames))
  else if (method !== 'GET' || pathname !== '/control')
    return {
      status: 400,
      body: '{"error":"GET /control, POST /control/step?frames=N, or JSON-RPC by POST to /"}',
    }
  return { status: 200, body: JSON.stringify({ frame: node.frame, frames: node.frames }) }
}
