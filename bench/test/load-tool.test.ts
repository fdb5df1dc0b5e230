import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadTool } from '../load-tool.js'

const WITHOUT_WRK = spawnSync('wrk', ['--version']).error !== undefined

describe.skipIf(WITHOUT_WRK)('a load by wrk', () => {
  let folder: string
  let server: Server
  let url: string
  let requested: string[]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-wrk-'))
    requested = []
    server = createServer((request, response) => {
      requested.push(request.url ?? '')
      response.statusCode = request.url === '/missing' ? 404 : 200
      response.end('{}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api/v1`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  })
  const load = (paths: readonly string[], isOnce: boolean) =>
    loadTool(folder)({ url, paths, once: isOnce, connections: 2, seconds: 1 })

  it('requests the paths in turn', async () => {
    const result = await load(['/a', '/b'], false)
    expect(result.requestsPerSecond).toBeGreaterThan(0)
    expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms)
    const [as, bs] = ['/a', '/b'].map((path) => requested.filter((each) => each === path).length)
    expect(Math.abs((as ?? 0) - (bs ?? 0))).toBeLessThanOrEqual(1)
  })

  it('fails if paths that may be requested once do not suffice', async () => {
    await expect(load(['/a', '/b', '/c'], true)).rejects.toThrow('do not suffice')
  })

  it('fails if an answer is an error', async () => {
    await expect(load(['/a', '/missing'], false)).rejects.toThrow('failed')
  })
})
