import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  Ranking,
  StatusResponse_Semantic,
} from '../../../../proto/gen/headwater/retrieval/v1/retrieval_pb.js'
import { until } from '../../../harness/until.js'
import { startBareDocs, type BareDocs } from '../bare-docs.js'
import { passage } from '../fake-worker.js'

/** Settings of one test. */
let docs: BareDocs
/** Settings of all tests that set nothing. */
let plain: BareDocs

beforeAll(async () => {
  plain = await startBareDocs()
})

beforeEach(() => {
  docs = plain
})

afterEach(async () => {
  if (docs !== plain) await docs.close()
})

afterAll(async () => {
  await plain.close()
})

const user = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] })

describe('POST /api/ask without a language model', () => {
  it('quotes the best passages with their sources, and says that it does', async () => {
    docs = await startBareDocs()
    docs.worker.passages = [
      passage({ markdown: 'Run this:\n\n```sh\nnpm start\n\nnpm stop\n```' }),
      passage({
        pageUrl: '/a(b)',
        pageTitle: 'An [x]',
        headingId: '',
        headingPath: [],
        markdown: 'An indexer.',
      }),
    ]
    const response = await docs.post('/api/ask', { question: 'How do I start it?' })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-retrieval')).toBeNull()
    const { answer, sources, question } = await response.json()
    expect(question).toBe('How do I start it?')
    expect(answer).toMatch(/^These passages .* are quoted, not summarised\.\n/)
    expect(answer).toContain(
      'Quoted from **[Getting started › First steps](/guide/start#first)** [1]:\n\n> Run this:\n>\n> ```sh\n> npm start\n>\n> npm stop\n> ```',
    )
    expect(answer).toContain('Quoted from **[An \\[x\\]](/a%28b%29)** [2]:\n\n> An indexer.')
    expect(sources).toEqual([
      { title: 'Getting started', url: '/guide/start' },
      { title: 'An [x]', url: '/a(b)' },
    ])
  })

  it.each([
    ['nothing is found', []],
    ['nothing fits', [passage({ similarity: 0.1, coverage: 0.1 })]],
    ['little fits', [passage({ similarity: 0.3, coverage: 0.1 })]],
  ])('says that the documentation has no answer if %s', async (_, passages) => {
    docs = await startBareDocs()
    docs.worker.passages = passages
    const { answer, sources } = await (await docs.post('/api/ask', { question: 'Who won?' })).json()
    expect(answer).toMatch(/^The documentation does not answer/)
    expect(sources).toEqual([])
  })

  it('says so if a name of the question is on no page; a name of the previous question does not count', async () => {
    docs = await startBareDocs()
    docs.worker.passages = [passage({ similarity: 0.6, coverage: 0.4 })]
    docs.worker.unknownNames = ['REDIS_TTL']
    const { answer, sources } = await (await docs.post('/api/ask', { question: 'What is REDIS_TTL?' })).json()
    expect(answer).toMatch(/^The documentation does not answer/)
    expect(sources).toEqual([])
    const messages = [user('What is REDIS_TTL?'), user('How do I start?')]
    expect(await (await docs.post('/api/chat', { messages })).text()).toContain('are quoted')
  })

  it('says that it answers by words alone while the model is unavailable', async () => {
    docs = await startBareDocs()
    docs.worker.ranking = Ranking.LEXICAL
    docs.worker.semantic = StatusResponse_Semantic.LOADING
    docs.worker.passages = [passage({ similarity: undefined })]
    for (const response of [
      await docs.post('/api/ask', { question: 'x' }),
      await docs.post('/api/chat', { messages: [user('x')] }),
      await docs.get('/api/search?query=x'),
    ])
      expect(response.headers.get('x-retrieval')).toBe('lexical')
    expect(await (await docs.get('/health')).json()).toMatchObject({ semantic: 'loading' })
  })

  it.each([
    ['not JSON', '{'],
    ['no body', ''],
    ['not UTF-8', '"\ud800"'],
    ['a list', '[]'],
    ['null', 'null'],
    ['no question', '{}'],
    ['a number', '{"question":1}'],
    ['a list of questions', '{"question":["a"]}'],
    ['an empty one', '{"question":""}'],
    ['blanks', '{"question":" \\n "}'],
    ['1,001 characters', JSON.stringify({ question: 'x'.repeat(1001) })],
  ])('refuses %s', async (_, body) => {
    const response = await docs.post('/api/ask', body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: expect.any(String) as string,
      code: 'HW_INVALID_ARGUMENT',
    })
  })

  it('accepts 1,000 characters, even if each has two UTF-16 units', async () => {
    for (const question of ['x'.repeat(1000), '𝒳'.repeat(1000)])
      expect((await docs.post('/api/ask', { question })).status).toBe(200)
  })

  it('refuses a body that is too large, with and without Content-Length', async () => {
    const tooLong = await docs.post('/api/ask', { question: 'x'.repeat(40_000) })
    expect(tooLong.status).toBe(400)
    const question = 'x'.repeat(600_000)
    expect((await docs.post('/api/ask', { question })).status).toBe(413)
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify({ question })))
        controller.close()
      },
    })
    const options = { method: 'POST', body, duplex: 'half' as const }
    expect((await fetch(`${docs.url}/api/ask`, options)).status).toBe(413)
  })

  it('is 500 while the worker is unavailable, search 503; /health reports it, and both recover', async () => {
    docs = await startBareDocs()
    docs.worker.passages = [passage()]
    const address = await docs.worker.start()
    const port = Number(address.split(':')[1])
    await docs.docs.close()
    const other = await startBareDocs({ retrievalAddress: address })
    await docs.worker.close()
    await until('the worker is missed', async () => (await other.get('/api/search?query=x')).status === 503)
    const requested = await other.post('/api/ask', { question: 'x' })
    expect(requested.status).toBe(500)
    expect(await requested.json()).toEqual({
      error: 'The answer could not be generated',
      code: 'HW_ANSWER_FAILED',
    })
    expect((await other.get('/api/docs')).status).toBe(200)
    expect(await (await other.get('/health')).json()).toMatchObject({
      status: 'degraded',
      service: 'headwater-docs',
      pages: 4,
      chunks: 0,
      semantic: 'unavailable',
      index: { built_at: null, stale: true },
    })
    expect(await (await other.get('/metrics')).text()).toContain('headwater_docs_retrieval_up 0')
    await docs.worker.start(port)
    await until('it is back', async () => (await other.get('/api/search?query=x')).status === 200)
    await other.close()
  })
})

