import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, describe, expect, it } from 'vitest'
import { REGTEST } from '../../../../pipelines/chain/networks.js'
import { ScriptChangesMaker } from '../../../../pipelines/materialize/apply/script-changes-maker.js'
import { PoisonEvent } from '../../../../pipelines/materialize/poison.js'
import { ChainEventSchema } from '../../../../proto/gen/headwater/events/v1/events_pb.js'

describe('the thread that decodes blocks', () => {
  let maker: ScriptChangesMaker | undefined
  const start = (): ScriptChangesMaker => (maker = new ScriptChangesMaker())

  afterEach(() => maker?.close())

  it('reports an event without a valid block, does not change the events, and continues', async () => {
    const event = {
      case: 'blockConnected' as const,
      value: { raw: Buffer.alloc(90), hash: Buffer.alloc(32) },
    }
    const value = toBinary(ChainEventSchema, create(ChainEventSchema, { event }))
    const bytes = Buffer.concat([Buffer.from('before'), value])
    const events = [{ position: 7, value: bytes.subarray(6) }]
    const poison = await start()
      .make(events, REGTEST)
      .catch((error: unknown) => error)
    expect(poison).toBeInstanceOf(PoisonEvent)
    expect(poison).toMatchObject({ topic: 'chain', position: 7 })
    expect((poison as PoisonEvent).message).toMatch(/^topic chain, partition 0, offset 7: (?!topic)/)
    expect(bytes.toString('latin1', 0, 6)).toBe('before')
    await expect(maker?.make([{ position: 0, value: new Uint8Array() }], REGTEST)).rejects.toThrow(
      'not a block',
    )
    expect(await maker?.make([], REGTEST)).toMatchObject({ scriptChanges: { blocks: [], txids: [] } })
  })

  it('refuses calls after it was closed', async () => {
    await start().make([], REGTEST)
    await maker?.close()
    for (let call = 0; call < 2; call++) await expect(maker?.make([], REGTEST)).rejects.toThrow('closed')
  })
})
