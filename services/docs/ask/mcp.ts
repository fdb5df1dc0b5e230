import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import type { Content } from '../../../pipelines/content/store.js'
import { readJson, splitUrl, type Incoming } from '../http/incoming.js'
import { BEING_READ } from '../http/unread.js'
import { findPage } from '../pages/page-api.js'
import { Refusal } from '../http/reply.js'
import { RetrievalUnavailable, type Retrieval } from '../search/retrieval.js'
import type { Site } from '../http/site.js'

export interface McpParts {
  readonly content: Content
  readonly retrieval: Retrieval
  readonly site: Site
}

const MAX_BYTES = 256 * 1024
const MAX_PASSAGES = 20

/**
 * Handles `POST /mcp`: the documentation for agents, as tools of the Model Context Protocol (Streamable HTTP). There are no
 * sessions: each request has its own server, so any instance can answer it.
 */
export async function mcp(parts: McpParts, incoming: Incoming): Promise<undefined> {
  refuseOtherOrigins(parts.site, incoming)
  const { req, res, disconnected } = incoming
  const body = await readJson(incoming, MAX_BYTES)
  const server = serverOf(parts, disconnected)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  res.once('close', () => {
    void transport.close()
    void server.close()
  })
  await server.connect(transport)
  await transport.handleRequest(req, res, body)
}

function serverOf({ content, retrieval }: McpParts, disconnected: AbortSignal): McpServer {
  const server = new McpServer({ name: 'headwater-docs', version: '1.0.0' })
  server.registerTool(
    'search',
    {
      title: 'Search the documentation',
      description:
        'Returns passages of the documentation that match a question or some words, best first, each with the URL of its page.',
      inputSchema: {
        query: z.string().min(1).max(1000).describe('A question or some words'),
        limit: z.number().int().min(1).max(MAX_PASSAGES).default(8).describe('Maximum number of passages'),
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ query, limit }) => {
      try {
        const { passages } = await retrieval.passages(query, limit, disconnected)
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
        'Returns a page of the documentation as Markdown, by its URL path, as in search results; "/" is the root page.',
      inputSchema: { url: z.string().min(1).max(2000).describe('URL path, as /guide/quickstart') },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ({ url }) => {
      const page = pageAt(content, url)
      if (page === undefined) return { ...toolResult(missing(content, url)), isError: true }
      return toolResult(`# ${page.title}\n\n${page.markdown}`)
    },
  )
  return server
}

/** Returns why there is no page. */
const missing = (content: Content, url: string): string =>
  content.isComplete ? `There is no page ${url}` : `${BEING_READ}: ${url} may be among them, try again`

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
 * Refuses requests of other origins: a page of another site must not use a visitor's browser to read what only that browser can
 * reach (DNS rebinding). Requests without an Origin header are accepted.
 * @throws Refusal 403.
 */
function refuseOtherOrigins(site: Site, incoming: Incoming): void {
  const origin = incoming.header('origin')
  const own = site.ownOrigins(incoming)
  if (origin !== '' && !own.includes(origin))
    throw new Refusal('HW_FORBIDDEN', 'Requests of this origin are not allowed')
}