describe('POST /api/chat', () => {
  it("works with the AI SDK's own client", async () => {
    docs = await startBareDocs()
    docs.worker.passages = [passage(), passage({ pageUrl: '/', pageTitle: 'Headwater' })]
    const transport = new DefaultChatTransport<UIMessage>({ api: `${docs.url}/api/chat` })
    const messages: UIMessage[] = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'How?' }] }]
    const stream = await transport.sendMessages({
      chatId: 'c',
      messages,
      trigger: 'submit-message',
      messageId: undefined,
      abortSignal: undefined,
    })
    let last: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream })) last = message
    const parts = last?.parts ?? []
    expect(parts.map(({ type }) => type)).toEqual(['step-start', 'source-url', 'source-url', 'text'])
    expect(parts[1]).toMatchObject({ url: '/guide/start#first', title: 'Getting started' })
    expect(parts.at(-1)).toMatchObject({ state: 'done', text: expect.stringContaining('> Run `npm start`') })
  })

  it('sends the chunks of version 1 of the protocol, in order, with no other keys', async () => {
    docs = await startBareDocs()
    docs.worker.passages = [passage()]
    const response = await docs.post('/api/chat', { messages: [user('How?')] })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('cache-control')).toContain('no-')
    const lines = (await response.text()).trim().split('\n\n')
    expect(lines.pop()).toBe('data: [DONE]')
    const chunks = lines.map((line) => JSON.parse(line.replace(/^data: /, '')))
    const deltas = chunks.filter(({ type }) => type === 'text-delta')
    expect(deltas.length).toBeGreaterThan(1)
    expect(chunks.filter(({ type }) => type !== 'text-delta')).toEqual([
      { type: 'start', messageId: expect.any(String) },
      { type: 'start-step' },
      { type: 'source-url', sourceId: '1', url: '/guide/start#first', title: 'Getting started' },
      { type: 'text-start', id: 'answer' },
      { type: 'text-end', id: 'answer' },
      { type: 'finish-step' },
      { type: 'finish' },
    ])
  })

  it('names the sources that it quotes, and none if it quotes nothing', async () => {
    docs = await startBareDocs()
    const pages = ['/a', '/b', '/b', '/c', '/d']
    docs.worker.passages = pages.map((pageUrl, rank) => passage({ pageUrl, markdown: `Text ${rank}` }))
    const sources = async () => {
      const text = await (await docs.post('/api/chat', { messages: [user('x')] })).text()
      return [...text.matchAll(/"source-url","sourceId":"\d","url":"([^"]*)"/g)].map(([, url]) => url)
    }
    expect(await sources()).toEqual(['/a#first', '/b#first'])
    docs.worker.passages = [passage({ similarity: 0.3, coverage: 0 })]
    expect(await sources()).toEqual([])
  })

  const assistant = { role: 'assistant', parts: [] }
  const many = (count: number) => Array.from({ length: count }, () => user('x'))

  it.each([
    ['no messages', {}],
    ['an empty list', { messages: [] }],
    ['an object of messages', { messages: { length: 1, 0: user('x') } }],
    ['21 messages', { messages: many(21) }],
    ['the role system', { messages: [{ ...user('x'), role: 'system' }, user('x')] }],
    ['the role tool', { messages: [{ ...user('x'), role: 'tool' }] }],
    ['no role', { messages: [{ parts: [{ type: 'text', text: 'x' }] }] }],
    ['no parts', { messages: [{ role: 'user', content: 'x' }] }],
    ['invalid parts', { messages: [{ role: 'user', parts: ['x'] }] }],
    ['an invalid text', { messages: [{ role: 'user', parts: [{ type: 'text', text: 1 }] }] }],
    ['a user without text', { messages: [{ role: 'user', parts: [{ type: 'file', url: 'x' }] }] }],
    ['an earlier user without text', { messages: [{ role: 'user', parts: [] }, user('x')] }],
    ['the assistant last', { messages: [user('x'), assistant] }],
    ['null', null],
  ])('refuses %s', async (_, body) => {
    const response = await docs.post('/api/chat', body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: expect.any(String) as string,
      code: 'HW_INVALID_ARGUMENT',
    })
  })

  it('accepts 20 messages, parts that are not text, and an assistant message without text', async () => {
    const file = {
      role: 'user',
      parts: [
        { type: 'file', url: 'x' },
        { type: 'text', text: 'x' },
      ],
    }
    const messages = [...many(18), assistant, file]
    expect((await docs.post('/api/chat', { messages })).status).toBe(200)
  })
})

