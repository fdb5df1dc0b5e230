import type { Logger } from '../../../../pipelines/logger.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { Core } from '../../core/core.js'
import type { HttpFace } from '../face.js'
import { loadAssets } from './assets.js'
import { drawingProblem } from './pictures/drawing.js'
import { Drawer } from './pictures/drawer.js'
import { Site } from './site.js'
import type { OpenApi } from './views/api.js'

interface PagesParts {
  readonly core: Core
  /** Returns the description of the API, as JSON. */
  readonly openApi: () => string
  /** The path below which clients reach the explorer. */
  readonly basePath: string | undefined
  /** The public URL of the explorer. Not set: links are relative, and previews have no picture. */
  readonly explorerUrl: string | undefined
  /** The public URL of the documentation. Not set: `docsPort` at the host of each request. */
  readonly docsUrl: string | undefined
  readonly docsPort: number | undefined
  readonly limit: RequestLimit
  readonly logger: Pick<Logger, 'warn'>
}

/** Returns the face of the pages for people. */
export const pagesFace = ({
  core,
  openApi,
  basePath,
  explorerUrl,
  docsUrl,
  docsPort,
  limit,
  logger,
}: PagesParts): HttpFace => {
  const problem = drawingProblem()
  if (problem !== undefined)
    logger.warn({ reason: problem }, 'the pictures of links cannot be drawn: pages have none')
  return new Site({
    assets: loadAssets(basePath, explorerUrl, problem === undefined),
    drawer: problem === undefined ? new Drawer() : undefined,
    status: core,
    condition: core.condition,
    openApi: () => JSON.parse(openApi()) as OpenApi,
    reader: core.reader,
    commands: core.commands,
    docsUrl,
    docsPort,
    limit,
  })
}
