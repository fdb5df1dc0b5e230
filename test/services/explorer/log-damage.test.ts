import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { openEmbeddedLog } from '../../../pipelines/log/embedded/embedded.js'
import { Alert_Kind, CommittedEventSchema } from '../../../proto/gen/headwater/events/v1/events_pb.js'
import { Pipeline } from '../../harness/pipeline.js'
import { until } from '../../harness/until.js'

/**
 * Twice as many records as are read at once, so that the heartbeat before them is read alone, as after hours of
 * damage.
 */
const ALERTS = 512

const encoded = (event: NonNullable<MessageInitShape<typeof CommittedEventSchema>['event']>): Uint8Array =>
  toBinary(CommittedEventSchema, create(CommittedEventSchema, { event }))

it('an explorer that starts while the log has been damaged for hours reports it until it is repaired', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-damage-'))
  const log = await openEmbeddedLog(folder)
  const heartbeat = { timeMs: 1n, nodeHeight: 1, nodeHash: Buffer.alloc(32), pollIntervalMs: 1000 }
  const beat = encoded({ case: 'heartbeat', value: { heartbeat, appliedMs: 1n } })
  const alert = encoded({
    case: 'alert',
    value: { kind: Alert_Kind.POISON, topic: 'chain', position: 7n, reason: 'a gap', index: {} },
  })
  await log.append('committed', [beat, ...Array<Uint8Array>(ALERTS).fill(alert)])
  const pipeline = await Pipeline.start({
    nodeUrl: 'http://127.0.0.1:9',
    engineUrl: inject('engineUrl'),
    log,
  })
  const damage = async (): Promise<string | undefined> =>
    /^headwater_log_damage (\d)$/m.exec(await (await fetch(`${pipeline.url}/metrics`)).text())?.[1]
  try {
    await until('the heartbeat is known', async () => (await pipeline.health()).body.nodeHeight === 1)
    const { indexerError, indexerHealing } = (await pipeline.health()).body
    expect(indexerError).toMatch(/offset 7: a gap/)
    expect(indexerHealing).toBe(true)
    expect(await damage()).toBe('1')
    await log.append('committed', [beat])
    await until('it is repaired', async () => (await pipeline.health()).body.indexerError === undefined)
    expect(await damage()).toBe('0')
  } finally {
    await pipeline.close()
    await log.close()
    await rm(folder, { recursive: true, force: true })
  }
})
