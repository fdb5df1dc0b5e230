import { type MessageInitShape, toJson } from '@bufbuild/protobuf'
import type { TSchema } from '@sinclair/typebox'
import {
  Channel,
  type ChannelEvent,
  ChannelEventSchema,
  type ReadsService,
} from '../../../../../proto/gen/headwater/reads/v1/reads_pb.js'
import { CHANNELS } from '../../../../../services/explorer/core/feed/channels.js'
import type { RpcClient } from '../../../../../services/rpc/client.js'
import { until } from '../../../../harness/until.js'
import type { FeedEvent } from '../../feed-client.js'
import { inRest } from './rest-json.js'

/** The schema of each channel's events, by its name. */
const EVENTS: ReadonlyMap<string, TSchema> = new Map(CHANNELS.map(({ name, event }) => [name, event]))

/** Returns a channel of the service by its name. */
const channelOf = (name: string): Channel =>
  Channel[name.toUpperCase().replaceAll('-', '_') as keyof typeof Channel]

/** A gRPC subscriber that keeps all messages that it receives. */
export class RpcFeedClient {
  readonly events: ChannelEvent[] = []
  /** The error that ended the stream. */
  error: unknown
  isSubscribed = false
  readonly #abort = new AbortController()

  constructor(
    client: RpcClient<typeof ReadsService>,
    readonly channel: string,
    since?: number,
  ) {
    const request: MessageInitShape<(typeof ReadsService)['method']['subscribe']['input']> = {
      channel: channelOf(channel),
      ...(since === undefined ? {} : { since: BigInt(since) }),
    }
    const onHeaders = (): void => {
      this.isSubscribed = true
    }
    void this.#follow(client.subscribe(request, { signal: this.#abort.signal, onHeaders }))
  }

  static async subscribe(...args: ConstructorParameters<typeof RpcFeedClient>): Promise<RpcFeedClient> {
    const made = new RpcFeedClient(...args)
    await until('it is subscribed', () => made.isSubscribed)
    return made
  }

  async #follow(stream: AsyncIterable<ChannelEvent>): Promise<void> {
    try {
      for await (const event of stream) this.events.push(event)
    } catch (error) {
      this.error = error
    }
  }

  /** Returns the first events in the form of the WebSocket, when there are at least this many. */
  async first(count: number): Promise<FeedEvent[]> {
    await until(`${String(count)} events of ${this.channel}`, () => this.events.length >= count)
    return this.events.slice(0, count).map((event) => {
      const reported = toJson(ChannelEventSchema, event, { alwaysEmitImplicit: true }) as Record<
        string,
        string
      >
      const { channel, seq, ...data } = reported
      const name = String(channel).slice('CHANNEL_'.length).toLowerCase().replaceAll('_', '-')
      return {
        channel: name,
        seq: Number(seq),
        data: inRest(EVENTS.get(name)!, Object.values(data)[0]) as object,
      }
    })
  }

  close(): void {
    this.#abort.abort()
  }
}
