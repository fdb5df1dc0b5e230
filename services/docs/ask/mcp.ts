import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import type { Content } from '../../../pipelines/content/store.js'
import { readJson, splitUrl, type Incoming } from '../http/incoming.js'
import { findPage } from '../pages/page-api.js'
import { Refusal } from './reply.js'
import { RetrievalUnavailable, type Retrieval } from '../search/retrieval.js'
import type { Site } from '../http/site.js'

export interface McpParts {
  readonly content: Content
  readonly retrieval: Retrieval
  readonly site: Site
}

const MOST_BYTES = 256 * 1024
const MOST_PASSAGES = 20

/**
 * `POST /mcp`: the documentation for agents, as tools of the Model Context Protocol (Streamable HTTP). Without sessions: each
 * request has a server of its own, so any instance answers any of them.
 */
export async function mcp(parts: McpParts, incoming: Incoming): Promise<undefined> {
  refuseStrangers(parts.site, incoming)
  const { req, res, gone } = incoming
  const body = await readJson(incoming, MOST_BYTES)
  const server = serverOf(parts, gone)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  res.once('close', () => {
    void transport.close()
    void server.close()
  })
  await server.connect(transport)
  await transport.handleRequest(req, res, body)
}

function serverOf({ content, retrieval }: McpParts, gone: AbortSignal): McpServer {
  const server = new McpServer({ name: 'headwater-docs', version: '1.0.0' })
  server.registerTool(
    'search',
    {
      title: 'Search the documentation',
      description:
        'Returns passages of the documentation that match a question or some words, best first, each with the URL of its page.',
      inputSchema: {
        query: z.string().min(1).max(1000).describe('A question or some words'),
        limit: z.number().int().min(1).max(MOST_PASSAGES).default(8).describe('Maximum number of passages'),
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ query, limit }) => {
      try {
        const { passages } = await retrieval.passages(query, limit, gone)
        return toolResult(
          passages.map(({ pageUrl, pageTitle, headingId, headingPath, markdown }) => ({
            url: headingId === '' ? pageUrl : `${pageUrl}#${headingId}`,
            title: [pageTitle, ...headingPath].join(' › '),
            text: markdown,
          })),
        )
      } catch (error) {
        if (!(error instanceof RetrievalUnavailable)) throw error
        return { ...toolResult(error.message), isError: true }
      }
    },
  )
  server.registerTool(
    'read_page',
    {
      title: 'Read a page',
      description:
        'A page of the documentation as Markdown, by its URL path as search gives it; "/" is the root page.',
      inputSchema: { url: z.string().min(1).max(2000).describe('URL path, as /guide/quickstart') },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ url }) => {
      const page = pageAt(content, url)
      if (page === undefined) return { ...toolResult(`There is no page ${url}`), isError: true }
      return toolResult(`# ${page.title}\n\n${page.markdown}`)
    },
  )
  return server
}

function toolResult(value: unknown): CallToolResult {
  return {
    content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }],
  }
}

function pageAt(content: Content, url: string): ReturnType<typeof findPage> {
  try {
    return findPage(content, splitUrl(url).path.slice(1).split('/').map(decodeURIComponent))
  } catch {
    return undefined
  }
}

/**
 * A page of another site must not use a visitor's browser to read what only that browser reaches (DNS rebinding): a request that
 * names an origin must come from our own.
 */
function refuseStrangers(site: Site, incoming: Incoming): void {
  const origin = incoming.header('origin')
  const own = site.ownOrigins(incoming)
  if (origin !== '' && !own.includes(origin))
    throw new Refusal('HW_FORBIDDEN', 'Requests of this origin are not allowed')
}
