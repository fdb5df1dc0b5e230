import { once } from 'node:events'
import { createServer } from 'node:net'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { UpgradeAnswers } from '../../../../../services/explorer/host/http/upgrading.js'
import { freePort } from '../../../../../services/process/ports.js'
import { until } from '../../../../harness/until.js'
import { sendRaw, SOCKET_REQUEST } from '../../bare-server.js'

describe('an explorer whose log is being converted', () => {
  it('reports the progress to reads and health, and frees the port for the explorer', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${String(port)}`
    const upgrade = new UpgradeAnswers({ host: '127.0.0.1', port }, pino({ level: 'silent' }))
    await expect(fetch(url)).rejects.toThrow()
    upgrade.report({ done: 1, total: 10 })
    await until('it listens', async () => (await fetch(url)).status === 503)
    upgrade.report({ done: 4, total: 10 })
    for (const path of ['/api/v1/blocks/tip', '/api/v1/tx/00', '/health', '/metrics']) {
      const answer = await fetch(url + path)
      expect(answer.status, path).toBe(503)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await answer.json()).toMatchObject({
        error: 'Index is upgrading',
        recordsConverted: 4,
        recordsTotal: 10,
      })
    }
    const { text } = await sendRaw(port, SOCKET_REQUEST, { answers: 1 })
    expect(text).toMatch(/^HTTP\/1\.1 503 /)
    await upgrade.close()
    const freed = createServer().listen(port, '127.0.0.1')
    await once(freed, 'listening')
    freed.close()
  })

  it('listens on no port if there is nothing to convert', async () => {
    const upgrade = new UpgradeAnswers({ host: '127.0.0.1', port: 1 }, pino({ level: 'silent' }))
    await upgrade.close()
  })
})
