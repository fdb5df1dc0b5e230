import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Answer,
  answerCalls,
  type CallMethod,
  type NodeServer,
  type RpcRequest,
  serveNode,
  type TipWaits,
} from '../../http/json-rpc.js'
import type { Faults } from '../faults.js'
import { Workers } from './workers.js'

export interface RpcServerOptions {
  readonly port?: number | undefined
  readonly callMethod: CallMethod
  readonly faults: Faults
  readonly tipWaits: TipWaits
  /** The time that the node takes to read a block, in milliseconds. */
  readonly blockMs?: number | undefined
  /** Answers a request that is not JSON-RPC with JSON, or with undefined for 404. */
  readonly control: (method: string, url: URL) => string | undefined
}

const QUEUE_FULL: Answer = { status: 503, body: 'Work queue depth exceeded' }

/** Serves the methods of the node with four workers and a queue, as Bitcoin Core does, and `/control/…`. */
export function serveMethods(options: RpcServerOptions): Promise<NodeServer> {
  const { port, callMethod, faults, tipWaits, blockMs = 0, control } = options
  const workers = new Workers()
  return serveNode({
    port,
    async answer(request, socket) {
      const fault = faults.take(String(request.calls[0]?.method))
      if (fault?.kind === 'reset') {
        socket.resetAndDestroy()
        return undefined
      }
      if (fault?.kind === '503') return { status: 503, body: '' }
      if (fault?.kind === 'workqueue') return QUEUE_FULL
      const delay = (fault?.kind === 'slow' ? fault.ms : 0) + costOf(request, blockMs)
      const answer = async (): Promise<Answer> => {
        if (delay > 0) await sleep(delay)
        await tipWaits.before(request)
        return answerCalls(request, callMethod)
      }
      const { status, body } = (await workers.run(answer)) ?? QUEUE_FULL
      return { status, body: fault?.kind === 'truncate' ? body.slice(0, body.length >> 1) : body }
    },
    control(method, url) {
      try {
        const body = control(method, url)
        return body === undefined ? { status: 404, body: '{"error":"Not found"}' } : { status: 200, body }
      } catch (error) {
        return { status: 400, body: JSON.stringify({ error: (error as Error).message }) }
      }
    },
  })
}

/** Returns the delay for the blocks that a request reads, in milliseconds. With ids only (verbosity 1) it is a 25th. */
function costOf({ calls }: RpcRequest, blockMs: number): number {
  const costs = calls.map(({ method, params }) => {
    if (method === 'getblockstats') return blockMs
    if (method !== 'getblock') return 0
    const [, verbosity = 1] = Array.isArray(params) ? (params as unknown[]) : []
    return Number(verbosity) === 1 ? blockMs / 25 : blockMs
  })
  return costs.reduce((sum, cost) => sum + cost, 0)
}
