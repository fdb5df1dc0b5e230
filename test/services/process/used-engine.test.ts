import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../../services/config.js'
import { announceEndpoint } from '../../../services/process/discovery.js'
import { useEngine } from '../../../services/process/used-engine.js'

const logger = pino({ level: 'silent' })

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-reindex-engine-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

it('a reindex refuses a folder without an engine', async () => {
  const folder = await newFolder()
  await expect(useEngine(loadConfig({ DATA_DIR: folder }), logger)).rejects.toThrow('there is no index in')
})

it('a reindex waits for the engine that npm start restarts, and leaves it running', async () => {
  const folder = await newFolder()
  await mkdir(join(folder, 'engine'))
  await writeFile(join(folder, 'start.pid'), String(process.pid))
  const url = 'http://127.0.0.1:1'
  setTimeout(() => {
    void announceEndpoint(join(folder, 'engine.json'), { url, pid: process.pid })
  }, 300)
  const engine = await useEngine(loadConfig({ DATA_DIR: folder }), logger)
  expect(engine.url).toBe(url)
  await engine.release()
})
