/**
 * Copies to dist/ what the compiler does not copy: the schema of the tables, the styles and scripts of the pages, GraphiQL, the examples of the API,
 * the list of Kafka's packages.
 */
import { cpSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
/** The files of GraphiQL, which is a development package. */
const GRAPHIQL = {
  'graphiql.css': 'graphiql/graphiql.min.css',
  'graphiql.js': 'graphiql/graphiql.min.js',
  'react.js': 'react/umd/react.production.min.js',
  'react-dom.js': 'react-dom/umd/react-dom.production.min.js',
}
const ASSETS = [
  'pipelines/tables/schema.sql',
  'pipelines/tables/mempool/mempool.sql',
  'services/design/assets',
  'services/docs/assets',
  'services/explorer/faces/rest/description/examples.json',
  'services/kafka/pom.xml',
]

export function copyAssets() {
  for (const asset of ASSETS) {
    rmSync(join(ROOT, 'dist', asset), { recursive: true, force: true })
    cpSync(join(ROOT, asset), join(ROOT, 'dist', asset), { recursive: true })
  }
  for (const [name, file] of Object.entries(GRAPHIQL))
    cpSync(join(ROOT, 'node_modules', file), join(ROOT, 'dist/services/explorer/faces/graphql/assets', name))
}
