import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../services/config.js'
import {
  announceEndpoint,
  engineUrl,
  nodeUrl,
  readEndpoint,
  withdrawEndpoint,
} from '../../../services/process/discovery.js'

describe('processes on one machine', () => {
  let folder = ''
  let file = ''

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-discovery-'))
    file = join(folder, 'engine.json')
  })

  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('find each other by files in DATA_DIR, even if one starts later', async () => {
    const found = engineUrl(loadConfig({ DATA_DIR: folder }))
    await announceEndpoint(file, { url: 'http://127.0.0.1:1234', pid: process.pid })
    expect(await found).toBe('http://127.0.0.1:1234')
  })

  it('prefer a configured URL to what they find', async () => {
    await announceEndpoint(file, { url: 'http://127.0.0.1:1234', pid: process.pid })
    const env = { DATA_DIR: folder, CLICKHOUSE_URL: 'http://db:8123', NODE_RPC_URL: 'http://node:8332' }
    expect(await engineUrl(loadConfig(env))).toBe('http://db:8123')
    expect(await nodeUrl(loadConfig(env))).toBe('http://node:8332')
  })

  it('ignore the file of a dead process, and half a file', async () => {
    const dead = spawn(process.execPath, ['-e', '0'])
    await once(dead, 'exit')
    await announceEndpoint(file, { url: 'http://127.0.0.1:1234', pid: dead.pid ?? 0 })
    expect(await readEndpoint(file)).toBeUndefined()
    await writeFile(file, '{"url":"http://127')
    expect(await readEndpoint(file)).toBeUndefined()
    await withdrawEndpoint(file)
    expect(await readEndpoint(file)).toBeUndefined()
  })

  it('stop waiting when their signal aborts', async () => {
    const stop = new AbortController()
    const found = engineUrl(loadConfig({ DATA_DIR: folder }), { signal: stop.signal })
    stop.abort()
    await expect(found).rejects.toThrow(/abort/i)
  })
})
