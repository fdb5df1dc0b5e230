import { GraphQLError, type GraphQLFieldResolver, OperationTypeNode } from 'graphql'
import { handleProtocols, makeServer } from 'graphql-ws'
import type { Core } from '../../core/core.js'
import { CHANNELS } from '../../core/feed/channels.js'
import { requestedStream } from '../../core/feed/streams.js'
import type { SocketProtocol } from '../../http/sockets.js'
import { formatError, tooCostly } from './errors.js'
import type { Operations } from './operation.js'
import { ADDRESS_FIELD, fieldOf } from './schema.js'
import { changesOf, channelMessages, type ChannelMessages, type Connection } from './subscriptions.js'

/** The maximum number of subscriptions of a connection. */
const MAX_SUBSCRIPTIONS = 20
/** Close codes of graphql-transport-ws. */
const BAD_REQUEST = 4400
const INTERNAL_ERROR = 4500

/**
 * Returns the protocol graphql-transport-ws at /graphql, by which clients subscribe to the channels of the feed.
 * @param operations returns the operations of the schema for the chain.
 */
export function subscriptionProtocol(
  operations: () => Operations,
  { feed, addresses, defect }: Pick<Core, 'feed' | 'addresses' | 'defect'>,
): SocketProtocol {
  const server = makeServer<undefined, Connection>({
    onSubscribe: (context, _, payload) => {
      if (Object.keys(context.subscriptions).length > MAX_SUBSCRIPTIONS)
        return [coded(tooCostly(`a connection may have at most ${String(MAX_SUBSCRIPTIONS)} subscriptions`))]
      const current = operations()
      const prepared = current.prepare(payload)
      if (!('operation' in prepared)) return prepared.map(coded)
      const { document, operation, variables, cost } = prepared
      if (operation.operation !== OperationTypeNode.SUBSCRIPTION)
        return [
          coded(new GraphQLError('this connection is for subscriptions: send queries as HTTP requests')),
        ]
      if (cost.rows > 0)
        return [coded(tooCostly('a subscription may not follow links: query them as an HTTP request'))]
      return {
        schema: current.schema,
        document,
        variableValues: variables,
        rootValue: {},
        contextValue: context.extra,
        operationName: operation.name?.value ?? null,
        subscribeFieldResolver: eventsIn({ feed, addresses }),
      }
    },
    onNext: (_, __, ___, ____, { errors }) =>
      errors === undefined ? undefined : { data: null, errors: errors.map(formatError) },
  })
  return {
    paths: ['/graphql'],
    choose: (offered) => handleProtocols(offered) || '',
    open(socket) {
      let receive: ((text: string) => Promise<void>) | undefined
      const closed = server.opened(
        {
          protocol: socket.protocol,
          send: (text) => socket.send(text),
          close: (code = BAD_REQUEST, reason = '') => {
            socket.close(code, reason)
          },
          onMessage: (callback) => {
            receive = callback
          },
        },
        { addresses: 0 },
      )
      const failed = (error: unknown): void => {
        defect(error, 'graphql subscription')
        socket.close(INTERNAL_ERROR, 'Internal server error')
      }
      return {
        message: (text) => {
          receive?.(text).catch(failed)
        },
        closed: (code, reason) => {
          closed(code, reason).catch(failed)
        },
      }
    },
  }
}

interface Arguments {
  readonly since?: string | null
  readonly addresses?: readonly string[]
  readonly removals?: boolean | null
}

/** Returns the resolver of the fields of type Subscription. */
function eventsIn({
  feed,
  addresses,
}: Pick<Core, 'feed' | 'addresses'>): GraphQLFieldResolver<unknown, Connection, Arguments> {
  const messagesOf = (field: string, args: Arguments, connection: Connection): ChannelMessages => {
    const since = typeof args.since === 'string' ? Number(args.since) : undefined
    if (field === ADDRESS_FIELD)
      return changesOf(addresses, { addresses: args.addresses ?? [], since }, connection)
    const channel = CHANNELS.find(({ name }) => fieldOf(name) === field)
    return channelMessages(feed, requestedStream(channel?.name, args.removals ?? false), since)
  }
  return (_, args, connection, { fieldName }) => {
    const messages = messagesOf(fieldName, args, connection)
    return {
      next: async () => {
        const { done, value } = await messages.next()
        return done === true ? { done, value } : { done: false, value: { [fieldName]: value } }
      },
      return: () => messages.return(),
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
}

/** Returns an error with its code. */
function coded(error: GraphQLError): GraphQLError {
  const { message, extensions } = formatError(error)
  const { nodes = null, source = null, positions = null, path = null } = error
  return new GraphQLError(message, { nodes, source, positions, path, extensions: extensions ?? {} })
}
