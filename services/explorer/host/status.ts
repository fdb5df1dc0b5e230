import { DEFECT } from '../core/answering/failure.js'
import type { Core } from '../core/core.js'
import { failedAsJson, GET, jsonAnswer, NO_STORE } from '../http/answer.js'
import { Resource } from '../http/resource.js'
import type { HttpFace, HandlerRoute } from '../faces/face.js'

/** Returns the text of /metrics with its content type. */
export type MetricsText = () => Promise<{ readonly text: string; readonly type: string }>

/** Returns the routes by which operators watch an explorer: /health and /metrics. */
export function statusRoutes(
  { health, logger }: Pick<Core, 'health' | 'logger'>,
  metricsText: MetricsText,
): HttpFace {
  const route = (pattern: string, handle: HandlerRoute['handle']): HandlerRoute => ({
    pattern,
    methods: GET,
    isLimited: false,
    handle,
  })
  return {
    routes: [
      route('/health', () => {
        const body = health()
        return jsonAnswer(body.status === 'ok' ? 200 : 503, body, [NO_STORE])
      }),
      route('/metrics', async (request) => {
        try {
          const { text, type } = await metricsText()
          const headers = [['content-type', type], ['vary', 'accept-encoding'], NO_STORE] as const
          return await new Resource(Buffer.from(text), headers).answer(request)
        } catch (error) {
          logger.error({ err: error }, 'cannot collect metrics')
          return failedAsJson(DEFECT)
        }
      }),
    ],
    failed: failedAsJson,
  }
}
