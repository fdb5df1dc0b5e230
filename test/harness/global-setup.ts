import { rm } from 'node:fs/promises'
import type { TestProject } from 'vitest/node'
import { startEngine } from '../../services/engine/engine.js'
import { quickFolder } from './quick-folder.js'
import { makeTemplate, TEMPLATE_SETTINGS } from './template.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Starts the engine that all test files share; each test makes a database of its own. */
    engineUrl: string
  }
}

interface Build {
  ensureBuilt(): Promise<void>
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const build = new URL('../../deploy/build.mjs', import.meta.url).href
  await ((await import(build)) as Build).ensureBuilt()
  const folder = await quickFolder('headwater-engine-')
  const engine = await startEngine({ dataDir: folder, settings: TEMPLATE_SETTINGS })
  await makeTemplate(engine.url)
  project.provide('engineUrl', engine.url)
  return async () => {
    await engine.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
