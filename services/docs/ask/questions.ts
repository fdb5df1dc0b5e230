import { createUIMessageStream, pipeUIMessageStreamToResponse } from 'ai'
import type { RateLimit } from '../../rate-limit.js'
import type { Token } from '../../token.js'
import { AnswerFailed } from './answerer.js'
import type { Assistant, Streamed } from './assistant.js'
import { questionOf, turnsOf } from './conversation.js'
import { readJson, type Incoming } from '../http/incoming.js'
import { json, NO_STORE, Refusal, type Reply } from './reply.js'
import { lexicalHeader } from '../search/search.js'

export interface QuestionParts {
  readonly assistant: Assistant
  /** None where left out. */
  readonly askLimit?: RateLimit | undefined
  readonly chatLimit?: RateLimit | undefined
  /** Who names it asks without limit. */
  readonly agentKey?: Token | undefined
}

/** Of a body: far more than its fields may hold, so that what is too long is told by its own name. */
const MOST_BYTES = 512 * 1024

/** `POST /api/ask`: one question, one answer with its sources. */
export async function ask(
  { assistant, askLimit, agentKey }: QuestionParts,
  incoming: Incoming,
): Promise<Reply> {
  if (agentKey?.is(incoming.header('x-agent-key')) !== true) count(askLimit, incoming)
  refuseOtherSites(incoming)
  const question = questionOf(await readJson(incoming, MOST_BYTES))
  const { answer, sources, evidence } = await assistant.ask(question, incoming.gone)
  return json({ answer, sources, question }, { ...NO_STORE, ...lexicalHeader(evidence.ranking) })
}

/** `POST /api/chat`: a conversation; the answer streams in the AI SDK's UI message protocol, version 1. */
export async function chat({ assistant, chatLimit }: QuestionParts, incoming: Incoming): Promise<undefined> {
  count(chatLimit, incoming)
  refuseOtherSites(incoming)
  const turns = turnsOf(await readJson(incoming, MOST_BYTES))
  const streamed = await assistant.chat(turns, incoming.gone)
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
      sources.forEach(({ url, title }, index) => {
        writer.write({ type: 'source-url', sourceId: String(index + 1), url, title })
      })
      writer.write({ type: 'text-start', id })
      for await (const delta of text) writer.write({ type: 'text-delta', id, delta })
      writer.write({ type: 'text-end', id })
      writer.write({ type: 'finish-step' })
      writer.write({ type: 'finish' })
    },
    onError: (error) => (error instanceof AnswerFailed ? error.message : 'The answer could not be generated'),
  })
}

/** @throws Refusal 429. */
function count(limit: RateLimit | undefined, { origin }: Incoming): void {
  const waitMs = limit?.take(origin)
  if (waitMs === undefined) return
  const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)) }
  throw new Refusal('HW_RATE_LIMITED', 'Too many requests', headers, { retry_after_ms: waitMs })
}

/** A page elsewhere could have its visitors ask, a form's post needs no preflight; browsers tell where a request comes from. */
function refuseOtherSites({ header }: Incoming): void {
  if (header('sec-fetch-site') === 'cross-site')
    throw new Refusal('HW_FORBIDDEN', 'Requests from pages of other sites are not allowed')
}