describe('the limits of questions', () => {
  const limit = { most: 2, windowMs: 60_000 }

  it('apply to each client and each endpoint, 429 with Retry-After', async () => {
    docs = await startBareDocs({ askLimit: limit, chatLimit: limit, trustedProxyHops: 1 })
    const from = { 'x-forwarded-for': '203.0.113.1' }
    const ask = (headers: Record<string, string>) => docs.post('/api/ask', { question: 'x' }, headers)
    expect([(await ask(from)).status, (await ask(from)).status]).toEqual([200, 200])
    const refused = await ask(from)
    expect(refused.status).toBe(429)
    const { retry_after_ms: waitMs, ...rest } = await refused.json()
    expect(rest).toEqual({ error: 'Too many requests' })
    expect(waitMs).toBeGreaterThan(50_000)
    const seconds = String(Math.ceil(waitMs / 1000))
    expect(refused.headers.get('retry-after')).toBe(seconds)
    expect(refused.headers.get('ratelimit')).toBe(`"ask";r=0;t=${seconds}`)
    expect(refused.headers.get('ratelimit-policy')).toBe('"ask";q=2;w=60')
    expect((await ask({ 'x-forwarded-for': '203.0.113.2' })).status).toBe(200)
    expect((await ask({ 'x-forwarded-for': '203.0.113.9, 203.0.113.1' })).status).toBe(429)
    const chat = () => docs.post('/api/chat', { messages: [user('x')] }, from)
    expect([(await chat()).status, (await chat()).status, (await chat()).status]).toEqual([200, 200, 429])
    for (const path of ['/api/docs', '/api/search?query=x', '/llms.txt', '/docs/index.mdx'])
      expect((await docs.get(path, from)).status).toBe(200)
  })

  it('ignore a client that claims to be another', async () => {
    docs = await startBareDocs({ askLimit: limit })
    const statuses: number[] = []
    for (let client = 0; client < 4; client++) {
      const headers = { 'x-forwarded-for': `203.0.113.${client}`, 'x-real-ip': `203.0.113.${client}` }
      statuses.push((await docs.post('/api/ask', { question: 'x' }, headers)).status)
    }
    expect(statuses).toEqual([200, 200, 429, 429])
  })

  it('do not apply to agents with the key on /api/ask; a wrong key is ignored', async () => {
    docs = await startBareDocs({ askLimit: limit, chatLimit: limit, agentApiKey: 'the-key' })
    const ask = (key: string) => docs.post('/api/ask', { question: 'x' }, { 'x-agent-key': key })
    for (let time = 0; time < 5; time++) expect((await ask('the-key')).status).toBe(200)
    const statuses = [(await ask('the-kez')).status, (await ask('')).status, (await ask('other')).status]
    expect(statuses).toEqual([200, 200, 429])
    const chat = () => docs.post('/api/chat', { messages: [user('x')] }, { 'x-agent-key': 'the-key' })
    expect([(await chat()).status, (await chat()).status, (await chat()).status]).toEqual([200, 200, 429])
  })

  it('apply to every client if no key is set', async () => {
    docs = await startBareDocs({ askLimit: limit })
    const ask = () => docs.post('/api/ask', { question: 'x' }, { 'x-agent-key': '' })
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429])
  })
})
