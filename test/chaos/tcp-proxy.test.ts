import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../harness/until.js'
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

  it('holds what is sent while it does not respond', async () => {
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

  it('reports when a text is sent', async () => {
    let reported = 0
    proxy.whenSent('/four', () => reported++)
    await ask('/three')
    expect(reported).toBe(0)
    await ask('/four')
    await ask('/four')
    expect(reported).toBe(1)
  })

  it("holds requests for longer than the server's idle timeout, and sends them when they are released", async () => {
    const arrived: (string | undefined)[] = []
    server.on('request', (request) => arrived.push(request.url))
    // A connection that was used before: its server side is closed meanwhile.
    expect(await ask('/before')).toBe('/before')
    const hold = proxy.hold('/held')
    const asking = ask('/held')
    expect(await ask('/other')).toBe('/other')
    await until('it is held', () => hold.count === 1)
    server.closeAllConnections()
    expect(arrived).toEqual(['/before', '/other'])
    proxy.holdNoMore()
    hold.release()
    expect(await asking).toBe('/held')
    expect(hold.answered).toBe(true)
  })

  it('delivers the held request of a client that has disconnected', async () => {
    const arrived: (string | undefined)[] = []
    server.on('request', (request) => arrived.push(request.url))
    const hold = proxy.hold('/late')
    const client = connect(proxy.port, '127.0.0.1')
    client.write('GET /late HTTP/1.1\r\nhost: x\r\n\r\n')
    await until('it is held', () => hold.count === 1)
    client.destroy()
    await proxy.repair()
    await until('it has arrived', () => arrived.length === 1)
    expect(arrived).toEqual(['/late'])
  })
})
