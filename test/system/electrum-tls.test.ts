import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { ran, tool } from '../deploy/tools.js'
import { ElectrumClient } from '../harness/electrum-client.js'
import { Pipeline } from '../harness/pipeline.js'
import { until } from '../harness/until.js'

const openssl = tool('openssl')

describe.skipIf(openssl === undefined)('the Electrum protocol over TLS', () => {
  let folder: string
  let node: Simnode
  let pipeline: Pipeline
  let port: number
  const files = () => ({ cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') })

  /** Makes a certificate of a name, and puts it in the place of the former one. */
  async function certify(name: string): Promise<void> {
    const made = { cert: join(folder, `${name}.cert`), key: join(folder, `${name}.key`) }
    const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', `/CN=${name}`]
    const { status, output } = ran(openssl!, [...args, '-keyout', made.key, '-out', made.cert])
    if (status !== 0) throw new Error(output)
    await cp(made.key, files().key)
    await cp(made.cert, files().cert)
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-tls-'))
    await certify('first')
    node = await startSimnode({ seed: 'tls', blocks: 3 })
    pipeline = await Pipeline.start({
      nodeUrl: node.url,
      engineUrl: inject('engineUrl'),
      explorer: { auditEveryMs: 0, electrumTlsPort: 0, electrumCertificate: files() },
    })
    port = Number(new URL(`tcp://${pipeline.electrumTlsAddress}`).port)
    await pipeline.level({ tip: node.chain.tip.hash })
  })
  afterAll(async () => {
    await pipeline.close()
    await node.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function connected(): Promise<TLSSocket> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    return socket
  }
  const nameOf = (socket: TLSSocket): unknown => socket.getPeerCertificate().subject.CN

  it('answers, and sends the header of a new block', async () => {
    const socket = await connected()
    expect(nameOf(socket)).toBe('first')
    const client = ElectrumClient.over(socket)
    await client.result('server.version', 'test', '1.4')
    expect(await client.result('blockchain.headers.subscribe')).toMatchObject({ height: 3 })
    node.simulation.mine({ blocks: 1 })
    await pipeline.level({ tip: node.chain.tip.hash })
    await until('the client has received it', () => client.others.length > 0)
    expect(client.others[0]).toMatchObject({
      method: 'blockchain.headers.subscribe',
      params: [{ height: 4 }],
    })
    client.close()
  })

  it('uses a new certificate for new connections, and the former one if the new one is broken', async () => {
    const before = await connected()
    await certify('second')
    await until('the new certificate is used', async () => {
      const socket = await connected()
      const name = nameOf(socket)
      socket.destroy()
      return name === 'second'
    })
    // The connection of the former certificate continues.
    const client = ElectrumClient.over(before)
    expect(await client.result('server.ping')).toBeNull()
    client.close()
    await writeFile(files().cert, 'no certificate')
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const after = await connected()
    expect(nameOf(after)).toBe('second')
    after.destroy()
  })

  it('refuses to start without a certificate, or with one that is none', async () => {
    const start = (explorer: Record<string, unknown>) =>
      Pipeline.start({
        nodeUrl: node.url,
        engineUrl: inject('engineUrl'),
        explorer: { electrumTlsPort: 0, logger: pino({ level: 'silent' }), ...explorer },
      })
    await expect(start({})).rejects.toThrow('ELECTRUM_TLS_PORT needs ELECTRUM_TLS_CERT and ELECTRUM_TLS_KEY')
    await expect(start({ electrumCertificate: files() })).rejects.toThrow('Cannot use ELECTRUM_TLS_CERT')
  })
})
