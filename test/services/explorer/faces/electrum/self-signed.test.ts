import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCertificate } from '../../../../../services/explorer/faces/electrum/transports/certificate.js'
import { selfSignedCertificate } from '../../../../../services/explorer/faces/electrum/transports/self-signed.js'

describe('a self-signed certificate', () => {
  let folder: string
  let file: string
  let pem: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-self-signed-'))
    file = join(folder, 'data', 'electrum-tls.pem')
    // As the processes of an explorer that start at the same time.
    await Promise.all([1, 2, 3].map(() => selfSignedCertificate(file, ['electrum.example', '192.0.2.7'])))
    pem = await readFile(file, 'utf8')
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is made once, is readable by its owner alone, and stays', async () => {
    expect(await readdir(join(folder, 'data'))).toEqual(['electrum-tls.pem'])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    await selfSignedCertificate(file, ['other.example'])
    expect(await readFile(file, 'utf8')).toBe(pem)
  })

  it('is for the hosts of the configuration and for this machine, for years', () => {
    const certificate = new X509Certificate(pem)
    expect(certificate.subject).toBe('CN=electrum.example')
    for (const name of ['electrum.example', 'localhost']) expect(certificate.checkHost(name)).toBe(name)
    for (const ip of ['192.0.2.7', '127.0.0.1', '::1']) expect(certificate.checkIP(ip)).toBe(ip)
    expect(certificate.checkHost('other.example')).toBeUndefined()
    expect(certificate.ca).toBe(false)
    expect(certificate.checkPrivateKey(createPrivateKey(pem))).toBe(true)
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    const years = (Date.parse(certificate.validTo) - Date.now()) / (365.25 * 86_400_000)
    expect(years).toBeGreaterThan(15)
    expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now())
  })

  it('is accepted by a client that trusts it', async () => {
    const server = createServer(await readCertificate({ cert: file, key: file }), (socket) =>
      socket.end('hi'),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = connect({ port, host: '127.0.0.1', servername: 'electrum.example', ca: pem })
    const [data] = (await once(client, 'data')) as [Buffer]
    expect(data.toString()).toBe('hi')
    server.close()
  })
})
