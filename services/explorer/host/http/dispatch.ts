import type { Encoding } from '../../core/answering/encoding.js'
import { DEFECT, type Failure, OVERLOADED } from '../../core/answering/failure.js'
import type { RequestLimit } from '../../core/answering/request-limit.js'
import type { Reader } from '../../core/answering/reader.js'
import type { Read } from '../../core/reads/read.js'
import type { HttpFace, Route } from '../../faces/face.js'
import {
  type Answer,
  errorAnswer,
  failedAsJson,
  keptRequest,
  type PageRequest,
  preflight,
  type Request,
  type RequestHead,
  unknownRoute,
  wrongMethod,
} from '../../http/answer.js'
import { argumentsOfUrl } from '../../http/arguments.js'
import { mediaOf } from '../../http/media.js'
import type { ReadAnswers } from '../../http/read-answers.js'
import { type Matched, Router } from '../../http/router.js'
import type { Metrics } from '../metrics.js'
import type { Server } from './server.js'

export interface DispatcherParts {
  readonly faces: readonly HttpFace[]
  readonly reader: Reader
  readonly answers: ReadAnswers
  /** Counts and logs an error that is no failure of a request. */
  readonly defect: (error: unknown, what: string) => void
}

type FaceRoute = Route & { readonly face: HttpFace }

/** The route of a request, with the form of its answer if it is not JSON. */
interface Found extends Matched<FaceRoute> {
  readonly encoding?: Encoding
}

/** Answers the requests of a server with the faces, and records the durations of the answers. @returns the dispatcher. */
export function attachFaces(
  server: Server,
  parts: DispatcherParts & { readonly metrics: Pick<Metrics, 'observe'> },
): Dispatcher {
  const dispatcher = new Dispatcher(parts)
  server.serve({
    answer: (request) => dispatcher.answer(request),
    ready: (url, head) => dispatcher.ready(url, head),
    refusal: (request) => dispatcher.socketRefusal(request),
    observe: (path, answer, seconds) => {
      parts.metrics.observe(answer.route ?? dispatcher.patternOf(path), answer, seconds)
    },
    protocols: parts.faces.flatMap(({ sockets = [] }) => sockets),
  })
  return dispatcher
}

/** The maximum number of characters of a URL; the longest valid one has a few hundred. */
const MAX_URL = 8_192

