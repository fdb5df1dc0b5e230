import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROUTES = resolve('dist/pipelines/retrieval/model/routes.js')
const WITHOUT_PIP = spawnSync('python3', ['-m', 'pip', '--version']).status !== 0

describe.skipIf(WITHOUT_PIP)('fetching the model by pip', () => {
  it('ends with the process that needs it, also after kill -9', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    // An index that never answers.
    const index = createServer().listen(0, '127.0.0.1')
    await once(index, 'listening')
    const connected = once(index, 'connection') as Promise<[Socket]>
    const script = `import { pino } from 'pino'
      const { PIP } = await import(${JSON.stringify(ROUTES)})
      await PIP.fetch(${JSON.stringify(folder)}, { logger: pino({ enabled: false }), signal: new AbortController().signal })`
    const { port } = index.address() as AddressInfo
    const fetching = spawn('node', ['--input-type=module', '--eval', script], {
      stdio: 'ignore',
      // No configuration of this machine: an index or a proxy of it would be used instead.
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        PIP_CONFIG_FILE: '/dev/null',
        PIP_INDEX_URL: `http://127.0.0.1:${String(port)}/simple`,
        // Longer than this test may take: only the end of pip closes its connection.
        PIP_DEFAULT_TIMEOUT: '3600',
      },
    })
    try {
      const [socket] = await connected
      socket.resume()
      fetching.kill('SIGKILL')
      const closed = once(socket, 'close').then(() => 'closed')
      expect(await closed).toBe('closed')
    } finally {
      fetching.kill('SIGKILL')
      index.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
