import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBareDocs, type BareDocs } from '../bare-docs.js'
import { passage } from '../fake-worker.js'

let docs: BareDocs
let client: Client

beforeAll(async () => {
  docs = await startBareDocs()
  docs.worker.passages = [passage(), passage({ markdown: 'Other.', headingId: '', headingPath: [] })]
  client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${docs.url}/mcp`)))
})

afterAll(async () => {
  await client.close()
  await docs.close()
})

const call = async (name: string, args: Record<string, unknown>) => {
  const { content, isError } = await client.callTool({ name, arguments: args })
  return { text: (content as { text: string }[])[0]?.text ?? '', isError: isError === true }
}

describe('the MCP endpoint', () => {
  it('has only tools that read', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ['search', true],
      ['read_page', true],
    ])
  })

  it('finds passages', async () => {
    const { text } = await call('search', { query: 'start', limit: 2 })
    expect(JSON.parse(text)).toEqual([
      {
        url: '/guide/start#first',
        title: 'Getting started › First steps',
        text: 'Run `npm start`, then open the explorer.',
      },
      { url: '/guide/start', title: 'Getting started', text: 'Other.' },
    ])
    expect(docs.worker.requested.at(-1)).toMatchObject({ query: 'start', limit: 2 })
  })

  it('reads pages, also by the URLs of the search, and reports a missing page', async () => {
    const { text } = await call('read_page', { url: '/guide/start#one' })
    expect(text).toMatch(/^# Getting started\n\nBefore\./)
    expect((await call('read_page', { url: '/' })).text).toMatch(/^# Headwater/)
    for (const url of ['/nothing', '../../../etc/passwd', '/%zz'])
      expect(await call('read_page', { url })).toEqual({ text: `There is no page ${url}`, isError: true })
  })

  it('reports invalid arguments', async () => {
    expect((await call('search', { query: 1 })).isError).toBe(true)
    expect((await call('search', { query: 'x', limit: 1000 })).isError).toBe(true)
  })

  it.each([
    ['https://evil.example', 403],
    ['null', 403],
    ['own', 406],
  ])('answers a request of the origin %s with %i', async (origin, status) => {
    const headers = { origin: origin === 'own' ? docs.url : origin, accept: 'application/json' }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect((await docs.post('/mcp', body, headers)).status).toBe(status)
  })

  it('refuses an invalid request', async () => {
    const accept = 'application/json, text/event-stream'
    for (const body of ['{', '{}', 'null', '"x"', JSON.stringify({ jsonrpc: '2.0', id: 1 })])
      expect((await docs.post('/mcp', body, { accept })).status, body).toBe(400)
  })
})
