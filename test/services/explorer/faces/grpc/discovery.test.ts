import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, createFileRegistry, type DescService, fromBinary } from '@bufbuild/protobuf'
import {
  type DescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Health } from '../../../../../proto/gen/health/v1/health_pb.js'
import { ReadsService } from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { openEmbeddedLog } from '../../../../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../../../../pipelines/log/port.js'
import { Database } from '../../../../../pipelines/tables/clickhouse.js'
import { type Explorer, startExplorer } from '../../../../../services/explorer/host/explorer.js'
import { rpcClient } from '../../../../../services/rpc/client.js'
import { Code } from '../../../../../services/rpc/error.js'
import { Bridge } from '../../../../harness/bridge.js'
import { useDatabase } from '../../../../harness/engine.js'
import { until } from '../../../../harness/until.js'
import { healthAt, ReflectionClient } from '../../../rpc/library-client.js'
import { failureOf } from './bare-rpc.js'

describe("the explorer's gRPC", () => {
  const database = useDatabase()
  const bridge = new Bridge()
  let folder: string
  let log: EventLog
  let db: Database
  let explorer: Explorer
  let address: string

  beforeAll(async () => {
    await bridge.open()
    folder = await mkdtemp(join(tmpdir(), 'headwater-'))
    log = await openEmbeddedLog(folder)
    db = new Database({ url: bridge.url, database: database().name })
    explorer = await startExplorer({ port: 0, grpcPort: 0, db, log, logger: pino({ level: 'silent' }) })
    address = explorer.grpcAddress ?? ''
  })
  afterAll(async () => {
    await explorer.close()
    await db.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
    await bridge.cut()
  })

  const isHealth = (at: string, health: string) =>
    until(`health is ${health}`, async () => (await healthAt(at, ReadsService.typeName)) === health)

  it('reports the health of the explorer, and continues from memory while its database is unavailable', async () => {
    const client = rpcClient(ReadsService, address)
    await isHealth(address, 'SERVING')
    expect(await healthAt(address, '')).toBe('SERVING')
    expect(await healthAt(address, 'headwater.other.v1.Other')).toBe(Code.NOT_FOUND)
    await bridge.cut()
    await isHealth(address, 'NOT_SERVING')
    expect(await healthAt(address, '')).toBe('NOT_SERVING')
    expect((await client.mempoolSummary({})).mempoolSummary).toMatchObject({ txCount: 0n })
    await bridge.open()
    await isHealth(address, 'SERVING')
    client.close()
  })

  it('is UNAVAILABLE and NOT_SERVING after a start without the database until that is available', async () => {
    await bridge.cut()
    const other = await startExplorer({ port: 0, grpcPort: 0, db, log, logger: pino({ level: 'silent' }) })
    const at = other.grpcAddress ?? ''
    const client = rpcClient(ReadsService, at)
    expect(await healthAt(at, ReadsService.typeName)).toBe('NOT_SERVING')
    const unavailable = { status: Code.UNAVAILABLE, details: 'Database unavailable' }
    expect(await failureOf(client.supply({}))).toMatchObject(unavailable)
    await bridge.open()
    await isHealth(at, 'SERVING')
    expect(await client.supply({})).toMatchObject({ supply: { utxoCount: 0n } })
    client.close()
    await other.close()
  })

  it.each(['v1', 'v1alpha'])(
    'describes itself by reflection %s, every method and every field',
    async (version) => {
      const reflection = new ReflectionClient(address, version)
      expect((await reflection.services()).sort()).toEqual([Health.typeName, ReadsService.typeName])
      for (const service of [Health, ReadsService]) {
        const file = (await reflection.filesOf(service.typeName)).map((each) =>
          fromBinary(FileDescriptorProtoSchema, each),
        )
        const reported = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService(
          service.typeName,
        )
        expect(reported === undefined ? [] : described(reported)).toEqual(described(service))
        expect(file.flatMap(({ messageType }) => messageType.flatMap(strangeEntries))).toEqual([])
      }
      expect(described(ReadsService).length).toBeGreaterThan(300)
      expect(await reflection.ask({ file_containing_symbol: 'headwater.Nothing' })).toMatchObject({
        error_response: { error_code: Code.NOT_FOUND },
      })
      reflection.close()
    },
  )
})

/** Map entries whose names differ from those of a compiler: clients in Go refuse the whole file. */
function strangeEntries({ field, nestedType }: DescriptorProto): string[] {
  const wanted = field.map(({ name }) =>
    `${name}_entry`.replaceAll(/(?:^|_)(.)/g, (_, c: string) => c.toUpperCase()),
  )
  const entries = nestedType.filter(({ options }) => options?.mapEntry).map(({ name }) => name)
  return [...entries.filter((name) => !wanted.includes(name)), ...nestedType.flatMap(strangeEntries)]
}

/** A line for each method, field and enum value that is reachable from a service. */
function described(service: DescService): string[] {
  const lines = new Set<string>()
  const visit = (message: DescService['methods'][number]['input']): void => {
    if (lines.has(message.typeName)) return
    lines.add(message.typeName)
    for (const field of message.fields) {
      lines.add(
        `${message.typeName}.${field.name} = ${String(field.number)} ${String(field)} ${field.jsonName}`,
      )
      if (field.message !== undefined) visit(field.message)
      for (const { name, number } of field.enum?.values ?? [])
        lines.add(`${String(field.enum?.typeName)}.${name} = ${String(number)}`)
    }
  }
  for (const { name, methodKind, input, output } of service.methods) {
    lines.add(`${name} ${methodKind} ${input.typeName} ${output.typeName}`)
    visit(input)
    visit(output)
  }
  return [...lines].sort()
}
