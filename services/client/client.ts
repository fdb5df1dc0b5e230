import { type EventsOptions, type FeedEvent, followFeed } from './feed.js'
import { type Channel, READS, type Reads } from './gen/reads.js'
import { type RequestOptions, Requester, type RequesterOptions, stateOf } from './request.js'

export type * from './gen/reads.js'
export type { EventsOptions, FeedEvent, SocketClass } from './feed.js'
export { type ChainState, ExplorerError, type RequestOptions, stateOf } from './request.js'

type Name = keyof Reads
export type Arguments<N extends Name> = Reads[N]['arguments']
export type Answer<N extends Name> = Reads[N]['answer']

/** The reads whose lists have several pages. */
type PagedName = {
  [N in Name]: [keyof Arguments<N> & ('page' | 'offset' | 'cursor')] extends [never] ? never : N
}[Name]
type Item<N extends PagedName> = Answer<N> extends { items: (infer I)[] } ? I : never

/** A function with the arguments of a read: they may be omitted if none is required. */
type With<A, R> = object extends A
  ? (args?: A, options?: RequestOptions) => R
  : (args: A, options?: RequestOptions) => R

/** A function for each read, by its name. */
export type ReadFunctions = { readonly [N in Name]: With<Arguments<N>, Promise<Answer<N>>> }

export interface ExplorerClient extends ReadFunctions {
  /**
   * Functions for the lists with several pages: each yields all items from the requested page on, and requests the next page when
   * the items of the last one have been used. Items that moved to a later page because newer ones arrived are not repeated. Lists
   * with a cursor continue behind their last item.
   * @throws ExplorerError with the code HW_CURSOR_OUTDATED if a reorganisation has removed items that were yielded.
   */
  readonly all: { readonly [N in PagedName]: With<Arguments<N>, AsyncGenerator<Item<N>, void, undefined>> }
  /**
   * Yields the events of channels. Reconnects after a broken connection, and requests the events that it missed: none is lost or
   * repeated. If some are no longer available, it yields `{channel, resync: true}`: read the state, and continue.
   * @throws ExplorerError if the explorer refuses a channel, or if there is no WebSocket.
   */
  events<C extends Channel>(
    channels: C | readonly C[],
    options?: EventsOptions,
  ): AsyncGenerator<FeedEvent<C>, void, undefined>
}

export interface ClientOptions extends RequesterOptions {
  /** The class of WebSocket connections. Not set: the global one, which Node has from version 22 on. */
  readonly WebSocket?: EventsOptions['WebSocket']
}

/** Returns a client of an explorer. @param url of the explorer, for example `http://127.0.0.1:8080`. */
export function explorerClient(url: string, options: ClientOptions = {}): ExplorerClient {
  const base = url.replace(/\/+$/, '')
  const requester = new Requester(base, options)
  const names = Object.keys(READS) as Name[]
  const read =
    (name: Name) =>
    (args: object = {}, options: RequestOptions = {}) =>
      requester.request(READS[name], args as Record<string, unknown>, options)
  const all =
    (name: Name) =>
    (args: object = {}, options: RequestOptions = {}) =>
      pagesOf(requester, READS[name], args as Record<string, unknown>, options)
  const functions = Object.fromEntries(names.map((name) => [name, read(name)]))
  return {
    ...functions,
    all: Object.fromEntries(names.map((name) => [name, all(name)])),
    events: (channels: Channel | readonly Channel[], eventsOptions: EventsOptions = {}) =>
      followFeed(`${base.replace(/^http/, 'ws')}/ws`, [channels].flat(), {
        ...(options.WebSocket === undefined ? {} : { WebSocket: options.WebSocket }),
        ...eventsOptions,
      }),
  } as unknown as ExplorerClient
}

interface List {
  /** Not set: the list has pages only. */
  readonly next_cursor?: string | null
  readonly items: readonly unknown[]
  readonly total: number
  readonly limit: number
}

/** Yields the items of a list, page after page. */
async function* pagesOf(
  requester: Requester,
  path: string,
  args: Readonly<Record<string, unknown>>,
  options: RequestOptions,
): AsyncGenerator<unknown, void, undefined> {
  const isByOffset = path.endsWith('offset')
  let cursor: string | undefined
  let next = Number(args[isByOffset ? 'offset' : 'page'] ?? (isByOffset ? 0 : 1))
  let { minHeight } = options
  let before = new Set<string>()
  for (;;) {
    const number = isByOffset ? { offset: next } : path.endsWith('page') ? { page: next } : {}
    const position = cursor === undefined ? number : { cursor }
    const list = (await requester.request(
      path,
      { ...args, ...position },
      { ...options, ...(minHeight === undefined ? {} : { minHeight }) },
    )) as List
    // A later page must not come from an explorer that is behind the explorer of this page.
    minHeight = stateOf(list)?.height ?? minHeight
    const texts = list.items.map((item) => JSON.stringify(item))
    for (const [index, item] of list.items.entries()) if (!before.has(texts[index] as string)) yield item
    if (list.next_cursor === null) return
    before = new Set(texts)
    if ((cursor = list.next_cursor) !== undefined) continue
    const end = isByOffset ? next + list.limit : next * list.limit
    if (list.items.length < list.limit || end >= list.total) return
    next += isByOffset ? list.limit : 1
  }
}
