import type { TArray, TObject } from '@sinclair/typebox'
import {
  GraphQLBoolean,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  GraphQLSchema,
  GraphQLString,
} from 'graphql'
import { MAX_ADDRESSES } from '../../core/feed/address-feed.js'
import type { ChannelDeclaration } from '../../core/feed/channel.js'
import { ADDRESS, CHANNELS } from '../../core/feed/channels.js'
import type { Read } from '../../core/reads/read.js'
import { describedReads, type ShapeName } from '../../core/reads/shape-names.js'
import type { FieldCost } from './cost.js'
import { hasCursor } from './cursors.js'
import { type Fields, FROM_MEMORY, FURTHER_ROWS, type Link, LINKS } from './links.js'
import type { Reading } from './reading.js'
import { BigInteger } from './scalars.js'
import { type FieldConfig, pascal, Types } from './types.js'

/** The further arguments of lists with a cursor. */
const CURSOR_ARGUMENTS = {
  first: { type: GraphQLInt, description: 'The same as limit, for use with after.' },
  after: {
    type: GraphQLString,
    description: 'A next_cursor: the items behind it, instead of a page or an offset.',
  },
}

const NEXT_CURSOR: FieldConfig = {
  type: GraphQLString,
  description:
    'For after: continues behind the last item, whatever has been added meanwhile. Null at the end of the list.',
}

const SINCE = {
  type: BigInteger,
  description:
    'The seq of the last event that the client knows: later events are sent first, or a resync. Not set: from now on.',
}

const REMOVALS = {
  type: GraphQLBoolean,
  defaultValue: false,
  description: 'True for the transactions that leave too: all events are then numbered together.',
}

/** The field of the changes of addresses. */
export const ADDRESS_FIELD = ADDRESS.name

/**
 * Returns the schema: every read, the links between their answers, and the channels of the feed.
 * @param hasDilithium false to leave out what only chains with Dilithium signatures have.
 */
export function schemaOf(reads: readonly Read[], hasDilithium: boolean): GraphQLSchema {
  return new SchemaMaker(reads, hasDilithium).make()
}

class SchemaMaker {
  readonly #reads: ReadonlyMap<string, Read>
  readonly #types: Types

  constructor(reads: readonly Read[], hasDilithium: boolean) {
    this.#reads = new Map(describedReads(reads, hasDilithium).map((read) => [read.name, read]))
    this.#types = new Types((shape) => this.#linksOf(shape), hasDilithium)
  }

