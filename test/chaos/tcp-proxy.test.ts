import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TcpProxy } from './tcp-proxy.js'

describe('the proxy', () => {
  let server: Server
  let proxy: TcpProxy

  beforeEach(async () => {
    server = createServer((request, response) => response.end(request.url))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    proxy = await TcpProxy.before(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`)
  })
  afterEach(async () => {
    await proxy.close()
    server.closeAllConnections()
    server.close()
  })

  const ask = async (path: string): Promise<string> => (await fetch(`${proxy.url}${path}`)).text()

  it('passes everything on', async () => {
    expect(await ask('/one')).toBe('/one')
  })

  it('refuses and accepts again', async () => {
    await proxy.refuse()
    await expect(ask('/two')).rejects.toThrow()
    await proxy.accept()
    expect(await ask('/three')).toBe('/three')
  })

  it('holds what is sent while it is silent', async () => {
    proxy.pause()
    let answered = false
    const asking = ask('/later').then((text) => {
      answered = true
      return text
    })
    await expect(fetch(proxy.url, { signal: AbortSignal.timeout(100) })).rejects.toThrow()
    expect(answered).toBe(false)
    proxy.resume()
    expect(await asking).toBe('/later')
  })

  it('tells when a text is sent', async () => {
    let told = 0
    proxy.whenSent('/four', () => told++)
    await ask('/three')
    expect(told).toBe(0)
    await ask('/four')
    await ask('/four')
    expect(told).toBe(1)
  })
})
