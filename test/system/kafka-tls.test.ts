import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { kafkaLibraries } from '../../services/kafka/libraries.js'
import { freePort, isOpen } from '../../services/process/ports.js'
import { KAFKA_LIBRARIES } from '../harness/kafka.js'
import { WITHOUT_KAFKA } from '../harness/without-kafka.js'
import { until } from '../harness/until.js'

const STORE = ['-storetype', 'PKCS12', '-storepass', 'only-for-tests']

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null

/** A broker that refuses connections without TLS and a password, as one in production. */
describe.skipIf(WITHOUT_KAFKA !== undefined)('a log on brokers with TLS and SASL', () => {
  let folder = ''
  let libraries = ''
  let port = 0
  let broker: ChildProcess | undefined

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-tls-'))
    libraries = await kafkaLibraries(KAFKA_LIBRARIES)
    const keys = join(folder, 'keys.p12')
    const keytool = (...args: string[]): string =>
      execFileSync('keytool', [...args, '-alias', 'broker', '-keystore', keys, ...STORE], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    keytool('-genkeypair', '-keyalg', 'RSA', '-dname', 'CN=localhost', '-ext', 'SAN=ip:127.0.0.1')
    await writeFile(join(folder, 'ca.pem'), keytool('-exportcert', '-rfc'))
    // A broker exits if a process of someone else has taken one of its ports.
    for (let left = 3; !(await startBroker(keys)); left--)
      if (left === 1) throw new Error('the broker exits each time: see its output above')
  })
  afterAll(async () => {
    if (broker !== undefined && isRunning(broker)) {
      const gone = once(broker, 'exit')
      broker.kill('SIGKILL')
      await gone
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  })

  /** Starts the broker on new ports. @returns whether it listens; if not, it has exited, and its output is on the console. */
  async function startBroker(keys: string): Promise<boolean> {
    const own = await mkdtemp(join(folder, 'broker-'))
    port = await freePort()
    const [plain, controller] = [await freePort(), await freePort()]
    const login = 'required username="reader" password="right";'
    const settings = {
      'process.roles': 'broker,controller',
      'node.id': '1',
      'controller.quorum.voters': `1@127.0.0.1:${String(controller)}`,
      listeners: `SECURE://127.0.0.1:${String(port)},PLAIN://127.0.0.1:${String(plain)},CONTROLLER://127.0.0.1:${String(controller)}`,
      'listener.security.protocol.map': 'SECURE:SASL_SSL,PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT',
      'advertised.listeners': `SECURE://127.0.0.1:${String(port)},PLAIN://127.0.0.1:${String(plain)}`,
      'controller.listener.names': 'CONTROLLER',
      'inter.broker.listener.name': 'PLAIN',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
      'listener.name.secure.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="right";`,
      ...Object.fromEntries(
        [256, 512].map((bits) => [
          `listener.name.secure.scram-sha-${String(bits)}.sasl.jaas.config`,
          `org.apache.kafka.common.security.scram.ScramLoginModule ${login}`,
        ]),
      ),
      'ssl.keystore.type': 'PKCS12',
      'ssl.keystore.location': keys,
      'ssl.keystore.password': 'only-for-tests',
      'log.dirs': join(own, 'data'),
      'offsets.topic.replication.factor': '1',
      // A starved machine takes longer than the default, after which the broker exits.
      'initial.broker.registration.timeout.ms': '300000',
    }
    const file = join(own, 'server.properties')
    await writeFile(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    const java = (main: string, ...args: string[]): string[] => [
      '-Xmx384m',
      '-cp',
      join(libraries, '*'),
      main,
      ...args,
    ]
    const users = [256, 512].flatMap((bits) => [
      '--add-scram',
      `SCRAM-SHA-${String(bits)}=[name=reader,password=right]`,
    ])
    execFileSync(
      'java',
      java('kafka.tools.StorageTool', 'format', '-t', 'MkU3OEVBNTcwNTJENDM2Qg', '-c', file, ...users),
      {
        stdio: 'ignore',
      },
    )
    const started = spawn('java', java('kafka.Kafka', file), { stdio: ['ignore', 'pipe', 'pipe'] })
    broker = started
    let said = ''
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    const listens = (): Promise<boolean> => isOpen({ port, host: '127.0.0.1' })
    await until('the broker listens', async () => !isRunning(started) || (await listens()))
    if (isRunning(started)) return true
    console.warn(`the broker exited with ${String(started.exitCode ?? started.signalCode)}:\n${said}`)
    return false
  }

  /** Writes and reads in a process of its own, with the settings of an operator. */
  async function carry(settings: Record<string, string>): Promise<string> {
    const code = `
      const { openEventLog } = await import(${JSON.stringify(join(process.cwd(), 'dist/services/process/event-log.js'))})
      const { loadConfig } = await import(${JSON.stringify(join(process.cwd(), 'dist/services/config.js'))})
      const silent = new Proxy({}, { get: () => () => undefined })
      try {
        const log = await openEventLog(loadConfig(), silent)
        const position = await log.append('chain', [Buffer.from('a secret')])
        const [record] = await log.read('chain', position, 1)
        console.log('read ' + Buffer.from(record.value))
        process.exit()
      } catch (error) {
        console.log('refused ' + error.message)
        process.exit()
      }`
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: process.env['PATH'] ?? '', LOG_URL: `kafka://127.0.0.1:${String(port)}`, ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await once(child, 'close')
    return said.trim()
  }

  const trusted = (): Record<string, string> => ({
    KAFKA_SSL: 'true',
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  })
  const reader = { KAFKA_USERNAME: 'reader', KAFKA_PASSWORD: 'right' }

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'])('carries events after %s', async (mechanism) => {
    expect(await carry({ ...trusted(), ...reader, KAFKA_SASL_MECHANISM: mechanism })).toBe('read a secret')
  })

  it.each([
    ['a wrong password', { ...reader, KAFKA_PASSWORD: 'wrong' }, /refused .*[Aa]uthentication/],
    [
      'half of the credentials',
      { KAFKA_USERNAME: 'reader' },
      /refused KAFKA_USERNAME and KAFKA_PASSWORD must be set together/,
    ],
  ])('reports the cause of %s', async (_, settings, says) => {
    expect(await carry({ ...trusted(), ...settings })).toMatch(says)
  })

  it('does not connect to a broker whose certificate is not trusted', async () => {
    expect(await carry({ ...reader, KAFKA_SSL: 'true' })).toMatch(/refused .*certificate/)
  })
})