  make(): GraphQLSchema {
    const roots = [...this.#reads.values()].map((read) => [read.name, this.#root(read)] as const)
    const query = new GraphQLObjectType({
      name: 'Query',
      description: 'The reads of the explorer. An operation is answered from one state of chain and mempool.',
      fields: { chain: chainField(), ...Object.fromEntries(roots) } as never,
    })
    const channels = CHANNELS.map((channel) => [fieldOf(channel.name), this.#channel(channel)] as const)
    const subscription = new GraphQLObjectType({
      name: 'Subscription',
      description: 'The channels of the feed.',
      fields: { ...Object.fromEntries(channels), [ADDRESS_FIELD]: this.#addressChannel() } as never,
    })
    return new GraphQLSchema({ query, subscription })
  }

  #root(read: Read): FieldConfig {
    return this.#field(read, `${read.about ?? ''} REST: /api/v1${read.path}`)
  }

  #linksOf(shape: ShapeName): Record<string, FieldConfig> {
    return Object.fromEntries(
      Object.entries(LINKS[shape] ?? {}).flatMap(([name, link]) => {
        const read = this.#reads.get(link.read)
        return read === undefined ? [] : [[name, this.#field(read, link.about, link)]]
      }),
    )
  }

  #field(read: Read, description: string, link?: Link): FieldConfig {
    const name = pascal(read.name)
    const answer = read.answer as TObject
    const isContinued = hasCursor(read)
    const further = isContinued && !('cursor' in read.args) ? { next_cursor: NEXT_CURSOR } : {}
    const item = link?.item
    // A negative one is refused when it is read.
    const limit = (args: Fields): number =>
      Math.max(0, Number(args['first'] ?? args['limit'] ?? lengthOf(args)))
    const isList = 'items' in answer.properties
    const own = FURTHER_ROWS[read.name] ?? 0
    const rows = (args: Fields): number => own + (isList && !FROM_MEMORY.has(read.name) ? limit(args) : 1)
    const resolve = async (object: Fields, input: Fields, reading: Reading, info: GraphQLResolveInfo) => {
      const value = link?.value(object)
      if (link !== undefined && (value === null || value === undefined)) return null
      const args =
        link === undefined ? input : { at: reading.heightOf(object), ...input, [link.argument]: value }
      const result = await reading.read(read, args, info, item?.list)
      if (result === null || item === undefined) return result
      return (result[item.list] as readonly Fields[])[Number(item.at(object))] ?? null
    }
    return {
      description,
      type:
        item === undefined
          ? this.#types.object(name, answer, () => further)
          : this.#types.object(name, (answer.properties[item.list] as TArray).items as TObject),
      args: {
        ...this.#types.args(name, read.args, link?.argument),
        ...(isContinued ? CURSOR_ARGUMENTS : {}),
      },
      extensions: { rows, limit } satisfies FieldCost,
      resolve: resolve as never,
    }
  }

  #channel({ name, about, event, historyWithRemovals }: ChannelDeclaration): FieldConfig {
    return {
      type: this.#message(pascal(name), event),
      description: about,
      args: historyWithRemovals === undefined ? { since: SINCE } : { since: SINCE, removals: REMOVALS },
    }
  }

  #addressChannel(): FieldConfig {
    const address = { type: new GraphQLNonNull(GraphQLString), description: 'The address.' }
    return {
      type: this.#message('Address', ADDRESS.event, { address }),
      description:
        'Changes of addresses. Of each first what was missed, then an event with the status synced.',
      args: {
        addresses: {
          type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLString))),
          description: `The addresses, at most ${MAX_ADDRESSES.toLocaleString('en')} for all subscriptions of a connection.`,
        },
        since: SINCE,
      },
    }
  }

  /** Returns the type of the messages of a channel. @param further its fields in addition to the fields of every channel. */
  #message(
    name: string,
    data: TObject,
    further: Readonly<Record<string, FieldConfig>> = {},
  ): GraphQLOutputType {
    const message = new GraphQLObjectType({
      name: `${name}Message`,
      fields: () =>
        ({
          ...further,
          seq: {
            type: new GraphQLNonNull(BigInteger),
            description:
              'The number of the event within its channel, for since; of a resync, of the last missed event.',
          },
          resync: {
            type: new GraphQLNonNull(GraphQLBoolean),
            description:
              'True if events were missed that cannot be sent again: read the state of the channel again.',
          },
          data: { type: this.#types.object('', data), description: 'The event; null for a resync.' },
        }) as never,
    })
    return new GraphQLNonNull(message)
  }
}

/** Returns the number of items that lists among the arguments have, at least 1. */
function lengthOf(args: Fields): number {
  return Object.values(args).reduce<number>(
    (most, each) => (Array.isArray(each) ? Math.max(most, each.length) : most),
    1,
  )
}

/** Returns the field of a channel: whaleAlerts for whale-alerts. */
export function fieldOf(channel: string): string {
  const name = pascal(channel)
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/** The state that an operation is answered from. */
function chainField(): FieldConfig {
  const chain = new GraphQLObjectType({
    name: 'Chain',
    description: 'The state of the chain that the whole answer describes.',
    fields: {
      height: {
        type: new GraphQLNonNull(GraphQLInt),
        description: 'Height of the newest block; -1 without any.',
      },
      tip: {
        type: new GraphQLNonNull(GraphQLString),
        description: 'Hash of the newest block; empty without any.',
      },
    },
  })
  const resolve = (_: Fields, __: Fields, { context }: Reading) => ({
    height: context.chain.height,
    tip: context.chain.tipHash,
  })
  return {
    type: new GraphQLNonNull(chain),
    description: 'The state of this answer.',
    resolve: resolve as never,
  }
}