/** Routes HTTP requests to the faces. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #router: Router<FaceRoute>
  /** The refusals under overload by the pattern of their route. */
  readonly #refusals = new Map<string, Answer>()

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#router = new Router(
      parts.faces.flatMap((face) => face.routes.map((route): FaceRoute => ({ ...route, face }))),
    )
  }

  /** Returns the answer to a request, synchronously if it is in memory. Never throws or rejects. */
  answer(request: Request): Answer | Promise<Answer> {
    try {
      const refusal = this.#refusal(request)
      return refusal instanceof Promise
        ? this.#answerLater(refusal, request)
        : (refusal ?? this.#answer(request))
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /** Answers a request after the rate limit was checked in another process. */
  async #answerLater(refusal: Promise<Answer | undefined>, request: Request): Promise<Answer> {
    const copy = keptRequest(request)
    const maxBodyBytes = this.#maxBodyBytes(request)
    // Read now: what arrives meanwhile would be lost.
    const body = maxBodyBytes === undefined ? undefined : request.body(maxBodyBytes)
    try {
      return (
        (await refusal) ?? (await this.#answer(body === undefined ? copy : { ...copy, body: () => body }))
      )
    } catch (error) {
      return this.#failed(error, request)
    }
  }

  /**
   * Returns the answer to a GET or HEAD request if it was sent before and is still valid: found by the URL alone, without parsing it,
   * and without anything to be made. This is the path of most requests, so it allocates nothing. Under overload also the refusal,
   * which is then the answer of most requests.
   * @returns undefined if `answer` must be called.
   */
  ready(url: string, head: RequestHead): Answer | undefined {
    const { reader, answers } = this.#parts
    const cached = answers.atUrl(url)
    if (cached === undefined) return reader.isFull ? this.#shed(url, head) : undefined
    const representation = answers.representationFor(cached, head)
    if (representation === undefined) return undefined
    // Answers in JSON, which are most, count against the limit of the server: their route need not be found.
    const limit = mediaOf(cached) === undefined ? answers.limit : this.#limitOf(pageRequest(url, head))
    const limitAnswer = this.#limited(url, head, limit)
    if (limitAnswer !== undefined) return limitAnswer === 'undecided' ? undefined : limitAnswer
    reader.countHit(cached)
    return answers.answerWith(representation, cached)
  }

  /** Counts a request against the rate limit, without other processes. @returns the refusal if its client has exceeded the limit. */
  #limited(
    url: string,
    head: RequestHead,
    limit = this.#parts.answers.limit,
  ): Answer | 'undecided' | undefined {
    const failure = limit.isSet ? limit.overNow(() => head.origin()) : undefined
    return typeof failure === 'object' ? this.#refused(failure, pageRequest(url, head)) : failure
  }

  /**
   * Returns the refusal of a GET or HEAD request for a read under overload. It is far cheaper than the way of all other requests, so
   * that most of the processor time remains for those that are answered.
   * @returns undefined if `answer` must be called.
   */
  #shed(url: string, head: RequestHead): Answer | undefined {
    const end = url.indexOf('?')
    const path = end < 0 ? url : url.slice(0, end)
    const match = this.#router.match(withoutSlash(path))
    if (match === undefined || url.length > MAX_URL) return undefined
    const { route, params } = match
    if (!('read' in route) || route.formFor !== undefined) return undefined
    const argument = argumentsOfUrl(params, end < 0 ? '' : url.slice(end + 1))
    if (head.getHeader('x-min-chain-height') !== '' || !this.#parts.reader.refuses(route.read, argument))
      return undefined
    const limitAnswer = this.#limited(url, head)
    if (limitAnswer !== undefined) return limitAnswer === 'undecided' ? undefined : limitAnswer
    const { pattern } = route
    let refusal = this.#refusals.get(pattern)
    if (refusal === undefined) {
      refusal = { ...this.#refused(OVERLOADED, pageRequest(url, head)), route: pattern }
      this.#refusals.set(pattern, refusal)
    }
    return refusal
  }

  /** Counts a request against the rate limit. @returns the refusal if its client has exceeded the limit. */
  #refusal(request: Request): Answer | undefined | Promise<Answer | undefined> {
    if (request.method === 'OPTIONS' || !this.#isLimited(request)) return undefined
    const failure = this.#limitOf(request).over(request.origin)
    const refused = (result: Failure | undefined): Answer | undefined =>
      result === undefined ? undefined : this.#refused(result, request)
    return failure instanceof Promise ? failure.then(refused) : refused(failure)
  }

  #limitOf(request: PageRequest): RequestLimit {
    return this.#find(request)?.route.face.limit ?? this.#parts.answers.limit
  }

  #isLimited(request: PageRequest): boolean {
    return this.#find(request)?.route.isLimited ?? this.#faceBelow(request.path) !== undefined
  }

  /** Returns the refusal of a WebSocket request, if any. Before the explorer is ready, `since` would get a needless resync. */
  socketRefusal(request: Request): Answer | undefined | Promise<Answer | undefined> {
    const notReady = (): Answer | undefined => {
      const failure = this.#parts.reader.notReady
      return failure === undefined ? undefined : this.#refused(failure, request)
    }
    const refusal = this.#refusal(request)
    return refusal instanceof Promise
      ? refusal.then((answer) => answer ?? notReady())
      : (refusal ?? notReady())
  }

  #answer(request: Request): Answer | Promise<Answer> {
    if (request.path.length + request.query.length > MAX_URL)
      return errorAnswer('HW_URI_TOO_LONG', 'URI Too Long')
    const match = this.#find(request)
    if (match === undefined) return this.#unknown(request)
    const { route, params } = match
    const methods = route.methods.split(', ')
    const isAllowed = methods.includes(request.method)
    if (!isAllowed)
      return methods.includes('OPTIONS') ? wrongMethod(request, route.methods) : this.#unknown(request)
    if (request.method === 'OPTIONS') return preflight(route.methods)
    const answer = 'handle' in route ? route.handle(request, params) : this.#read(match, route, request)
    return answer instanceof Promise ? answer.catch((error: unknown) => this.#failed(error, request)) : answer
  }

  #read({ params, encoding }: Found, { read }: { read: Read }, request: Request): Answer | Promise<Answer> {
    const argument = argumentsOfUrl(params, request.query)
    const failed = (failure: Failure): Answer => this.#refused(failure, request)
    return this.#parts.answers.answer(request, { read, argument, encoding, failed })
  }

  /** Returns the route pattern of a path, for metrics: paths themselves would be an unbounded set of label values. */
  patternOf(path: string): string {
    return this.#find({ path, query: '', accept: '', acceptLanguage: '' })?.route.pattern ?? 'unknown'
  }

  /** Finds the route of a request. A slash at the end is ignored, as by most servers. */
  #find(request: PageRequest): Found | undefined {
    const match = this.#router.match(withoutSlash(request.path))
    if (match === undefined) return undefined
    const { route, params } = match
    if (!('read' in route) || route.formFor === undefined) return match
    const form = route.formFor(request)
    return form === undefined
      ? undefined
      : { route, params: { ...params, ...form.params }, encoding: form.encoding }
  }

  /** Returns the face that has all paths below its prefix, if the path is below a prefix. */
  #faceBelow(path: string): HttpFace | undefined {
    return this.#parts.faces.find(({ prefix }) => prefix !== undefined && isUnder(prefix, path))
  }

  #unknown(request: Request): Answer {
    const { faces, reader } = this.#parts
    const face = this.#faceBelow(request.path) ?? faces.find(({ unknown }) => unknown !== undefined)
    return face?.unknown?.(request, reader.chain) ?? unknownRoute(request)
  }

  /** Returns the answer for a failure, in the form of the face that has the path. */
  #refused(failure: Failure, request: PageRequest): Answer {
    const face = this.#find(request)?.route.face ?? this.#faceBelow(request.path) ?? this.#parts.faces[0]
    return face === undefined
      ? failedAsJson(failure)
      : face.failed(failure, request, this.#parts.reader.chain)
  }

  #failed(error: unknown, request: Request): Answer {
    try {
      return this.#refused(this.#parts.reader.failureOf(error), request)
    } catch (defect) {
      this.#parts.defect(defect, this.patternOf(request.path))
      return this.#refused(DEFECT, request)
    }
  }

  /** Returns the maximum size of the body that a request may have; undefined if its body is not read. */
  #maxBodyBytes(request: Request): number | undefined {
    const route = request.method === 'POST' ? this.#find(request)?.route : undefined
    return route !== undefined && 'handle' in route ? route.maxBodyBytes : undefined
  }
}

const pageRequest = (url: string, head: RequestHead): PageRequest => ({
  path: url.split('?', 1)[0] ?? '',
  query: url.includes('?') ? url.slice(url.indexOf('?') + 1) : '',
  accept: head.getHeader('accept'),
  acceptLanguage: head.getHeader('accept-language'),
})

const withoutSlash = (path: string): string =>
  path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path

const isUnder = (folder: string, path: string): boolean =>
  path.startsWith(folder) && (path.length === folder.length || path[folder.length] === '/')
