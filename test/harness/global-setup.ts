import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEngine } from '../../services/engine/engine.js'
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

const MEMORY_FOLDER = '/dev/shm'
const ROOM = 4 * 1024 ** 3

/**
 * In memory if possible: no test of the shared engine concerns durability, and a third of its time was spent on
 * syncing.
 */
async function quickFolder(): Promise<string> {
  const memory = await statfs(MEMORY_FOLDER).catch(() => undefined)
  return memory !== undefined && memory.bavail * memory.bsize >= ROOM ? MEMORY_FOLDER : tmpdir()
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const build = new URL('../../deploy/build.mjs', import.meta.url).href
  await ((await import(build)) as Build).ensureBuilt()
  const folder = await mkdtemp(join(await quickFolder(), 'headwater-engine-'))
  const engine = await startEngine({ dataDir: folder, settings: TEMPLATE_SETTINGS })
  await makeTemplate(engine.url)
  project.provide('engineUrl', engine.url)
  return async () => {
    await engine.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
