import { createUIMessageStream, pipeUIMessageStreamToResponse } from 'ai'
import { limitHeaders, type RateLimit } from '../../access/rate-limit.js'
import type { Token } from '../../access/token.js'
import { AnswerFailed } from './answerer.js'
import type { Assistant, Streamed } from './assistant.js'
import { langOf, questionOf, turnsOf } from './conversation.js'
import { readJson, type Incoming } from '../http/incoming.js'
import { json, JSON_TYPE, NO_STORE, Refusal, type Reply } from '../http/reply.js'
import type { Endpoint } from '../http/server.js'
import { lexicalHeader } from '../search/search.js'

export interface QuestionParts {
  readonly assistant: Assistant
  /** Not set: no limit, as for `chatLimit`. */
  readonly askLimit?: RateLimit | undefined
  readonly chatLimit?: RateLimit | undefined
  /** Requests with this key are not limited. */
  readonly agentKey?: Token | undefined
}

/** The maximum size of a body. It is far above the limits of its fields, so that their own errors are returned. */
const MAX_BYTES = 512 * 1024

/** Handles `POST /api/ask`: one question, one answer with its sources. */
export async function ask(
  { assistant, askLimit, agentKey }: QuestionParts,
  incoming: Incoming,
): Promise<Reply> {
  if (agentKey?.is(incoming.header('x-agent-key')) !== true) count(askLimit, incoming)
  refuseOtherSites(incoming)
  const body = await readJson(incoming, MAX_BYTES)
  const question = questionOf(body)
  const { answer, sources, evidence } = await assistant.ask(question, incoming.disconnected, langOf(body))
  const pages = sources.map(({ title, url }) => ({ title, url }))
  return json({ answer, sources: pages, question }, { ...NO_STORE, ...lexicalHeader(evidence.ranking) })
}

/** Handles `POST /api/chat`: a conversation; the answer streams in the AI SDK's UI message protocol, version 1. */
export async function chat({ assistant, chatLimit }: QuestionParts, incoming: Incoming): Promise<undefined> {
  count(chatLimit, incoming)
  refuseOtherSites(incoming)
  const body = await readJson(incoming, MAX_BYTES)
  const streamed = await assistant.chat(turnsOf(body), incoming.disconnected, langOf(body))
  await pipeUIMessageStreamToResponse({
    response: incoming.res,
    headers: { ...NO_STORE, ...lexicalHeader(streamed.evidence.ranking) },
    stream: messageStream(streamed),
  })
}

function messageStream({ sources, text }: Streamed): ReturnType<typeof createUIMessageStream> {
  const id = 'answer'
  return createUIMessageStream({
    execute: async ({ writer }) => {
      writer.write({ type: 'start' })
      writer.write({ type: 'start-step' })
      sources.forEach(({ section: url, title }, index) => {
        writer.write({ type: 'source-url', sourceId: String(index + 1), url, title })
      })
      writer.write({ type: 'text-start', id })
      try {
        for await (const delta of text) writer.write({ type: 'text-delta', id, delta })
      } catch (error) {
        // The protocol's own error has only a text.
        const { code, message } = error instanceof AnswerFailed ? error : new AnswerFailed('provider')
        writer.write({ type: 'data-error', data: { error: message, code }, transient: true })
        throw error
      }
      writer.write({ type: 'text-end', id })
      writer.write({ type: 'finish-step' })
      writer.write({ type: 'finish' })
    },
    onError: (error) => (error instanceof AnswerFailed ? error.message : 'The answer could not be generated'),
  })
}

/**
 * The endpoint at which the AI SDK resumes a stream, `GET /api/chat/<id>/stream`. Answers are not kept, so there is never one to resume,
 * which the SDK learns by the status 204.
 */
export const resumeEndpoint: Endpoint = {
  pattern: '/api/chat/*',
  methods: {
    GET: ({ segments: [, , id, last, ...rest] }) => {
      if (id === undefined || id === '' || last !== 'stream' || rest.length > 0)
        throw new Refusal('HW_NOT_FOUND', 'Not Found')
      return { status: 204, type: JSON_TYPE, body: '', headers: NO_STORE }
    },
  },
}

/** Counts a request of a client. @throws Refusal 429 if it is over the limit. */
function count(limit: RateLimit | undefined, { origin }: Incoming): void {
  const waitMs = limit?.take(origin)
  if (waitMs === undefined || limit === undefined) return
  const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)), ...limitHeaders(limit.policy, waitMs) }
  throw new Refusal('HW_RATE_LIMITED', 'Too many requests', headers, { retry_after_ms: waitMs })
}

/** Refuses requests of pages of other sites, of which a form post needs no preflight. @throws Refusal 403. */
function refuseOtherSites({ header }: Incoming): void {
  if (header('sec-fetch-site') === 'cross-site')
    throw new Refusal('HW_FORBIDDEN', 'Requests from pages of other sites are not allowed')
}
