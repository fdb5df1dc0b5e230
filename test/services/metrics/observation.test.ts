import { afterEach, describe, expect, it } from 'vitest'
import { type Health, type Observation, serveObservation } from '../../../services/metrics/observation.js'
import { PortTaken } from '../../../services/process/ports.js'

let health: Health = { isWell: true, body: { status: 'ok' } }
let serving: Observation | undefined

async function serve(port = 0): Promise<string> {
  serving = await serveObservation({
    host: '127.0.0.1',
    port,
    what: 'the test (TEST_PORT)',
    metrics: () => Promise.resolve({ text: `a 1\n${'# '.repeat(600)}`, type: 'text/plain; version=0.0.4' }),
    health: () => health,
  })
  return `http://127.0.0.1:${String(serving.port)}`
}

afterEach(() => {
  serving?.close()
})

describe('observation', () => {
  it('serves metrics, and health by its status', async () => {
    const url = await serve()
    const metrics = await fetch(`${url}/metrics`, { headers: { 'accept-encoding': 'gzip' } })
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4')
    expect(metrics.headers.get('content-encoding')).toBe('gzip')
    expect(metrics.headers.get('vary')).toBe('accept-encoding')
    expect(await metrics.text()).toMatch(/^a 1\n# /)
    const plain = await fetch(`${url}/metrics`, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.text()).toBe(await (await fetch(`${url}/metrics`)).text())
    const well = await fetch(`${url}/health`)
    expect([well.status, await well.json()]).toEqual([200, { status: 'ok' }])
    health = { isWell: false, body: { status: 'degraded', reasons: ['no node'] } }
    const ill = await fetch(`${url}/health`)
    expect([ill.status, await ill.json()]).toEqual([503, { status: 'degraded', reasons: ['no node'] }])
    expect((await fetch(`${url}/`)).status).toBe(404)
  })

  it('refuses a port that is in use, with the name of the setting', async () => {
    const url = await serve()
    const first = serving
    await expect(serve(Number(new URL(url).port))).rejects.toThrow(PortTaken)
    await expect(serve(Number(new URL(url).port))).rejects.toThrow(/TEST_PORT/)
    first?.close()
  })
})
