import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type * as Channels from '../../../../../services/explorer/core/feed/channels.js'
import type {
  NumberedChannel,
  PositionedStream,
  Stream,
} from '../../../../../services/explorer/core/feed/streams.js'
import type { FeedPosition } from '../../../../../services/explorer/host/processes/messages.js'

const CHANNELS = '../../../../../services/explorer/core/feed/channels.js'

/** Loads what is derived from the declared channels. */
const load = async () => ({
  ...(await import('../../../../../services/explorer/core/feed/feed.js')),
  ...(await import('../../../../../services/explorer/core/feed/streams.js')),
  ...(await import('../../../../../services/explorer/faces/graphql/schema.js')),
  ...(await import('../../../../../services/explorer/faces/rest/description/asyncapi.js')),
  ...(await import('../../../../../services/explorer/host/processes/feed-numbers.js')),
  ...(await import('../../../../../deploy/client-reads.js')),
  ...(await import('../../../../../deploy/reads-proto.js')),
  ...(await import('../../faces/websocket/fake-socket.js')),
})

const FEES = 'block-fees' as Stream
const FEES_WITH_REMOVALS = 'block-fees-with-removals' as Stream
const [SIGHTINGS, WEATHER] = ['sightings', 'weather'] as unknown as [NumberedChannel, NumberedChannel]

describe('a channel that is declared and listed, and nowhere else named', () => {
  let code: Awaited<ReturnType<typeof load>>

  beforeAll(async () => {
    vi.resetModules()
    vi.doMock(CHANNELS, async (original) => {
      const channels = await original<typeof Channels>()
      const { declareChannel } = await import('../../../../../services/explorer/core/feed/channel.js')
      const { event } = channels.blocks
      const declared = [
        declareChannel({
          name: 'block-fees',
          about: 'The fees of a block.',
          event,
          numbering: 'log',
          history: 4,
          historyWithRemovals: 8,
        }),
        declareChannel({
          name: 'sightings',
          about: 'A sighting.',
          event,
          numbering: { remembered: 2 },
          history: 3,
        }),
        declareChannel({
          name: 'weather',
          about: 'The weather.',
          event,
          numbering: { after: 'block-fees', everyMs: 1_000 },
          history: 3,
        }),
      ]
      return { ...channels, CHANNELS: [...channels.CHANNELS, ...declared] }
    })
    code = await load()
  })
  // Other files of this worker load the channels as they are.
  afterAll(() => {
    vi.doUnmock(CHANNELS)
    vi.resetModules()
  })

  it('has numbers from the log, and keeps as many events as it declares', () => {
    const feed = new code.Feed(() => undefined)
    for (let seq = 1; seq <= 12; seq++) {
      feed.publish(FEES, { height: seq }, seq)
      feed.publish(FEES_WITH_REMOVALS, { height: seq }, seq)
    }
    expect(feed.missed(FEES, 8)?.map(({ text }) => JSON.parse(text) as unknown)).toEqual(
      [9, 10, 11, 12].map((seq) => ({ channel: 'block-fees', data: { height: seq }, seq })),
    )
    expect(feed.missed(FEES, 2)).toBeUndefined()
    expect(feed.missed(FEES_WITH_REMOVALS, 4)).toHaveLength(8)
    expect(code.POSITIONED).toContain(FEES_WITH_REMOVALS)
    expect(code.POSITIONED).not.toContain(SIGHTINGS)
  })

  it('can be subscribed to, with removals if it declares them', () => {
    const client = new code.FakeSocket(new code.Feed(() => undefined))
    client.say({ type: 'subscribe', channel: 'block-fees', removals: true })
    client.say({ type: 'subscribe', channel: 'sightings' })
    expect([...client.subscribed]).toEqual(['block-fees-with-removals', 'sightings'])
    expect(client.say({ type: 'subscribe', channel: 'sightings', removals: true })).toMatchObject([
      { error: 'removals must be true or false, and true only with channel mempool or block-fees' },
    ])
    expect(client.say({ type: 'subscribe', channel: 'x' })).toMatchObject([
      { error: expect.stringContaining(', block-fees, sightings, weather, or ') as string },
    ])
  })

  it('is numbered by the explorer as it declares', () => {
    let now = 0
    const numbers = new code.FeedNumbers(100, () => now)
    const after = (fees: number): FeedPosition =>
      Object.fromEntries(
        code.POSITIONED.map((stream) => [stream, 0]).concat([[FEES as PositionedStream, fees]]),
      ) as never
    const sighting = (id: string) =>
      numbers.number({ channel: SIGHTINGS, id, data: {}, after: after(0) })?.seq
    expect(['a', 'a', 'b', 'c', 'a'].map(sighting)).toEqual([101, undefined, 102, 103, 104])
    const weather = (at: number, fees: number) => {
      now = at
      return numbers.number({ channel: WEATHER, id: '', data: {}, after: after(fees) })?.seq
    }
    expect([weather(0, 1), weather(10, 1), weather(20, 2), weather(1_020, 2)]).toEqual([
      101,
      undefined,
      102,
      103,
    ])
    expect(numbers.begin).toMatchObject({ sightings: 101, weather: 100 })
    expect(numbers.events.map(({ channel, seq }) => `${channel} ${String(seq)}`)).toEqual([
      'sightings 102',
      'sightings 103',
      'sightings 104',
      'weather 101',
      'weather 102',
      'weather 103',
    ])
  })

  it('is described to clients of every transport', () => {
    const { components } = code.asyncApi(true) as { components: { messages: Record<string, unknown> } }
    expect(components.messages['block-fees']).toMatchObject({
      summary: 'The fees of a block. The last 4 can be sent again.',
    })
    const { blockFees, weather } = code.schemaOf([], true).getSubscriptionType()?.getFields() ?? {}
    expect(blockFees?.description).toBe('The fees of a block.')
    expect(blockFees?.args.map(({ name }) => name)).toEqual(['since', 'removals'])
    expect(weather?.args.map(({ name }) => name)).toEqual(['since'])
    const { text } = code.readsProto({ numbers: {}, reserved: {} }, [])
    expect(text).toMatch(/ CHANNEL_BLOCK_FEES = \d+;/)
    expect(text).toMatch(/BlockEvent block_fees = \d+;/)
    expect(code.clientReads([])).toContain("/** The fees of a block. */\n'block-fees': BlockEvent")
  })
})
