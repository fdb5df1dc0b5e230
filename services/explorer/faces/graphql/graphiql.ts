import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { encodedText } from '../../core/answering/encoding.js'
import { type Answer, GET } from '../../http/answer.js'
import { Resource } from '../../http/resource.js'
import type { HandlerRoute } from '../face.js'

/** The files of GraphiQL by their URL. They are copied by the build, because production has no development packages. */
const FILES: Readonly<Record<string, string>> = {
  'graphiql.css': 'graphiql/graphiql.min.css',
  'graphiql.js': 'graphiql/graphiql.min.js',
  'react.js': 'react/umd/react.production.min.js',
  'react-dom.js': 'react-dom/umd/react-dom.production.min.js',
}
const FOLDER = '/graphql/assets/'
const COPIES = new URL('assets/', import.meta.url)
/** The folder of the packages when the sources run without a build, as in tests. */
const PACKAGES = new URL('../../../../node_modules/', import.meta.url)

/** Starts GraphiQL. Its queries go to this explorer. */
const START = `const base = location.pathname
const headers = { accept: 'application/graphql-response+json', 'content-type': 'application/json' }
const fetcher = (params) => fetch(base, { method: 'POST', headers, body: JSON.stringify(params) }).then((answer) => answer.json())
const root = ReactDOM.createRoot(document.getElementById('graphiql'))
root.render(React.createElement(GraphiQL, { fetcher, defaultQuery: '{\\n  chain { height tip }\\n  blocks(limit: 5) { items { height hash tx_count } }\\n}\\n' }))
`

const pageAt = (folder: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>GraphiQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}graphiql.css">
<style>body { margin: 0 } #graphiql { height: 100vh }</style>
</head>
<body>
<div id="graphiql"></div>
<script src="${folder}react.js"></script>
<script src="${folder}react-dom.js"></script>
<script src="${folder}graphiql.js"></script>
<script src="${folder}start.js"></script>
</body>
</html>
`

/** The page loads nothing from other hosts. Its editor sets styles and embeds its fonts and icons in its style sheet. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; img-src 'self' data:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const HOUR = 'public, max-age=3600'

/** Returns the page of GraphiQL. @param basePath the path below which clients reach the explorer. */
export function page(basePath: string): Answer {
  return {
    status: 200,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['vary', 'accept'],
      ['cache-control', 'no-cache'],
    ],
    body: Buffer.from(pageAt(basePath + FOLDER)),
    policy: POLICY,
  }
}

/** Returns the routes of the files that the page loads. */
export const graphiqlRoutes = (): readonly HandlerRoute[] =>
  [...Object.keys(FILES), 'start.js'].map((file) => ({
    pattern: FOLDER + file,
    methods: GET,
    isLimited: false,
    handle: (request) => asset(file).answer(request),
  }))

const read = new Map<string, Resource>()

/** Returns a file, which is read once. */
function asset(file: string): Resource {
  const cached = read.get(file)
  if (cached !== undefined) return cached
  const type = file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
  const { body, etag } = encodedText(file === 'start.js' ? START : readFileSync(pathOf(file), 'utf8'))
  const headers = [
    ['content-type', type],
    ['vary', 'accept-encoding'],
    ['cache-control', HOUR],
  ] as const
  const resource = new Resource(body, headers, etag)
  read.set(file, resource)
  return resource
}

function pathOf(file: string): string {
  const copied = fileURLToPath(new URL(file, COPIES))
  return existsSync(copied) ? copied : fileURLToPath(new URL(FILES[file] ?? file, PACKAGES))
}
