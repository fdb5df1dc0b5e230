import { Type, type TSchema } from '@sinclair/typebox'
import type { ChannelDeclaration } from '../../../core/feed/channel.js'
import { ADDRESS, ADDRESS_CHANNEL, CHANNELS } from '../../../core/feed/channels.js'
import { REMOVABLE } from '../../../core/feed/streams.js'
import { Components, type Json } from './json-schema.js'

const DESCRIPTION = `Blocks, unconfirmed transactions, statistics, whale alerts and reorganisations as they happen. The numbers \`seq\` of a channel's \
events are consecutive, except for those of an address: after a broken connection subscribe with \`since\` and the last number that was received.`

const addressChannel = Type.String({
  pattern: `^${ADDRESS_CHANNEL}[0-9a-zA-Z]{1,100}$`,
  description: `${ADDRESS_CHANNEL} and the address`,
})
const channelName = Type.Union([...CHANNELS.map(({ name }) => Type.Literal(name)), addressChannel], {
  description: 'name of the channel',
})
const seq = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })
const typed = (type: string, fields: Readonly<Record<string, TSchema>> = {}) =>
  Type.Object({ type: Type.Literal(type), ...fields })

interface Message {
  readonly about: string
  readonly payload: TSchema
}

/** The messages of a client. */
const REQUESTS: Readonly<Record<string, Message>> = {
  subscribe: {
    about: 'Subscribes to a channel, from now on or from a past event.',
    payload: typed('subscribe', {
      channel: channelName,
      since: Type.Optional(seq('seq of the last event that the client knows: later ones are sent first')),
      removals: Type.Optional(
        Type.Boolean({
          description: `with channel ${REMOVABLE.join(' or ')}: true for the transactions that leave too; all events are then numbered together`,
        }),
      ),
    }),
  },
  unsubscribe: {
    about: 'Ends a subscription.',
    payload: typed('unsubscribe', { channel: channelName }),
  },
  ping: { about: 'Keeps a connection open.', payload: typed('ping') },
}

/** The replies to the messages of a client, and to mistakes. */
const REPLIES: Readonly<Record<string, Message>> = {
  subscribed: {
    about: 'The subscription has begun.',
    payload: typed('subscribed', {
      channel: channelName,
      removals: Type.Optional(Type.Literal(true, { description: 'as requested' })),
    }),
  },
  unsubscribed: {
    about: 'The subscription has ended.',
    payload: typed('unsubscribed', { channel: channelName }),
  },
  pong: { about: 'The reply to ping.', payload: typed('pong') },
  resync: {
    about: 'Events after since cannot be sent again: read the state over REST. New events follow.',
    payload: typed('resync', {
      channel: channelName,
      seq: Type.Optional(seq('of the channel of an address: the position that the events after it follow')),
    }),
  },
  error: {
    about: 'The message was not understood; the connection stays open.',
    payload: typed('error', {
      error: Type.String({ description: 'what was wrong, and what was expected' }),
      code: Type.Literal('HW_INVALID_ARGUMENT'),
    }),
  },
}

/** The message of an event of a channel. */
function eventOf({ name, about, event, history }: ChannelDeclaration): Message {
  return {
    about: `${about} The last ${history.toLocaleString('en')} can be sent again.`,
    payload: Type.Object({
      channel: Type.Literal(name),
      data: event,
      seq: seq('consecutive within the channel'),
    }),
  }
}

/** The message of an event of an address. */
const ADDRESS_MESSAGE: Message = {
  about: `${ADDRESS.about} Each subscription begins with the status synced.`,
  payload: Type.Object({
    channel: addressChannel,
    data: ADDRESS.event,
    seq: seq('position in the log up to which the changes of the address have been sent, for since'),
  }),
}

/**
 * Returns the description of the WebSocket feed, in AsyncAPI 3.0.
 * @param hasDilithium false to leave out what only chains with Dilithium signatures have.
 * @param basePath the path below which clients reach the explorer.
 */
export function asyncApi(hasDilithium: boolean, basePath = ''): Json {
  const components = new Components(hasDilithium)
  const events: Readonly<Record<string, Message>> = {
    ...Object.fromEntries(CHANNELS.map((channel) => [channel.name, eventOf(channel)])),
    [ADDRESS.name]: ADDRESS_MESSAGE,
  }
  const all: readonly [string, Message][] = Object.entries({ ...REQUESTS, ...REPLIES, ...events })
  const messages = all.map(([name, { about, payload }]): [string, Json] => [
    name,
    { name, summary: about, contentType: 'application/json', payload: components.of(payload) },
  ])
  const refer = (names: Readonly<Record<string, unknown>>): Json[] =>
    Object.keys(names).map((name) => ({ $ref: `#/channels/feed/messages/${name}` }))
  const feed = { $ref: '#/channels/feed' }
  return {
    asyncapi: '3.0.0',
    info: { title: 'Headwater feed', version: '1', description: DESCRIPTION, license: { name: 'MIT' } },
    defaultContentType: 'application/json',
    servers: {
      explorer: {
        host: '{host}',
        protocol: 'ws',
        ...(basePath === '' ? {} : { pathname: basePath }),
        description: 'wss behind a proxy with TLS.',
        variables: { host: { default: 'localhost:8080', description: 'Host and port of the explorer.' } },
      },
    },
    channels: {
      feed: {
        address: '/ws',
        title: 'Feed',
        description: 'One connection for any number of channels; also at /api/v1/ws.',
        messages: Object.fromEntries(
          messages.map(([name]): [string, Json] => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
      },
    },
    operations: {
      receiveRequest: {
        action: 'receive',
        channel: feed,
        summary: 'Messages of the client.',
        messages: refer(REQUESTS),
        reply: { channel: feed, messages: refer(REPLIES) },
      },
      sendEvent: {
        action: 'send',
        channel: feed,
        summary: 'Events of the channels that the client has subscribed to.',
        messages: refer(events),
      },
    },
    components: { messages: Object.fromEntries(messages), schemas: components.schemas },
  }
}
