import { fromBinary } from '@bufbuild/protobuf'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { encodeChainEvent } from '../../pipelines/events/chain-event.js'
import { openEmbeddedLog } from '../../pipelines/log/embedded/embedded.js'
import type { EventLog } from '../../pipelines/log/port.js'
import { ChainEventSchema } from '../../proto/gen/headwater/events/v1/events_pb.js'
import { freePort } from '../../services/process/ports.js'
import { type Simnode, startSimnode } from '../../services/simnode/node.js'
import { getAnswer } from '../harness/pipeline.js'
import { ServiceProcess } from '../harness/processes.js'
import { until } from '../harness/until.js'

/** Another program wrote an invalid event into the log, at its right position. */
describe('a poison event', () => {
  const service: Record<string, ServiceProcess> = {}
  let folder = ''
  let log: EventLog
  let node: Simnode
  let url = ''
  let env: Record<string, string>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-poison-'))
    log = await openEmbeddedLog(join(folder, 'log'))
    node = await startSimnode({ seed: 'poison', blocks: 20 })
    const port = await freePort()
    url = `http://127.0.0.1:${String(port)}`
    env = {
      DATA_DIR: folder,
      NODE_RPC_URL: node.url,
      CLICKHOUSE_URL: inject('engineUrl'),
      CLICKHOUSE_DATABASE: `t_poison_${String(process.pid)}`,
      EXPLORER_PORT: String(port),
      EXPLORER_GRPC_PORT: '0',
      POLL_INTERVAL_MS: '100',
      RATE_LIMIT_PER_MINUTE: '0',
    }
    for (const name of ['explorer', 'materializer', 'poller']) start(name)
    await shows(20)
  })
  afterAll(async () => {
    for (const each of Object.values(service)) await each.kill()
    await node.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  })

  function start(name: string, more: Record<string, string> = {}): void {
    service[name] = new ServiceProcess(name, { ...env, ...more }, join(folder, `${name}.log`)).start()
  }

  const shows = (height: number): Promise<unknown> =>
    until(`block ${String(height)} is shown`, async () => {
      const { body } = await getAnswer(`${url}/api/v1/stats/summary`)
      return body.tipHeight === height && body.indexerStatus === 'live'
    })

  const mine = async (): Promise<void> => {
    await fetch(new URL('/control/mine?blocks=1', node.url.replace(/\/\/.*@/, '//')), { method: 'POST' })
  }

  /** The newest block connected again, with an unknown parent: it can be decoded, but does not follow. */
  async function orphan(): Promise<Uint8Array> {
    const records = await log.read('chain', 0, 1_000)
    const event = records
      .filter(({ value }) => value.length > 100)
      .map(({ value }) => fromBinary(ChainEventSchema, value))
      .findLast((each) => each.event.case === 'blockConnected')
    if (event?.event.case !== 'blockConnected') throw new Error('the log holds no block')
    const { height, ...rest } = event.event.value
    const value = { ...rest, height: height + 1, prevHash: Buffer.alloc(32, 7) }
    const { epoch, sequence, settled } = event
    return encodeChainEvent({
      epoch,
      sequence: sequence + 1n,
      settled,
      event: { case: 'blockConnected', value },
    })
  }

  const kinds = [
    {
      kind: 'bytes that are no event',
      make: () => Promise.resolve(Buffer.from('ff00ff', 'hex')),
      says: /cannot be decoded/,
    },
    { kind: 'a block without its parent', make: orphan, says: /connects \d+ on (07){32}, the tip is/ },
  ]

  it.each(kinds)(
    '$kind: is repaired without a command, and its position and reason are reported',
    async ({ make, says }) => {
      const before = (await getAnswer(`${url}/api/v1/stats/summary`)).body.tipHeight as number
      const value = await make()
      const position = await log.append('chain', [value])
      await mine()
      await shows(before + 1)
      const line = `topic chain, partition 0, offset ${String(position)}: `
      const reported = (await readFile(join(folder, 'materializer.log'), 'utf8')).split('\n')
      expect(reported.filter((each) => each.includes(line) && says.test(each))).not.toEqual([])
      expect(await readFile(join(folder, 'poller.log'), 'utf8')).toMatch(says)
      await until('/health says nothing of it any more', async () => {
        const { body } = await getAnswer(`${url}/health`)
        return body.indexerError === undefined && body.indexerHealing === undefined
      })
      const metrics = await (await fetch(`${url}/metrics`)).text()
      expect(metrics).toMatch(/^headwater_log_damages_total [1-9]/m)
      expect(metrics).toMatch(/^headwater_log_damage 0$/m)
      expect(await log.last('dead-letters')).toBe(-1)

      // Both processes also continue after a start.
      await service['poller']?.kill()
      await restartMaterializer('dead-letters')
      start('poller')
      await mine()
      await shows(before + 2)
    },
  )

  it('a record that is no dead letter stops it, and can be dead-lettered', async () => {
    const before = (await getAnswer(`${url}/api/v1/stats/summary`)).body.tipHeight as number
    const position = await log.append('dead-letters', [Buffer.from('ff00ff', 'hex')])
    await restartMaterializer('stop')
    const line = `topic dead-letters, partition 0, offset ${String(position)}: cannot be decoded`
    await until('/health says why', async () => {
      const { body } = await getAnswer(`${url}/health`)
      return body.indexerError?.includes(line) === true
    })
    await restartMaterializer('dead-letters')
    await mine()
    await shows(before + 1)
    await restartMaterializer('stop')
    await mine()
    await shows(before + 2)
    expect((await getAnswer(`${url}/health`)).body.indexerError).toBeUndefined()
  })

  async function restartMaterializer(poisonEvents: string): Promise<void> {
    await service['materializer']?.kill()
    start('materializer', { POISON_EVENTS: poisonEvents })
  }
})
