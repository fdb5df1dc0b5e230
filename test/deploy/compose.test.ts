import { copyFileSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { RETENTION_MS } from '../../pipelines/log/port.js'
import { commandOf, faultsOf } from './settings.js'
import { type Document, documents, ran, text, tool } from './tools.js'

const [compose] = documents('deploy/compose.yaml') as [Document]
const services = Object.entries<Document>(compose.services)
const own = services.filter(([, service]) => String(service.image).startsWith('headwater:'))
const composeGo = tool('compose-go')

/** A copy with env files: the real ones contain secrets and are not in the repository. */
const folder = mkdtempSync(join(tmpdir(), 'headwater-compose-'))
cpSync('deploy', folder, { recursive: true })
for (const name of readdirSync(join(folder, 'env')).filter((each) => each.endsWith('.example')))
  copyFileSync(join(folder, 'env', name), join(folder, 'env', name.replace(/\.example$/, '')))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

describe('compose.yaml', () => {
  it('runs every process of production', () => {
    expect(own.map(([name]) => name).sort()).toEqual([
      'docs',
      'explorer',
      'materializer',
      'poller',
      'retrieval',
      'webhooks',
    ])
    for (const [name, service] of own) expect(service.command).toEqual(commandOf(name))
  })

  it('pins the version of every image', () => {
    for (const [name, { image }] of services)
      expect(image, name).toMatch(/^[\w./-]+:v?\d+\.\d+(\.\d+)?(-[\w.]+)?$/)
  })

  it('has a health check for every process on which others depend', () => {
    const awaited = services.flatMap(([, { depends_on: on }]) =>
      Array.isArray(on) ? on.map(String) : Object.keys(on ?? {}),
    )
    const silent = awaited.filter((name) => compose.services[name]?.healthcheck === undefined)
    expect(silent).toEqual([])
  })

  it('keeps every named volume, and contains no secret', () => {
    const used = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((each: string) => each.split(':')[0] ?? '').filter((name: string) => /^[\w-]+$/.test(name)),
    )
    expect(Object.keys(compose.volumes).sort()).toEqual([...new Set(used)].sort())
    expect(text('deploy/compose.yaml')).not.toMatch(/PASSWORD:|TOKEN:|:\/\/\w+:\w+@/)
  })

  for (const [name, { environment, env_file: files }] of own)
    it(`gives ${name} valid settings`, () => {
      const file = typeof files[0] === 'string' ? files[0] : files[0].path
      const example = Object.fromEntries(
        [...text(`deploy/${String(file)}.example`).matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [
          key,
          value,
        ]),
      )
      expect(Object.keys(example).length).toBeGreaterThan(2)
      expect(faultsOf({ ...example, ...environment })).toEqual([])
    })

  it('allows replicas of the brokers to fetch the largest message of any topic', () => {
    const broker = compose.services['kafka-1'].environment
    expect(Number(broker.KAFKA_REPLICA_FETCH_MAX_BYTES)).toBeGreaterThanOrEqual(64 << 20)
    expect(broker.KAFKA_AUTO_CREATE_TOPICS_ENABLE).toBe('false')
    expect(RETENTION_MS.chain).toBe(Number.POSITIVE_INFINITY)
  })

  it.skipIf(composeGo === undefined)("is accepted by docker compose's own parser", () => {
    const { status, output } = ran(composeGo!, [join(folder, 'compose.yaml')])
    expect(status, output).toBe(0)
    expect(output).toContain('dist/services/explorer/main.js')
  })
})

describe('Dockerfile', () => {
  const lines = text('deploy/Dockerfile')

  it('runs as user nobody, on a pinned Node whose C library the HTTP server supports', () => {
    expect(lines).toMatch(/^USER 10001:10001$/m)
    const stages = [...lines.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
    expect(stages).toHaveLength(3)
    for (const image of stages) expect(image).toMatch(/^node:22\.\d+\.\d+-trixie-slim$/)
    expect(lines).toContain('npm ci --omit=dev')
  })

  it('copies only files that .dockerignore includes', () => {
    const let_through = text('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const copied = [...lines.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    )
    expect(copied.length).toBeGreaterThan(5)
    expect(copied.filter((path) => !let_through.includes(path))).toEqual([])
  })
})
